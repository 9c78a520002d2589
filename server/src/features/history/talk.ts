/** Talk time of a conversation by the clock: two people who talk for a minute talked for one minute. */
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import { weightiest } from '@offhook/contract/ring-ends.ts';
import type { ConversationRecord, RecordedParticipant, RecordedSegment } from './record.ts';
import { lengthOf } from './record/spans.ts';

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
