/** Live calls in a connected system: what Zammad documents of its generic CTI arrives field by field, in order, and never late. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startSystem } from '../../../test/support/connector-rig.ts';
import type { SystemAnswer } from '../../../test/support/connector-rig.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { Scene, call, chan } from '../../../test/support/model-scene.ts';
import { REPOSITORY } from '../../../test/support/sources.ts';
import { until } from '../../../test/support/until.ts';

type Message = Readonly<Record<string, string>>;

/** A small Zammad beside a model whose events the connectors hear. */
async function zammad(
  t: TestContext,
  answer: (message: Message) => SystemAnswer | null = () => ({ json: {} }),
) {
  const system = await startSystem(t, ({ path: asked, body }) =>
    asked === '/api/v1/cti/geheim-4711' ? answer(JSON.parse(body) as Message) : { status: 404 },
  );
  const rig = await connectorsRig(t);
  const source = await readFile(path.join(REPOSITORY, 'connectors/zammad.yaml'), 'utf8');
  await rig.create('find', { source, settings: { address: system.url, token: 'geheim-4711' } });
  const scene = new Scene();
  const step = scene.model.step.bind(scene.model);
  scene.model.step = (input) => {
    const events = step(input);
    scene.model.committed(events);
    for (const event of events) rig.connectors.onDomainEvent({ ...event, at: rig.clock.now() });
    return events;
  };
  const messages = (): Message[] => system.asked.map(({ body }) => JSON.parse(body) as Message);
  return {
    rig,
    scene,
    messages,
    state: async () => (await rig.list())[0]!.push!,
    /** Waits until this many messages arrived and none waits; moves the clock, since the budget is per second. */
    arrive: async (count: number): Promise<Message[]> => {
      await until(
        `${count} messages`,
        async () => {
          await rig.clock.advance(1_000);
          return messages().length >= count && (await rig.list())[0]!.push!.waiting === 0;
        },
        { seen: () => messages() },
      );
      assert.equal(messages().length, count, JSON.stringify(messages()));
      return messages();
    },
  };
}
/** A call from outside rings 1003 and 1002. */
function rings(scene: Scene, id = '1', number = '030 901820'): void {
  scene.created(id, { endpoint: 'trunk', dialled: '+4989123456', caller: { number, name: '' } });
  for (const extension of ['1003', '1002']) {
    scene.created(`${id}${extension}`, { endpoint: extension, of: id });
    scene.state(`${id}${extension}`, 'ringing');
  }
}

test('connectors push - Zammad: a call that comes in is announced once, answered and hung up, with the documented fields', async (t) => {
  const { scene, arrive } = await zammad(t);
  rings(scene);
  scene.state('11003', 'up');
  scene.enter('b', '1');
  scene.enter('b', '11003');
  scene.hangup('11002');
  scene.hangup('11003');
  scene.hangup('1');
  const both = { callId: call('1'), direction: 'in', from: '4930901820', to: '4989123456', queue: '' };
  const who = { user: 'Bea' };
  const email = 'bea@example.test';
  assert.deepEqual(await arrive(3), [
    { ...both, ...who, event: 'newCall' },
    { ...both, ...who, event: 'answer', answeringNumber: email },
    { ...both, ...who, event: 'hangup', answeringNumber: email, cause: 'normalClearing' },
  ]);
});

test('connectors push - Zammad: a call that goes out names who calls, and its cause how the number took it', async (t) => {
  const { scene, arrive } = await zammad(t);
  const plays: [cause: number, word: string][] = [
    [17, 'busy'],
    [21, 'noAnswer'],
    [1, 'notFound'],
    [20, 'congestion'],
    [23, 'forwarded'],
  ];
  for (const [n, [cause]] of plays.entries()) {
    const id = String(n + 1);
    scene.created(id, { endpoint: '1003', dialled: '030901820' });
    scene.created(`${id}0`, { endpoint: 'trunk', of: id });
    scene.state(`${id}0`, 'ringing');
    scene.send({ type: 'channel.ending', id: chan(`${id}0`) });
    scene.hangup(`${id}0`, cause);
    scene.hangup(id);
  }
  const all = await arrive(2 * plays.length);
  for (const [n, [, word]] of plays.entries()) {
    const [first, last] = all.filter(({ callId }) => callId === call(String(n + 1)));
    const both = {
      callId: call(String(n + 1)),
      direction: 'out',
      from: '1003',
      to: '4930901820',
      queue: '',
      user: 'Bea',
    };
    assert.deepEqual(first, { ...both, event: 'newCall' });
    const answeringNumber = 'bea@example.test';
    assert.deepEqual(last, { ...both, event: 'hangup', answeringNumber, cause: word });
  }
});

test('connectors push - a caller of a queue who gives up, an anonymous one, and calls inside the house', async (t) => {
  const { scene, arrive } = await zammad(t);
  scene.created('1', { endpoint: 'trunk', caller: { number: '', name: '' }, dialled: '+4989123456' });
  scene.state('1', 'up');
  const caller = { queue: 'support', channel: chan('1'), position: 1, joined_at: scene.at, priority: null };
  scene.send({ type: 'queue.caller_joined', caller });
  scene.hangup('1');
  scene.created('5', { endpoint: '1003', dialled: '1002' });
  scene.created('6', { endpoint: '1002', of: '5' });
  scene.state('6', 'ringing');
  scene.hangup('6');
  scene.hangup('5');
  const both = { callId: call('1'), direction: 'in', from: 'anonymous', to: '4989123456', queue: 'support' };
  assert.deepEqual(await arrive(2), [
    { ...both, event: 'newCall' },
    { ...both, event: 'hangup', cause: 'cancel' },
  ]);
});

test('connectors push - Zammad: a ring that it rejects is rejected once, with the right of the connector; other answers do nothing', async (t) => {
  const { rig, scene, arrive } = await zammad(t, ({ event, from }) => ({
    json:
      event === 'newCall' && from === '4930901820'
        ? { action: 'reject', reason: 'busy' }
        : { action: 'dial' },
  }));
  rings(scene);
  rings(scene, '7', '030 901821');
  await arrive(2);
  assert.deepEqual(rig.verbs, [['reject', 'connector:1', call('1')]]);
  scene.hangup('11003');
  scene.hangup('11002');
  scene.hangup('1');
  await arrive(3);
  assert.equal(rig.verbs.length, 1);
});

test('connectors push - a system that is busy gets the messages of a call in order once it answers; entries go first', async (t) => {
  let busy = 3;
  const { rig, scene, arrive, messages, state } = await zammad(t, () =>
    (busy -= 1) >= 0 ? { status: 503 } : { json: {} },
  );
  rings(scene);
  scene.hangup('11003');
  scene.hangup('11002');
  scene.hangup('1');
  await arrive(5);
  assert.deepEqual(
    messages().map(({ event }) => event),
    ['newCall', 'newCall', 'newCall', 'newCall', 'hangup'],
  );
  assert.deepEqual([(await state()).sent, (await state()).dropped], [2, 0]);
  assert.deepEqual(rig.connectors.troubles(), []);
});

test('connectors push - a call whose ring came too late is not pushed at all, and the health check names it for a while', async (t) => {
  let away = true;
  const { rig, scene, arrive, messages, state } = await zammad(t, () =>
    away ? { status: 503 } : { json: {} },
  );
  rings(scene);
  await until('a first attempt', () => messages().length > 0);
  await until('a dropped message', async () => {
    await rig.clock.advance(1_000);
    return (await state()).dropped === 1;
  });
  scene.hangup('11003');
  scene.hangup('11002');
  scene.hangup('1');
  assert.equal((await state()).dropped, 2, 'its end');
  assert.match(rig.connectors.troubles().join(), /Zammad.*: 2 live messages were dropped/);
  away = false;
  const before = messages().length;
  rings(scene, '7');
  await arrive(before + 1);
  assert.deepEqual([messages().at(-1)!['callId'], (await state()).waiting], [call('7'), 0]);
  await rig.clock.advance(601_000);
  assert.deepEqual(rig.connectors.troubles(), []);
});

test('connectors push - at most a thousand messages wait; one that is refused or whose answer is lost is not sent again', async (t) => {
  const { rig, scene, messages, state } = await zammad(t, ({ event }) =>
    event === 'hangup' ? null : { status: 422 },
  );
  for (let n = 1; n <= 1_010; n += 1) rings(scene, String(n * 10));
  assert.ok((await state()).waiting <= 1_000);
  await until('the end of the ten too many', async () => (await state()).dropped >= 10);
  assert.match((await state()).words!, /more than 1000 messages wait|status 422|422/);
  await rig.clock.advance(60_000);
  const ids = messages().map(({ callId }) => callId);
  assert.equal(new Set(ids).size, ids.length, 'none twice');
});
