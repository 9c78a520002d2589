import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Conversation } from '@offhook/contract/conversations.ts';
import { recordedCall, recordedCalls } from '../../../../test/support/recorded-calls.ts';
import { played, stories } from '../../../../test/support/call-story.ts';
import type { ShownRow } from '../query/view.ts';
import { conversationOf, NOTHING_ADDED } from '../query/view.ts';
import type { ConversationRecord } from './record.ts';
import type { KnownRecord } from './records.ts';
import { buildRecord } from './build.ts';

const build = (records: readonly KnownRecord[], lost = false) =>
  buildRecord(records, { e164: () => null, lost });
const row = (record: ConversationRecord): ShownRow => ({
  root: record.id,
  change: 1,
  revision: 1,
  state: record.complete ? 'final' : 'open',
  erased: 0,
});
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** Invariants of every record, for any set of call records. */
export function assertSound(record: ConversationRecord): void {
  for (const leg of record.legs) {
    let at = leg.from;
    for (const s of leg.segments) {
      assert.equal(s.from, at, 'a stretch begins where the one before ended');
      assert.ok(s.to > s.from);
      at = s.to;
    }
    assert.equal(at, leg.to, 'the stretches of a leg are the whole leg');
    assert.ok(leg.from >= record.started && leg.to <= record.ended, 'inside the conversation');
    assert.ok(leg.answered === null || (leg.answered >= leg.from && leg.answered <= leg.to));
    assert.equal(leg.answered !== null, leg.disposition === 'answered');
    if (record.complete) assert.notEqual(leg.ended_by, null, 'every leg has one end');
  }
  const spent = (state: string): number =>
    sum(record.legs.flatMap((l) => l.segments.map((s) => (s.state === state ? s.to - s.from : 0))));
  assert.deepEqual(
    [record.ring_ms, record.talk_ms, record.hold_ms, record.park_ms],
    ['alerting', 'connected', 'held', 'parked'].map(spent),
  );
  const ids = new Set(record.legs.map((l) => l.leg_id));
  for (const visit of record.visits) {
    assert.ok(visit.to >= visit.from && ids.has(visit.leg_id));
    if (record.complete) assert.notEqual(visit.outcome, 'waiting');
    assert.equal(visit.agent_leg !== null, visit.outcome === 'answered');
  }
  for (const t of record.transfers) if (record.complete) assert.notEqual(t.outcome, 'pending');
  assert.ok(record.billable_ms >= 0 && record.billable_ms <= record.ended - record.started);
  const added = { notes: [], quality: [], recordings: [], timeline: [] };
  Conversation.parse(conversationOf(row(record), record, NOTHING_ADDED, added));
}

const calls = recordedCalls
  .filter((name) => name !== 'listen')
  .map((name) => [name, recordedCall(name)] as const);

test('record - any order and any repetition of records builds the same bytes', () => {
  for (const [name, records] of calls) {
    const expected = JSON.stringify(build(records));
    const shuffled = fc
      .shuffledSubarray([...records], { minLength: records.length })
      .chain((all) => fc.array(fc.constantFrom(...records)).map((again) => [...all, ...again]));
    fc.assert(
      fc.property(shuffled, (given) => {
        assert.equal(JSON.stringify(build(given)), expected, name);
      }),
      { numRuns: 20 },
    );
  }
});

test('record - with any records missing, the record is consistent', () => {
  for (const [, records] of calls) {
    fc.assert(
      fc.property(fc.subarray([...records]), fc.boolean(), (some, lost) => {
        assertSound(build(some, lost)!);
      }),
      { numRuns: 40 },
    );
  }
});

test('record - an open call has a consistent record at every time', () => {
  for (const [, records] of calls) {
    for (let n = 1; n <= records.length; n += 1) {
      const open = build(records.slice(0, n))!;
      assertSound(open);
      const rest = new Set(records.slice(n).map((r) => r.type));
      rest.delete('linked_end');
      rest.delete('channel_end');
      assert.ok(!open.complete || rest.size === 0, 'not over while something is to come');
      assertSound(build(records.slice(0, n), true)!);
    }
  }
});

/** Number of conversations in these records: calls that share a channel are one (links.ts does this in the store). */
function conversationsIn(records: readonly KnownRecord[]): number {
  const sets: Set<string>[] = [];
  for (const { channel, call } of records) {
    const own = sets.filter((set) => set.has(channel) || set.has(call));
    const joined = new Set<string>([channel, call]);
    for (const set of own) for (const id of set) joined.add(id);
    sets.splice(0, sets.length, ...sets.filter((set) => !own.includes(set)), joined);
  }
  return sets.length;
}
const near = (a: number, b: number, what: string): void => {
  assert.ok(Math.abs(a - b) <= 100, `${what}: ${a} is not ${b}`);
};

test('record - random calls: one conversation, one outcome of each visit, and every action in the record', () => {
  fc.assert(
    fc.property(stories, fc.infiniteStream(fc.nat()), (story, chance) => {
      const facts = played(story);
      assert.equal(conversationsIn(facts.records), 1, 'a transfer never makes a second conversation');
      const record = build(facts.records)!;
      assertSound(record);
      assert.equal(record.complete, true);
      assert.deepEqual(
        record.visits.map((v) => v.outcome),
        facts.outcomes,
      );
      assert.deepEqual(
        record.transfers.map((t) => `${t.kind} ${t.outcome}`),
        facts.transfers,
      );
      near(record.hold_ms, facts.hold_ms, 'held');
      near(record.park_ms, facts.park_ms, 'parked');
      assert.equal(record.disposition === 'answered', facts.talked);
      assert.equal(record.direction, story.outside ? 'in' : 'internal');
      const mixed = [...facts.records, ...facts.records.filter(() => chance.next().value % 3 === 0)];
      mixed.sort(() => (chance.next().value % 3) - 1);
      assert.equal(JSON.stringify(build(mixed)), JSON.stringify(record), 'the same bytes in any order');
    }),
    { numRuns: 300 },
  );
});

test('record - random calls: a clock set during the call gives no negative time', () => {
  const jumps = fc.record({
    after_ms: fc.integer({ min: 0, max: 120_000 }),
    by_ms: fc.integer({ min: -7_200_000, max: 7_200_000 }),
  });
  fc.assert(
    fc.property(stories, jumps, (story, jump) => {
      assertSound(build(played(story, jump).records)!);
    }),
    { numRuns: 300 },
  );
});

test('record - random calls: cut off at any record, open or lost', () => {
  fc.assert(
    fc.property(stories, fc.nat(), (story, at) => {
      const { records } = played(story);
      const some = records.slice(0, 1 + (at % records.length));
      assertSound(build(some)!);
      const lost = build(some, true)!;
      assertSound(lost);
      assert.ok(lost.complete);
    }),
    { numRuns: 300 },
  );
});
