import type { Envelope, EventData, EventType } from '@offhook/contract/events.ts';

/** One committed event, told apart by `type`. A newer service may send types that are not in the union: pass over them. */
export type StreamEvent = {
  readonly [T in EventType]: Readonly<Omit<Envelope, 'type' | 'data'>> & {
    readonly type: T;
    readonly data: EventData<T>;
  };
}[EventType];
/** The state of a topic exactly as of `cursor`; only events after it follow. */
export interface SnapshotItem {
  readonly type: 'snapshot';
  readonly topic: string;
  readonly cursor: number;
  readonly data: unknown;
}
/** Events from `from` to `to` cannot be had any more; with `snapshot: true` the state follows. */
export interface GapItem {
  readonly type: 'gap';
  readonly from: number;
  readonly to: number;
  readonly reason: 'cursor_outdated' | 'epoch' | 'cursor_ahead';
}
export type StreamItem = StreamEvent | SnapshotItem | GapItem;

/** The place right after an event; kept with what was made of the event, nothing is missed and nothing done twice. */
export const cursorOf = ({ id, seq, check }: StreamEvent): StreamCursor => ({
  epoch: id.slice(0, id.lastIndexOf(':')),
  seq,
  ...(check === undefined ? {} : { check: `${seq}:${check}` }),
});
/** A place in the log: keep it whole, a `seq` means nothing in another epoch. */
export interface StreamCursor {
  readonly epoch: string;
  readonly seq: number;
  /** `<seq>:<check>` of the newest event before it: shows the service that its log is still the one that was read. */
  readonly check?: string;
}
