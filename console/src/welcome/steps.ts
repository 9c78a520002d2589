/** State of the first steps: each tick is a fact reported by the service. */
import type { CallState, PresenceState, QueueState } from '@offhook/client';

export const STEPS = ['engine', 'people', 'own_phone', 'second_phone', 'call', 'wallboard'] as const;
export type Step = (typeof STEPS)[number];
export interface Facts {
  readonly me: string;
  readonly engineUp: boolean;
  readonly presence: ReadonlyMap<string, PresenceState>;
  readonly calls: Iterable<CallState>;
  readonly queues: Iterable<QueueState>;
  /** True if an internal call was ever answered. */
  readonly talkedBefore: boolean;
}
/** True if one of its phones is online. */
export const isThere = (presence: PresenceState | undefined): boolean => presence?.reachability === 'online';
const talks = ({ answered_at, extensions }: CallState): boolean =>
  answered_at !== null && extensions.length > 1;

export function doneSteps({
  me,
  engineUp,
  presence,
  calls,
  queues,
  talkedBefore,
}: Facts): Readonly<Record<Step, boolean>> {
  const others = [...presence.values()].filter(({ extension }) => extension !== me);
  return {
    engine: engineUp,
    people: others.length > 0,
    own_phone: isThere(presence.get(me)),
    second_phone: others.some(isThere),
    call: talkedBefore || [...calls].some(talks),
    wallboard: [...queues].some(({ callers, stats }) => callers.length > 0 || (stats?.sums.offered ?? 0) > 0),
  };
}
