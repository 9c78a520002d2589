/** End of an unanswered ring at a device, with the same meaning in the stream, the history and every client. */
import type { LegDisposition } from './conversations.ts';

export type RingEnd = Exclude<LegDisposition, 'answered' | 'blocked'>;

/** Ends of rings, heaviest first: of several rings the heaviest represents all. */
const WEIGHT: readonly LegDisposition[] = [
  'answered',
  'cancelled_by_caller',
  'answered_elsewhere',
  'no_answer',
  'diverted',
  'busy',
  'rejected',
  'congestion',
  'unreachable',
  'failed',
  'blocked',
];
export const weightiest = (all: readonly (LegDisposition | null)[]): LegDisposition | null => {
  const there = new Set(all);
  return WEIGHT.find((word) => there.has(word)) ?? null;
};

/** Q.850 causes with which a device ended the ring by itself. */
const BY_CAUSE: Readonly<Partial<Record<RingEnd, readonly number[]>>> = {
  busy: [17],
  rejected: [21],
  answered_elsewhere: [26],
  congestion: [34, 38, 41, 42, 43, 44, 58],
  unreachable: [3, 18, 20, 27, 102],
  failed: [1, 2, 22, 25, 28, 29, 50, 57, 65, 88, 111],
};
const OF_CAUSE = new Map(
  Object.entries(BY_CAUSE).flatMap(([end, causes]) =>
    causes.map((cause) => [cause, end as RingEnd] as const),
  ),
);
export const ringEndOfCause = (cause: number | null): RingEnd => OF_CAUSE.get(cause ?? 0) ?? 'no_answer';

export interface RingFacts {
  /** Another device picked up this ring. */
  readonly picked_up: boolean;
  /** The device forwarded the call to another number. */
  readonly diverted: boolean;
  /** The device ended the ring by itself: declined, busy, or with a fault. */
  readonly itself: boolean;
  readonly cause: number | null;
  /** Another device of the same ring answered. */
  readonly answered: boolean;
  /** The caller hung up, left its queue by a key or was taken out of it. */
  readonly gave_up: boolean;
}
/** The first true condition decides; without one, the ring time was over. */
export function ringEndOf(facts: RingFacts): RingEnd {
  if (facts.picked_up) return 'answered_elsewhere';
  if (facts.diverted) return 'diverted';
  if (facts.itself) return ringEndOfCause(facts.cause);
  if (facts.answered) return 'answered_elsewhere';
  return facts.gave_up ? 'cancelled_by_caller' : 'no_answer';
}
/** The same end as a `reason` of `call.left`. */
export const LEFT_REASON = {
  no_answer: 'no_answer',
  busy: 'busy',
  rejected: 'rejected',
  cancelled_by_caller: 'canceled',
  answered_elsewhere: 'answered_elsewhere',
  failed: 'failed',
  congestion: 'congestion',
  unreachable: 'unreachable',
  diverted: 'diverted',
} as const satisfies Readonly<Record<RingEnd, string>>;
const OF_REASON = new Map<string, LegDisposition>([
  ...Object.entries(LEFT_REASON).map(([end, reason]) => [reason, end as RingEnd] as const),
  ['hangup', 'answered'],
  ['transferred', 'answered'],
]);
/** Disposition of a called leg from the `reason` of its `call.left`; null if the engine lost it. */
export const dispositionOfReason = (reason: string): LegDisposition | null => OF_REASON.get(reason) ?? null;
