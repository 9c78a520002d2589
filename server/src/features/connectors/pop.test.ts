/** Calls that a connected system shows to the people who ring: Bitrix24 as its file describes it, and one that needs the customer. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startSystem } from '../../../test/support/connector-rig.ts';
import type { AskedOfSystem, SystemAnswer } from '../../../test/support/connector-rig.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { Scene, call } from '../../../test/support/model-scene.ts';
import { REPOSITORY } from '../../../test/support/sources.ts';
import { until } from '../../../test/support/until.ts';

const USERS = [
  { ID: '7', EMAIL: 'Bea@example.test' },
  { ID: '8', EMAIL: 'carl@example.test' },
];
/** The method of a request, with the parts of its body that name call and person. */
const about = ({ path: asked, body }: AskedOfSystem): string => {
  const method = asked
    .split('/')
    .at(-1)!
    .split('?')[0]!
    .replace(/^telephony\.externalcall\.|\.json$/g, '');
  const { USER_ID, CALL_ID, EXTERNAL_CALL_ID } = JSON.parse(body || '{}') as Record<string, string | number>;
  return [method, USER_ID, CALL_ID ?? EXTERNAL_CALL_ID].filter((one) => one !== undefined).join(' ');
};

async function popping(
  t: TestContext,
  source: string,
  settings: Readonly<Record<string, string>>,
  answer: (asked: AskedOfSystem) => SystemAnswer | null,
) {
  const system = await startSystem(t, answer);
  const rig = await connectorsRig(t);
  await rig.create('find', { source, settings: { ...settings, portal: system.url } });
  const scene = new Scene();
  const step = scene.model.step.bind(scene.model);
  scene.model.step = (input) => {
    const events = step(input);
    scene.model.committed(events);
    for (const event of events) rig.connectors.onDomainEvent({ ...event, at: rig.clock.now() });
    return events;
  };
  const shown = () => system.asked.map(about).filter((one) => /^(register|show|hide|display)/.test(one));
  return {
    rig,
    scene,
    shown,
    state: async () => (await rig.list())[0]!.push!,
    reach: (...all: string[]) =>
      until(
        `${all.join(', ')}`,
        async () => {
          await rig.clock.advance(500);
          return shown().length >= all.length && (await rig.list())[0]!.push!.waiting === 0;
        },
        { seen: shown },
      ).then(() => assert.deepEqual(shown(), all)),
  };
}
async function bitrix(
  t: TestContext,
  fault: (method: string) => SystemAnswer | null | undefined = () => undefined,
) {
  const text = await readFile(path.join(REPOSITORY, 'connectors/bitrix24.yaml'), 'utf8');
  const source = text
    .replace(/portal: .*/, 'portal: { text: Portal, url: true }')
    .replace(/base: .*/, "base: '{{ set.portal }}'")
    .replace(/auth:\n(?: .*\n)+/, "auth: { query: auth, value: '{{ set.secret }}' }\n")
    .replace(/url: https:\/\/(\{\{ set.portal \}\}.*)/, "url: '$1'")
    .replace('requests: 2,', 'requests: 50,');
  return await popping(
    t,
    source,
    { client: 'local.1', secret: 'geheim-4711', application: 'geheim-4712' },
    (asked) => {
      const [method] = about(asked).split(' ');
      const faulty = fault(method!);
      if (faulty !== undefined) return faulty;
      if (asked.path.includes('user.get')) {
        const { FILTER } = JSON.parse(asked.body) as { FILTER: { '>ID': number } };
        return { json: { result: USERS.filter(({ ID }) => Number(ID) > FILTER['>ID']) } };
      }
      if (method === 'register') return { json: { result: { CALL_ID: 'x1' } } };
      return { json: { result: [] } };
    },
  );
}
/** A call from outside rings 1003 and 1002. */
function rings(scene: Scene, id = '1'): void {
  scene.created(id, {
    endpoint: 'trunk',
    dialled: '+4989123456',
    caller: { number: '030 901820', name: '' },
  });
  for (const extension of ['1003', '1002']) {
    scene.created(`${id}${extension}`, { endpoint: extension, of: id });
    scene.state(`${id}${extension}`, 'ringing');
  }
}

test('connectors pop - Bitrix24 registers a call once, shows it to who rings and takes it away when they do not any more', async (t) => {
  const { scene, reach, rig, shown } = await bitrix(t);
  rings(scene);
  await until('the register', () => shown().length > 0);
  // 1002 has no user there.
  await reach(`register 7 ${call('1')}`, 'show 7 x1');
  scene.state('11003', 'up');
  scene.enter('b', '1');
  scene.enter('b', '11003');
  scene.hangup('11002');
  await rig.clock.advance(5_000);
  await reach(`register 7 ${call('1')}`, 'show 7 x1');
  scene.hangup('11003');
  scene.hangup('1');
  await reach(`register 7 ${call('1')}`, 'show 7 x1', 'hide 7 x1');
});

test('connectors pop - a call that the system has no id of is not shown, and the drop is named', async (t) => {
  for (const fault of [{ status: 503 }, null]) {
    const { scene, rig, shown, state } = await bitrix(t, (method) =>
      method === 'register' ? fault : undefined,
    );
    rings(scene);
    // The site's clock stands until the users are read: it would end that request on a slow machine.
    await until('the register', () => shown().length > 0);
    let push = await state();
    await until(
      'ring and show are dropped',
      async () => {
        await rig.clock.advance(5_000);
        push = await state();
        return push.waiting === 0 && push.dropped >= 2;
      },
      { seen: () => ({ push, shown: shown() }) },
    );
    scene.hangup('11003');
    scene.hangup('1');
    await rig.clock.advance(5_000);
    assert.ok(!shown().some((one) => /^(show|hide)/.test(one)), shown().join());
    assert.match((await state()).words!, fault === null ? /no id of this call/ : /its ring was dropped/);
  }
});

test('connectors pop - a person who left before the call was shown, or to whom it could not be shown, gets no hide', async (t) => {
  let busy = true;
  let refuses = false;
  const { scene, reach, shown, rig } = await bitrix(t, (method) =>
    method === 'register' && busy
      ? { status: 503 }
      : method === 'show' && refuses
        ? { status: 422 }
        : undefined,
  );
  rings(scene);
  await until('the register', async () => {
    await rig.clock.advance(100);
    return shown().length > 0;
  });
  scene.hangup('11003');
  busy = false;
  await until('the second register', async () => {
    await rig.clock.advance(500);
    return shown().length >= 2 && (await rig.list())[0]!.push!.waiting === 0;
  });
  assert.ok(!shown().some((one) => /^(show|hide)/.test(one)), shown().join());
  scene.hangup('11002');
  scene.hangup('1');
  refuses = true;
  const before = shown();
  rings(scene, '2');
  await reach(...before, `register 7 ${call('2')}`, 'show 7 x1');
  scene.hangup('21003');
  scene.hangup('2');
  await rig.clock.advance(5_000);
  await reach(...before, `register 7 ${call('2')}`, 'show 7 x1');
});

const DISPLAY = `
connector: 1
name: Display
settings: { portal: { text: Address, url: true }, secret: { text: Token, secret: true } }
base: '{{ set.portal }}'
auth: { bearer: '{{ set.secret }}' }
limits: { requests: 50 }
check: { get: / }
users: { get: /user.get, rows: '{{ answer.result }}', id: '{{ row.ID }}', email: '{{ row.EMAIL }}' }
customer: { id: '{{ row.id }}', name: '{{ row.name }}' }
lookup: { number: { get: /people, query: { phone: '{{ number }}' }, formats: [e164], rows: '{{ answer }}' } }
pop:
  at: answered
  show: { post: '/agents/{{ user.id }}/users/{{ customer.id }}/display' }
`;

test('connectors pop - where it is shown on answer: only who answers, with the customer of that system; a stranger is named', async (t) => {
  const people: object[] = [{ id: 'c9', name: 'Anna' }];
  const paths: string[] = [];
  const { scene, rig, state } = await popping(t, DISPLAY, { secret: 'geheim-4711' }, ({ path: asked }) => {
    if (asked.includes('display')) paths.push(asked);
    if (asked === '/user.get') return { json: { result: USERS } };
    return { json: asked.startsWith('/people') ? people : {} };
  });
  rings(scene);
  scene.state('11003', 'up');
  scene.enter('b', '1');
  scene.enter('b', '11003');
  await until('the display', async () => {
    await rig.clock.advance(500);
    return paths.length === 1;
  });
  assert.deepEqual(paths, ['/agents/7/users/c9/display']);
  scene.hangup('11003');
  scene.hangup('1');
  people.length = 0;
  rig.connectors.service.forgetAnswers();
  rings(scene, '2');
  scene.state('21003', 'up');
  scene.enter('c', '2');
  scene.enter('c', '21003');
  await until('the drop', async () => {
    await rig.clock.advance(500);
    return (await state()).dropped === 1;
  });
  assert.match((await state()).words!, /the path has no value/);
  assert.equal(paths.length, 1);
});
