/** Call settings of people on a real engine without the service. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { until } from '../../../../test/support/until.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { PASSWORD, company, queue } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(
    company({
      extensions: company().extensions.map((e) => ({ ...e, voicemail: e.extension === '1004' })),
      feature_codes: FEATURE_CODES,
      queues: [
        ...company().queues,
        queue({
          name: 'eager',
          number: '520',
          ring_in_use: true,
          max_wait_seconds: 60,
          members: [{ extension: '1009', static: true }],
        }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string, username = extension): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, username, password: PASSWORD });
const DONE = 'auth-thankyou';
const REFUSED = 'im-sorry';

/** Rows of one extension in the engine's store, e.g. `busy 1002`, without the time. */
async function kept(extension: string): Promise<string[]> {
  const lines = (await engine.cli(`database show offhook/${extension}`)).split('\n');
  return lines.flatMap((line) => {
    const m = /^\/offhook\/\d+\/(\w+) *: (\S*)/.exec(line);
    return m === null || m[1] === 'at' ? [] : [`${m[1]} ${m[2]}`];
  });
}
const changedAt = async (extension: string): Promise<number> =>
  Number(/: (\d{13})/.exec(await engine.cli(`database get offhook/${extension} at`))?.[1] ?? Number.NaN);

test('conf/self-service - the codes keep what they say, each in its place, and refuse what leads nowhere', async () => {
  await using owner = await phone('1002');
  const began = Date.now();
  for (const [code, now] of [
    ['*78', ['dnd 1']],
    ['*78', ['dnd 1']],
    ['*721008', ['dnd 1', 'forward 1008']],
    ['*90500', ['busy 500', 'dnd 1', 'forward 1008']],
    ['*921003', ['busy 500', 'dnd 1', 'forward 1008', 'noanswer 1003']],
    ['*79', ['busy 500', 'forward 1008', 'noanswer 1003']],
    ['*73', ['busy 500', 'noanswer 1003']],
    ['*91', ['noanswer 1003']],
    ['*91', ['noanswer 1003']],
    ['*93', []],
  ] as const) {
    const before = await changedAt('1002');
    assert.equal(await engine.dial(owner, code), DONE, code);
    assert.deepEqual(await kept('1002'), now, code);
    const at = await changedAt('1002');
    assert.ok(at >= began && at <= Date.now() && !(at <= before), `${code}: ${before} then ${at}`);
  }
  for (const code of ['*72', '*90', '*92']) {
    for (const number of [
      '1002',
      '1099',
      '600',
      '0301234',
      '*22',
      '1008&Local/601@services',
      '1008,1009',
      '${SHELL(touch /tmp/offhook-was-here)}',
      '%31%30%30%38%0d%0aAction:%20Ping',
      '1'.repeat(60),
    ])
      assert.notEqual(await engine.dial(owner, `${code}${number}`), DONE, code + number);
  }
  assert.deepEqual(await kept('1002'), []);
  await engine.cli('database put offhook/1002 at 2000000000000');
  assert.equal(await engine.dial(owner, '*79'), DONE);
  assert.equal(
    await changedAt('1002'),
    2_000_000_000_001,
    'later than what is there, whatever the clock says',
  );
});

test('conf/self-service - who does not want to be disturbed is busy: the devices are silent, a mailbox says so', async () => {
  await using caller = await phone('1001');
  await using owner = await phone('1002');
  await using boxed = await phone('1004');
  for (const quiet of [owner, boxed]) assert.equal(await engine.dial(quiet, '*78'), DONE);
  const refused = await caller.invite('1002');
  await refused.ended();
  assert.equal(refused.status, 486);
  const before = (await engine.heard('1001')).length;
  const greeted = await caller.invite('1004');
  await greeted.answered();
  await until('the greeting of who is busy', async () =>
    (await engine.heard('1001')).slice(before).some((sound) => sound === 'vm-isonphone'),
  );
  await greeted.hangup();
  assert.deepEqual([owner.seen, boxed.seen], [0, 0]);
  const call = await boxed.invite('601');
  await call.answered();
  await call.hangup();
  for (const quiet of [owner, boxed]) assert.equal(await engine.dial(quiet, '*79'), DONE);
  const rung = await caller.invite('1002');
  (await owner.incoming()).reject(486);
  await rung.ended();
});

test('conf/self-service - busy and unanswered calls go where they are sent; a forward of every call goes first', async () => {
  await using caller = await phone('1001');
  await using owner = await phone('1002');
  await using second = await phone('1003');
  await using third = await phone('1008');
  const taken = async (by: Phone): Promise<void> => {
    const call = await caller.invite('1002');
    const there = await by.incoming();
    await there.answer();
    await call.answered();
    await call.hangup();
  };
  assert.equal(await engine.dial(owner, '*901003'), DONE);
  assert.equal(await engine.dial(owner, '*921008'), DONE);
  // Refused by hand.
  for (const status of [486, 603]) {
    const call = await caller.invite('1002');
    (await owner.incoming()).reject(status);
    await (await second.incoming()).answer();
    await call.answered();
    await call.hangup();
  }
  // Rung for as long as was chosen.
  await engine.cli('database put offhook/1002 seconds 1');
  const began = performance.now();
  const call = await caller.invite('1002');
  const silent = await owner.incoming();
  silent.ring();
  await (await third.incoming()).answer();
  const rang = performance.now() - began;
  assert.ok(rang > 900 && rang < 15_000, `${Math.round(rang)} ms`);
  await call.answered();
  await call.hangup();
  await silent.ended();
  // Not wanted is busy, and no device at all is no answer.
  const seen = owner.seen;
  assert.equal(await engine.dial(owner, '*78'), DONE);
  await taken(second);
  assert.equal(await engine.dial(owner, '*721008'), DONE);
  await taken(third);
  assert.equal(await engine.dial(owner, '*73'), DONE);
  assert.equal(await engine.dial(owner, '*79'), DONE);
  await owner.unregister();
  await taken(third);
  assert.equal(owner.seen, seen);
  await owner.register();
  for (const code of ['*91', '*93']) assert.equal(await engine.dial(owner, code), DONE);
});

test('conf/self-service - forwards that lead round and round come to an end, as does one to nowhere', async () => {
  await using caller = await phone('1001');
  await using one = await phone('1002');
  await using other = await phone('1003');
  for (const who of [one, other]) assert.equal(await engine.dial(who, '*78'), DONE);
  assert.equal(await engine.dial(one, '*901003'), DONE);
  assert.equal(await engine.dial(other, '*901002'), DONE);
  const round = await caller.invite('1002');
  await round.ended();
  assert.equal(round.status, 486);
  for (const who of [one, other]) {
    assert.equal(await engine.dial(who, '*91'), DONE);
    assert.equal(await engine.dial(who, '*79'), DONE);
  }
  // Values by hand, as a broken store might hold them.
  for (const [key, value] of [
    ['forward', '0301234'],
    ['forward', '600'],
    ['forward', 'Local/601@services'],
    ['forward', '1003&1004'],
    ['forward', '_X.'],
  ]) {
    await engine.cli(`database put offhook/1002 ${key} ${value}`);
    const call = await caller.invite('1002');
    await call.ended();
    assert.ok(call.status >= 400, `${value}: ${call.status}`);
  }
  assert.deepEqual([one.seen, other.seen], [0, 0]);
  assert.equal(await engine.dial(one, '*73'), DONE);
});

test('conf/self-service - only the devices ring that were chosen, for a call and for a queue', async () => {
  await using caller = await phone('1001');
  await using desk = await phone('1006');
  await using mobile = await phone('1006', '1006-mobile');
  for (const [devices, rings, silent] of [
    ['mobile', mobile, desk],
    ['sip', desk, mobile],
    ['webrtc-mobile', mobile, desk],
    ['sip-webrtc', desk, mobile],
  ] as const) {
    await engine.cli(`database put offhook/1006 devices ${devices}`);
    for (const number of ['1006', '500']) {
      const before = silent.seen;
      const call = await caller.invite(number);
      const there = await rings.incoming();
      assert.equal(silent.seen, before, `${number} on ${devices}`);
      await call.hangup();
      await there.ended();
    }
  }
  await engine.cli('database put offhook/1006 devices webrtc');
  const none = await caller.invite('1006');
  await none.ended();
  assert.equal(none.status, 480);
  await engine.cli('database put offhook/1006 devices rubbish');
  const all = await caller.invite('1006');
  const [one, two] = await Promise.all([desk.incoming(), mobile.incoming()]);
  await all.hangup();
  await Promise.all([one.ended(), two.ended()]);
  await engine.cli('database del offhook/1006 devices');
});

test('conf/self-service - a queue does not ring who does not want to be disturbed, and does again after', async () => {
  await using caller = await phone('1001');
  await using agent = await phone('1006');
  assert.equal(await engine.dial(agent, '*78'), DONE);
  await until('1006 busy', async () => (await engine.members('support')).includes('1006 Busy'));
  const seen = agent.seen;
  const waiting = await caller.invite('500');
  await waiting.answered();
  await until('the caller waits', async () =>
    /Callers: *\n? *1\./.test(await engine.cli('queue show support')),
  );
  assert.equal(agent.seen, seen);
  assert.equal(await engine.dial(agent, '*79'), DONE);
  const offered = await agent.incoming();
  await offered.answer();
  await waiting.hangup();
});

test('conf/self-service - nor does a queue that also rings who is in a call', async () => {
  await using caller = await phone('1001');
  await using agent = await phone('1009');
  assert.equal(await engine.dial(agent, '*78'), DONE);
  const waiting = await caller.invite('520');
  await waiting.answered();
  await until('the queue tries the agent', async () =>
    (await engine.records()).some(
      (line) => line.startsWith('"CHAN_END"') && line.includes('Local/1009@queue-agent'),
    ),
  );
  assert.equal(agent.seen, 0);
  assert.equal(await engine.dial(agent, '*79'), DONE);
  await (await agent.incoming()).answer();
  await waiting.hangup();
});

test('conf/self-service - what was set holds after the engine was restarted, the lamp with it', async () => {
  await using agent = await phone('1006');
  assert.equal(await engine.dial(agent, '*78'), DONE);
  assert.equal(await engine.dial(agent, '*921008'), DONE);
  await engine.restart();
  assert.deepEqual(await kept('1006'), ['dnd 1', 'noanswer 1008']);
  await until('1006 busy', async () => (await engine.members('support')).includes('1006 Busy'));
  assert.equal(await engine.dial(agent, '*79'), DONE);
  await until('1006 not busy', async () => (await engine.members('support')).includes('1006 Not in use'));
});

test('conf/self-service - a code acts for who dials it, and nothing of all this left a warning', async () => {
  await using agent = await phone('1003');
  await using other = await phone('1001');
  const call = await agent.invite('1001');
  await (await other.incoming()).answer();
  await call.answered();
  const [there] = [call];
  assert.equal(there.state, 'up');
  await call.bridged();
  await call.transfer('*78');
  await until('the refusal', async () => (await engine.heard('1001')).at(-1) === REFUSED);
  assert.deepEqual([await kept('1001'), await kept('1003')], [[], []]);
  assert.deepEqual(await engine.warnings(), []);
});
