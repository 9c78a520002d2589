import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { recordLines } from '../../../test/support/record-lines.ts';
import { recordedCall } from '../../../test/support/recorded-calls.ts';
import { buildRecord } from '../../features/history/record/build.ts';
import { withDirectory } from '../../features/history/record/records.ts';
import type { KnownRecord } from '../../features/history/record/records.ts';
import type { CallRecord } from '../../ports/call-records.ts';
import type { Site } from '../../ports/site.ts';
import { createVirtualClock } from '../memory/virtual-clock.ts';
import { memberOf } from './members.ts';
import { World } from './world.ts';

const directory = directoryFixture();
const site = (voicemail: boolean) =>
  ({
    extensions: directory
      .people()
      .map(({ extension, name, endpoints }) => ({ extension, name, endpoints, voicemail })),
    queues: [
      {
        name: 'support',
        number: '500',
        strategy: 'ringall',
        ring_seconds: 4,
        max_wait_seconds: 60,
        static_members: [],
      },
    ],
    services: [],
    trunks: [{ endpoint: 'trunk-north' }],
  }) as unknown as Site;

type Play = (world: World, wait: (ms: number) => Promise<void>) => Promise<void>;
/** The stories of recorded calls, with the moments at which the people of each acted. */
const STORIES: Readonly<Record<string, Play>> = {
  async 'internal-answered'(world, wait) {
    world.call('1001', '1002');
    await wait(1223);
    world.answer('1002');
    await wait(2532);
    world.hangUpBy('1001');
  },
  async 'trunk-in'(world, wait) {
    world.call('+4915112345678', '1001');
    await wait(633);
    world.answer('1001');
    await wait(1080);
    world.hold('1001', true);
    await wait(1385);
    world.hold('1001', false);
    await wait(1013);
    world.hangUpBy('+4915112345678');
  },
  async 'trunk-out'(world, wait) {
    world.call('1001', '0301234567');
    await wait(625);
    world.answer('0301234567');
    await wait(1032);
    world.hangUpBy('0301234567');
  },
  async hold(world, wait) {
    world.call('1001', '1002');
    await wait(326);
    world.answer('1002');
    await wait(1026);
    world.hold('1002', true);
    await wait(2201);
    world.hold('1002', false);
    await wait(1202);
    world.hangUpBy('1001');
  },
  async cancelled(world, wait) {
    world.call('1001', '1002');
    await wait(2227);
    world.hangUpBy('1001');
  },
  async busy(world, wait) {
    world.call('1001', '1002');
    await wait(22);
    world.decline('1002', 17);
  },
  async 'no-answer-voicemail'(world, wait) {
    world.call('1001', '1006');
    await wait(1523);
    world.decline('1006', 17);
    await wait(3029);
    world.hangUpBy('1001');
  },
  async 'blind-transfer'(world, wait) {
    world.call('1001', '1002');
    await wait(325);
    world.answer('1002');
    await wait(2026);
    world.transferBy('1002', '1003');
    await wait(1223);
    world.answer('1003');
    await wait(2729);
    world.hangUpBy('1003');
  },
  async 'attended-transfer'(world, wait) {
    world.call('1001', '1002');
    await wait(303);
    world.answer('1002');
    await wait(1004);
    world.consult('1002', '1003');
    await wait(604);
    world.answer('1003');
    await wait(1503);
    world.completeConsult('1002');
    await wait(2004);
    world.hangUpBy('1001');
  },
  async 'queue-answered'(world, wait) {
    world.call('1001', '500');
    await wait(2507);
    world.answer('1004');
    await wait(2727);
    world.hangUpBy('1001');
  },
  async 'queue-abandoned'(world, wait) {
    world.call('1001', '500');
    await wait(6010);
    world.hangUpBy('1001');
  },
  async 'queue-blind-transfer'(world, wait) {
    world.members.remove('support', memberOf('1004').interface);
    world.call('1001', '500');
    await wait(830);
    world.answer('1003');
    await wait(1800);
    world.transferBy('1003', '1005');
    await wait(740);
    world.answer('1005');
    await wait(1700);
    world.hangUpBy('1001');
  },
};
const linesOf = (records: readonly KnownRecord[]): readonly string[] => {
  const record = buildRecord(records, { e164: () => null });
  assert.ok(record);
  return recordLines(record);
};
/** The order in which a queue rings several agents at once is the engine's own, not the story's. */
const sorted = (lines: readonly string[]): readonly string[] =>
  lines
    .map((line) => (/ in [a-z]+ \d/.test(line) ? line.split(' · ').toSorted().join(' · ') : line))
    .toSorted();

for (const [name, play] of Object.entries(STORIES))
  test(`simulator - the records of ${name} lead to the conversation of the recorded call`, async () => {
    const records: CallRecord[] = [];
    const clock = createVirtualClock();
    const world = new World({
      node: nodeId('ast1'),
      clock,
      fact: () => undefined,
      record: (record) => records.push(record),
    });
    world.load(site(name.includes('voicemail')));
    world.members.register('1005', true);
    for (const extension of ['1003', '1004'])
      world.members.add('support', memberOf(extension).interface, {
        paused: false,
        paused_reason: '',
        penalty: 0,
      });
    await play(world, (ms) => clock.advance(ms));
    await clock.advance(10);
    const own = records.map((record) => withDirectory(record, directory));
    assert.deepEqual(sorted(linesOf(own)), sorted(linesOf(recordedCall(name))));
    world.close();
  });

test('simulator - a queue call that was answered in time never times out', async () => {
  const facts: string[] = [];
  const clock = createVirtualClock();
  const world = new World({
    node: nodeId('ast1'),
    clock,
    fact: ({ type }) => facts.push(type),
    record: () => undefined,
  });
  world.load(site(false));
  world.members.add('support', memberOf('1003').interface, {
    paused: false,
    paused_reason: '',
    penalty: 0,
  });
  world.call('1001', '500');
  await clock.advance(6_000);
  assert.deepEqual(
    facts.filter((type) => type.startsWith('offer.')),
    ['offer.created', 'offer.timeout', 'offer.created'],
  );
  world.answer('1003');
  await clock.advance(120_000);
  world.hangUpBy('1003');
  assert.deepEqual(
    facts.filter((type) => type.startsWith('offer.') || type === 'agent.released'),
    ['offer.created', 'offer.timeout', 'offer.created', 'offer.accepted', 'agent.released'],
  );
  world.close();
});
