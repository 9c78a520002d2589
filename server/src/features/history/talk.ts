/** How long people talked in a conversation, by the clock: two who talk to each other for a minute talked for one minute. */
import type { ConversationRecord, RecordedSegment } from './record.ts';
import { lengthOf } from './record/spans.ts';

const within = (record: ConversationRecord, counts: (s: RecordedSegment) => boolean): number =>
  lengthOf(record.legs.flatMap((leg) => leg.segments.filter(counts)));

/** Milliseconds in which at least two were connected, neither held nor parked. */
export const talkClockMs = (record: ConversationRecord): number =>
  within(record, (s) => s.state === 'connected' && s.with.length > 0);
/** Milliseconds in which somebody was with somebody, held time included. */
export const spokenMs = (record: ConversationRecord): number =>
  within(record, (s) => (s.state === 'connected' || s.state === 'held') && s.with.length > 0);
