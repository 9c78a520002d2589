import assert from 'node:assert/strict';
import { test } from 'node:test';
import { e164In } from '../../../numbers/e164.ts';
import { historyScene, recorded } from '../../../../test/support/history-scene.ts';
import { buildRecord } from '../record/build.ts';
import type { ConversationRecord } from '../record/record.ts';
import { withDirectory } from '../record/records.ts';
import { createAbsences } from './gaps.ts';
import { settledIn } from './settle.ts';

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
  const absences = createAbsences([], 5);
  for (const [at, type] of [
    [10, 'queue.caller_joined'],
    [50, 'conversation.finalised'],
    [51, 'queue.stats'],
    [52, 'queue.caller_settled'],
    [60, 'engine.link_up'],
  ] as const)
    assert.equal(absences.take(type, at), null);
  assert.deepEqual(absences.take('engine.resynced', 61), { from: 10, to: 61 });
  const restarted = createAbsences([], 5);
  restarted.take('engine.link_up', 60);
  assert.deepEqual(restarted.take('engine.resynced', 61), { from: 5, to: 61 });
});
