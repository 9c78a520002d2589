/** Invariants of every finished conversation. */
import assert from 'node:assert/strict';
import type { Conversation } from '@offhook/contract/conversations.ts';

type Leg = Conversation['legs'][number];
const ms = (moment: string): number => Date.parse(moment);
const inMs = (seconds: number): number => Math.round(seconds * 1000);
const total = (values: readonly number[]): number => values.reduce((sum, n) => sum + n, 0);
const SUMS = {
  ring_time: 'alerting',
  wait_time: 'queued',
  talk_time: 'connected',
  hold_time: 'held',
  park_time: 'parked',
} as const;

function checkLeg(leg: Leg, c: Conversation): void {
  const what = `leg ${leg.leg_id} of ${c.id}`;
  const ids = new Set(c.legs.map((l) => l.leg_id));
  assert.notEqual(leg.ended_by, null, `${what} has one end`);
  assert.ok(
    ms(leg.started_at) >= ms(c.started_at) && ms(leg.ended_at) <= ms(c.ended_at!),
    `${what} lies inside`,
  );
  assert.equal(inMs(leg.duration), ms(leg.ended_at) - ms(leg.started_at), `${what}: duration`);
  let at = leg.started_at;
  for (const segment of leg.segments) {
    assert.equal(segment.started_at, at, `${what}: segments follow each other`);
    assert.equal(inMs(segment.duration), ms(segment.ended_at) - ms(segment.started_at));
    assert.equal(segment.held_by !== null, segment.state === 'held', `${what}: held by whom`);
    assert.equal(segment.queue !== null, segment.state === 'queued', `${what}: queued where`);
    assert.equal(segment.service !== null, segment.state === 'service', `${what}: which service`);
    for (const id of segment.with) assert.ok(ids.has(id) && id !== leg.leg_id, `${what}: with ${id}`);
    at = segment.ended_at;
  }
  assert.equal(at, leg.ended_at, `${what}: segments reach its end`);
  for (const [sum, state] of Object.entries(SUMS)) {
    const parts = leg.segments.filter((s) => s.state === state).map((s) => inMs(s.duration));
    assert.equal(inMs(leg[sum as keyof typeof SUMS]), total(parts), `${what}: ${sum}`);
  }
}
/** Two legs that are connected name each other at any time. */
function checkMutual(c: Conversation): void {
  for (const leg of c.legs) {
    for (const segment of leg.segments) {
      const middle = (ms(segment.started_at) + ms(segment.ended_at)) / 2;
      for (const id of segment.with) {
        const other = c.legs.find((l) => l.leg_id === id)!;
        const there = other.segments.find((s) => ms(s.started_at) <= middle && middle < ms(s.ended_at));
        assert.ok(
          there?.with.includes(leg.leg_id),
          `${id} is with ${leg.leg_id} as ${leg.leg_id} is with it`,
        );
      }
    }
  }
}

/** Throws at the first violation. */
export function checkInvariants(c: Conversation): void {
  const ids = new Set<string | null>([null, ...c.legs.map((l) => l.leg_id)]);
  assert.equal(ids.size, c.legs.length + 1, 'each leg once');
  for (const leg of c.legs) checkLeg(leg, c);
  checkMutual(c);
  assert.equal(inMs(c.duration), ms(c.ended_at!) - ms(c.started_at));
  for (const sum of Object.keys(SUMS) as (keyof typeof SUMS)[]) {
    const parts = sum === 'wait_time' ? c.queue_visits.map((v) => v.wait_time) : c.legs.map((l) => l[sum]);
    assert.equal(inMs(c[sum]), total(parts.map(inMs)), `${sum} of ${c.id}`);
  }
  for (const visit of c.queue_visits) {
    assert.notEqual(visit.outcome, 'waiting', 'one outcome for each visit');
    assert.equal(visit.agent === null, visit.outcome !== 'answered');
    assert.equal(inMs(visit.wait_time), ms(visit.left_at) - ms(visit.joined_at));
    for (const id of [visit.leg_id, visit.agent_leg, ...visit.offers.map((o) => o.leg_id)])
      assert.ok(ids.has(id));
  }
  for (const t of c.transfers) {
    for (const id of [t.by, t.moved, t.to_leg]) assert.ok(ids.has(id), `a leg of a transfer: ${id}`);
    assert.notEqual(t.outcome, 'pending');
  }
  const moments = c.timeline.map((entry) => ms(entry.at));
  assert.ok(
    moments.length > 0 && moments.every((at, i) => i === 0 || at >= moments[i - 1]!),
    'a timeline in order',
  );
  assert.ok(c.timeline.every((entry) => ids.has(entry.leg_id)));
}
