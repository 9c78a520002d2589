import type { ConversationRecord } from './record.ts';

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
