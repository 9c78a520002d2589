import type { ConversationRecord, RecordedParticipant, RecordedSegment } from './record.ts';
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import { weightiest } from '@offhook/contract/ring-ends.ts';

export const secondsOf = (ms: number): number => ms / 1000;
/** Durations of a conversation in seconds, as its summary and an export name them. */
export const timesOf = (record: ConversationRecord) => ({
  duration: secondsOf(record.ended - record.started),
  ring_time: secondsOf(record.ring_ms),
  wait_time: secondsOf(record.wait_ms),
  talk_time: secondsOf(record.talk_ms),
  hold_time: secondsOf(record.hold_ms),
  park_time: secondsOf(record.park_ms),
  billable: secondsOf(record.billable_ms),
});

/** A stretch of time; `to` is never before `from`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The same time without overlaps, in order. */
function union(spans: readonly Span[]): readonly Span[] {
  const merged: { from: number; to: number }[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from || a.to - b.to)) {
    const last = merged.at(-1);
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ ...span });
  }
  return merged;
}
export const lengthOf = (spans: readonly Span[]): number =>
  union(spans).reduce((sum, s) => sum + s.to - s.from, 0);

const within = (record: ConversationRecord, counts: (s: RecordedSegment) => boolean): number =>
  lengthOf(record.legs.flatMap((leg) => leg.segments.filter(counts)));

/** Milliseconds with at least two connected legs, neither held nor parked. */
export const talkClockMs = (record: ConversationRecord): number =>
  within(record, (s) => s.state === 'connected' && s.with.length > 0);
/** Milliseconds with at least two connected legs, held time included. */
export const spokenMs = (record: ConversationRecord): number =>
  within(record, (s) => (s.state === 'connected' || s.state === 'held') && s.with.length > 0);

/** The first called party who talked. */
export function answeredBy({ legs, caller }: ConversationRecord): RecordedParticipant | null {
  const talked = legs.flatMap((leg) => {
    const first = leg.segments.find((s) => s.state === 'connected' && s.with.length > 0);
    const began = leg.role === 'caller' || (caller !== null && leg.participant === caller);
    return first === undefined || began ? [] : [{ at: first.from, who: leg.participant }];
  });
  return talked.sort((a, b) => a.at - b.at)[0]?.who ?? null;
}
/** The external party; of two, the caller. */
export const customerOf = ({ parties }: ConversationRecord): RecordedParticipant | null =>
  parties.find((p) => p.extension === null) ?? null;
/** How the external party of an outgoing call took it, by its legs that are over or were answered. */
export const customerDispositionOf = ({ direction, legs }: ConversationRecord): LegDisposition | null => {
  if (direction !== 'out') return null;
  const called = legs.filter(
    (leg) =>
      leg.participant.extension === null &&
      (leg.disposition === 'answered' || (leg.ended_by !== null && leg.ended_by !== 'engine_lost')),
  );
  return weightiest(called.map((leg) => leg.disposition));
};
