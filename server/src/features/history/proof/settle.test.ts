import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { e164In } from '../../../numbers/e164.ts';
import { recordedIn } from '../../../../test/support/call-records.ts';
import { historyScene, recorded } from '../../../../test/support/history-scene.ts';
import { manualClock } from '../../../../test/support/sessions-fixture.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { Store } from '../../../ports/store.ts';
import { buildRecord } from '../record/build.ts';
import type { ConversationRecord } from '../record/record.ts';
import { withDirectory } from '../record/records.ts';
import type { Tables } from '../store/tables.ts';
import { createAbsences } from './gaps.ts';
import { createSettler, settledIn } from './settle.ts';

const row = (type: string, at: number, node = 'ast1') => ({ seq: 1, type, subject: `engine/${node}`, at });

async function record(name: string): Promise<ConversationRecord> {
  await using scene = await historyScene();
  const records = recorded(name).map((r) => withDirectory(r, scene.directory));
  return buildRecord(records, { e164: e164In('DE') }) ?? assert.fail(`${name} is no conversation`);
}

test('settle - a visit that ended during an absence is published with its outcome, once it is over', async () => {
  const abandoned = await record('queue-abandoned');
  const [visit] = abandoned.visits;
  assert.ok(visit);
  const { queue, leg_id, from, to } = visit;
  const known = [`${queue} ${leg_id}`];
  const gist = (absence: { from: number; to: number }, known: readonly string[], of = abandoned) =>
    settledIn(of, { ...absence, known }, 7).map(({ data }) => data);
  const data = {
    call_id: abandoned.id,
    queue,
    leg_id,
    joined_at: new Date(from).toISOString(),
    outcome: 'abandoned',
    waited_seconds: Math.floor((to - from) / 1000),
    waited_ms: to - from,
  };
  const around = { from: from - 60_000, to: to + 60_000 };
  assert.deepEqual(gist({ from: from + 1, to: to + 60_000 }, known), [{ ...data, told: true }]);
  assert.deepEqual(gist(around, []), [{ ...data, told: false }]);
  // Visits with their start or end in the journal are reported by its own events.
  assert.deepEqual(gist({ from: from + 1, to: to + 60_000 }, []), []);
  assert.deepEqual(gist({ from: from - 60_000, to: to - 1 }, []), []);
  assert.deepEqual(gist({ from: to + 5_000, to: to + 60_000 }, known), []);
  assert.deepEqual(gist({ from: from - 60_000, to: to - 5_000 }, known), []);
  assert.deepEqual(
    gist(around, known, { ...abandoned, ended_by: 'engine_lost' }),
    [],
    'nobody knows who hung up',
  );
  const waits = { ...abandoned, visits: [{ ...visit, outcome: 'waiting' as const }] };
  assert.deepEqual(gist(around, known, waits), []);
});

test('settle - an absence begins with the last event of the engine, not with a finding of the service', () => {
  const absences = createAbsences({ heard: 5 });
  for (const [at, type] of [
    [10, 'queue.caller_joined'],
    [50, 'conversation.finalised'],
    [51, 'queue.stats'],
    [52, 'queue.caller_settled'],
  ] as const)
    assert.equal(absences.take(row(type, at)), null);
  assert.deepEqual(absences.take(row('engine.link_up', 60)), { from: 10, to: 60 });
  assert.equal(absences.take(row('engine.resynced', 61)), null);
  const restarted = createAbsences({ heard: 5 });
  assert.deepEqual(restarted.take(row('engine.link_up', 60)), { from: 5, to: 60 });
});

test('settle - an absence of one engine is not ended by another one, and does not concern its calls', () => {
  const absences = createAbsences({ others: ['b'] });
  const away = (from: number, id: string): boolean => absences.overlaps({ from, to: from + 1 }, [id]);
  absences.take(row('engine.link_up', 10));
  absences.take(row('engine.resynced', 11));
  assert.deepEqual(absences.take(row('engine.link_up', 11, 'b')), { from: 11, to: 11, node: 'b' });
  assert.ok(!away(20, 'b:1.1'), 'its link is followed by no resync of its own');
  absences.take(row('call.started', 30));
  absences.take(row('engine.link_down', 32, 'b'));
  absences.take(row('engine.resynced', 40));
  assert.deepEqual([away(50, 'b:1.1'), away(50, 'ast1:1.1')], [true, false]);
  assert.deepEqual(absences.take(row('engine.link_up', 60, 'b')), { from: 30, to: 60, node: 'b' });
  assert.deepEqual([away(50, 'b:1.1'), away(50, 'ast1:1.1'), away(70, 'b:1.1')], [true, false, false]);
});

test('settle - after a start of the service each engine was away since the newest event before it', () => {
  const absences = createAbsences({ heard: 5, head: 2, others: ['b'] });
  const rows = [
    row('engine.link_up', 10, 'b'),
    row('call.ended', 20),
    row('engine.link_up', 60),
    row('call.started', 70),
    row('engine.link_up', 90, 'b'),
    row('engine.link_down', 95, 'b'),
    row('engine.link_up', 99, 'b'),
  ].map((one, i) => ({ ...one, seq: i + 1 }));
  assert.deepEqual(
    rows.flatMap((one) => absences.take(one) ?? []),
    [
      { from: 5, to: 10, node: 'b' },
      { from: 20, to: 60 },
      { from: 20, to: 90, node: 'b' },
      { from: 90, to: 99, node: 'b' },
    ],
  );
});

test('settle - a visit is settled in an absence of the engine of its queue', async () => {
  await using scene = await historyScene();
  const fixture = (node: string) =>
    recordedIn(nodeId(node), new URL(`../fixtures/engines/${node}.cel`, import.meta.url));
  await scene.feed(...fixture('a'), ...fixture('b'));
  const [, { record: answered } = assert.fail('no call')] = await scene.conversations();
  const [visit = assert.fail('no visit')] = answered.visits;
  assert.equal(visit.leg_id.split(':')[0], 'a', 'its caller is at the other engine');
  const around = { from: visit.from - 60_000, to: visit.to + 60_000, known: [] };
  const found = (node: object) => settledIn(answered, { ...around, ...node }, 7, ['b']).length;
  assert.deepEqual([found({ node: 'b' }), found({})], [1, 0]);
});

test('settle - a visit that a resync ended is known to the absence before it, and to one of another engine', async () => {
  await using scene = await historyScene();
  const settler = createSettler({ store: scene.store, clock: manualClock(0), others: ['b'] });
  const known = () => settler.unsettled.map((absence) => absence.known);
  settler.add({ from: 5, to: 10 });
  settler.take({
    type: 'queue.caller_left',
    at: 10,
    observed: 'resync',
    data: { queue: 'support', leg_id: 'b:1.1' },
  } as unknown as DomainEvent);
  settler.add({ from: 5, to: 12, node: 'b' });
  settler.add({ from: 20, to: 30 });
  assert.deepEqual(known(), [['support b:1.1'], ['support b:1.1'], []]);
});

test('settle - a failed write loses no visit of an absence', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('queue-abandoned'));
  const [visit = assert.fail('no visit')] = (await scene.conversations())[0]!.record.visits;
  const clock = manualClock(visit.to + 120_000);
  let broken = true;
  const store: Store = {
    ...scene.store,
    transaction: async (work) => {
      if (broken) throw new ServiceError('store_unavailable', 'the disk is full');
      return await scene.store.transaction(work);
    },
  };
  const settler = createSettler({ store, clock });
  settler.add({ from: visit.from - 60_000, to: visit.to + 60_000 });
  await assert.rejects(settler.catchUp(clock.now()), { code: 'store_unavailable' });
  broken = false;
  clock.advance(2_000);
  assert.equal(await settler.catchUp(clock.now()), true);
  const findings = await scene.store.db<Tables>().selectFrom('history_findings').select('kind').execute();
  assert.deepEqual(
    findings.map(({ kind }) => kind),
    ['visit', 'settled'],
  );
});
