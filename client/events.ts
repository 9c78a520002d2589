import type { Envelope, EventData, EventType } from '@offhook/contract/events.ts';

/** One committed event, distinguished by `type`. A newer service may send types that are not in the union: ignore them. */
export type StreamEvent = {
  readonly [T in EventType]: Readonly<Omit<Envelope, 'type' | 'data'>> & {
    readonly type: T;
    readonly data: EventData<T>;
  };
}[EventType];
/** The state of a topic exactly as of `cursor`; only later events follow. */
export interface SnapshotItem {
  readonly type: 'snapshot';
  readonly topic: string;
  readonly cursor: number;
  readonly data: unknown;
}
/** Events from `from` to `to` are no longer available; with `snapshot: true` the state follows. */
export interface GapItem {
  readonly type: 'gap';
  readonly from: number;
  readonly to: number;
  readonly reason: 'cursor_outdated' | 'epoch' | 'cursor_ahead';
}
export type StreamItem = StreamEvent | SnapshotItem | GapItem;

/**
 * Position right after an event: stored together with the event's result, it lets no event be missed or processed
 * twice.
 */
export const cursorOf = ({ id, seq, check }: StreamEvent): StreamCursor => ({
  epoch: id.slice(0, id.lastIndexOf(':')),
  seq,
  ...(check === undefined ? {} : { check: `${seq}:${check}` }),
});
/** A position in the journal: store it whole, because a `seq` is meaningless in another epoch. */
export interface StreamCursor {
  readonly epoch: string;
  readonly seq: number;
  /** `<seq>:<check>` of the newest event before it: proves that the journal is still the one that was read. */
  readonly check?: string;
  /** Rights to the topics with which the state was received: if they differ, `snapshot: true` requests the state again. */
  readonly access?: string;
}
