import type { Clock } from '../../ports/clock.ts';

/** A conversation that goes on is told anew once a second, and less often where it has many records to be read for it. */
const LEAST_MS = 1_000;
const PER_RECORD_MS = 10;
const MOST_MS = 60_000;

/** When each conversation that goes on may be told again; forgotten with the process, which then tells all of them once. */
export function createPace(clock: Clock) {
  const open = new Map<string, { next: number; due: boolean }>();
  const isReady = (next: number): boolean => {
    const wait = next - clock.now();
    // A clock that was set back must not keep it waiting.
    return wait <= 0 || wait > MOST_MS;
  };
  return {
    /** Whether one with news may be told now; else it is due as soon as it may. */
    isReady(root: string): boolean {
      const known = open.get(root);
      if (known === undefined || isReady(known.next)) return true;
      known.due = true;
      return false;
    },
    /** Has news that was not told. */
    postpone(root: string): void {
      open.set(root, { next: open.get(root)?.next ?? 0, due: true });
    },
    due: (): readonly string[] =>
      [...open].filter(([, { next, due }]) => due && isReady(next)).map(([root]) => root),
    told(root: string, records: number): void {
      const pause = Math.min(MOST_MS, Math.max(LEAST_MS, records * PER_RECORD_MS));
      open.set(root, { next: clock.now() + pause, due: false });
    },
    over: (root: string): void => void open.delete(root),
  };
}
