/** Feature codes that the site dials in another way, and every setting of a queue, on a real engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { until } from '../../../../test/support/until.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { PASSWORD, company, queue } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

/** Every code begins with # and its place in the list instead. */
const OWN = /^_?([*#]+[0-9]*)/;
const begins = (id: string): string => `#${FEATURE_CODES.findIndex((c) => c.id === id) + 10}`;
const codes = FEATURE_CODES.map((code) => ({
  ...code,
  moved: { from: OWN.exec(code.patterns[0]!)![1]!, to: begins(code.id) },
}));
const sound = (built_in: string) => ({ built_in });
let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(
    company({
      feature_codes: codes,
      queues: [
        queue({ name: 'support', number: '500', members: [{ extension: '1003' }], ring_seconds: 3 }),
        queue({
          name: 'shop',
          number: '520',
          strategy: 'rrordered',
          members: [
            { extension: '1004', static: true, penalty: 3 },
            { extension: '1005', static: true, penalty: 1 },
          ],
          // Long enough for the agent who answers the second ring.
          ring_seconds: 10,
          retry_seconds: 2,
          weight: 7,
          ring_in_use: true,
          service_level_seconds: 33,
          max_wait_seconds: 30,
          announcement: sound('hello-world'),
          agent_announcement: sound('beeperr'),
          periodic_announcement: { sound: sound('queue-thankyou'), every_seconds: 10 },
          announce_position: true,
          announce_hold_time: true,
          announce_every_seconds: 1,
          announce_to_first: true,
          exit: { key: '9', to: { kind: 'extension', key: '1002' } },
        }),
        queue({
          name: 'brief',
          number: '523',
          max_wait_seconds: 1,
          otherwise: { kind: 'hang_up', play: sound('vm-goodbye') },
        }),
        queue({
          name: 'empty',
          number: '521',
          strategy: 'wrandom',
          join_when_empty: false,
          otherwise: { kind: 'queue', key: 'shop' },
        }),
        queue({
          name: 'round',
          number: '522',
          join_when_empty: false,
          otherwise: { kind: 'queue', key: 'round' },
        }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });
const DONE = 'auth-thankyou';

test('conf/flow - every feature code does the same by its other beginning, and nothing by its own', async () => {
  await using agent = await phone('1003');
  await using caller = await phone('1001');
  await using third = await phone('1002');
  const dial = (id: string, more = ''): Promise<string> => engine.dial(agent, `${begins(id)}${more}`);
  for (const code of ['*81', '*8', '*72600']) {
    const own = await agent.invite(code);
    await own.ended();
    assert.equal(own.status, 404, code);
  }
  // A phone that has just hung up is in use for a moment longer.
  const waiting = async (...members: string[]): Promise<void> => {
    let seen: string[] = [];
    await until(
      `members ${members.join(', ')}`,
      async () => isDeepStrictEqual((seen = await engine.members('support')), members),
      { seen: () => seen },
    );
  };
  assert.equal(await dial('agent.login', '500'), DONE);
  await waiting('1003 Not in use');
  assert.equal(await dial('agent.pause', '2'), DONE);
  await waiting('1003 paused:lunch Not in use');
  assert.equal(await dial('agent.unpause'), DONE);
  assert.equal(await dial('agent.logout', '500'), DONE);
  await waiting();
  assert.equal(await dial('forward.on', '1002'), DONE);
  const forwarded = await caller.invite('1003');
  (await third.incoming()).reject(486);
  await forwarded.ended();
  assert.equal(await dial('forward.off'), DONE);
  for (const code of [begins('pickup.group'), `${begins('pickup.extension')}1003`]) {
    const call = await caller.invite('1003');
    const ringing = await agent.incoming();
    ringing.ring();
    await call.ringing();
    const picked = await third.invite(code);
    await Promise.all([picked.answered(), call.answered(), ringing.ended()]);
    await picked.hangup();
    await call.ended();
  }
});

test('conf/flow - a queue has every setting of its object, speaks, and leads on where nobody came', async () => {
  const shown = await engine.cli('queue show shop');
  assert.match(shown, /'rrordered' strategy .*SL2?:.*33s/);
  assert.match(shown, /1004.*penalty 3/);
  assert.match(shown, /1005.*penalty 1/);
  assert.match(shown, /, W:7,/);
  await using caller = await phone('1001');
  await using agent = await phone('1005');
  const before_it = (await engine.heard('1001')).length;
  const heard = (extension: string, prompt: string, from = 0) =>
    until(`${extension} to hear ${prompt}`, async () =>
      (await engine.heard(extension)).slice(from).includes(prompt),
    );
  const call = await caller.invite('520');
  const offered = await agent.incoming();
  await heard('1001', 'hello-world', before_it);
  offered.ring();
  await until('the ring to end', () => offered.state === 'ended');
  await heard('1001', 'queue-youarenext', before_it);
  const again = await agent.incoming();
  await again.answer();
  const reported = /"FILE_STREAM_BEGIN","Local\/1005@queue-agent.*""sound"":""beeperr""/;
  await until('the agent to be told', async () => (await engine.records()).some((l) => reported.test(l)));
  await call.hangup();
  await again.ended();

  const vain = await caller.invite('523');
  await vain.ended();
  await engine.hears('1001', 'vm-goodbye');
});

test('conf/flow - a queue that takes nobody leads to the next, and round and round comes to an end', async () => {
  await using caller = await phone('1001');
  const before_it = (await engine.heard('1001')).length;
  const call = await caller.invite('521');
  await until('the other queue to begin', async () =>
    (await engine.heard('1001')).slice(before_it).includes('hello-world'),
  );
  await call.hangup();
  const round = await caller.invite('522');
  await round.ended();
});

test('conf/flow - of the codes and queues, nothing left a warning but queues that took nobody', async () => {
  const warnings = await engine.warnings();
  const own = / Unable to join queue '(empty|round)'$/;
  assert.deepEqual(
    warnings.filter((line) => !own.test(line)),
    [],
  );
  // Once for the one that leads to the next, and for each place of the circle.
  assert.equal(warnings.length, 1 + 100);
});
