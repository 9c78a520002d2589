import { randomBytes } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';

/** Requests of one person that wait at once; one more ends the oldest. */
const MAX_WAITING = 20;
/** Persons whose last change is remembered; who is forgotten is answered at once. */
const MAX_KNOWN = 10_000;

/** The versions of everybody's list of exports, for requests that wait for the next one. */
export interface Changes {
  /** Of the exports of this person, or of all where it is null; another text after each change. */
  version(person: number | null): string;
  /** To be called once the change can be read. */
  changed(person: number): void;
  /** Resolves when the version is not `seen` any more, after `ms`, or when `signal` is aborted. */
  wait(person: number | null, seen: string, ms: number, signal: AbortSignal): Promise<void>;
  /** Resolves all that wait; who comes later does not wait. */
  close(): void;
}
interface Waiting {
  readonly person: number | null;
  readonly end: AbortController;
}
export function createChanges(clock: Clock): Changes {
  // A version of another run of the service is never taken for one of this run.
  const run = randomBytes(6).toString('base64url');
  const last = new Map<number, number>();
  const waiting = new Set<Waiting>();
  let count = 0;
  let forgotten = 0;
  let closed = false;
  const version = (person: number | null): string =>
    `${run}.${person === null ? count : (last.get(person) ?? forgotten)}`;
  return {
    version,
    changed(person) {
      count += 1;
      last.delete(person);
      last.set(person, count);
      if (last.size > MAX_KNOWN) {
        forgotten = count;
        last.clear();
      }
      for (const one of waiting) if (one.person === null || one.person === person) one.end.abort();
    },
    async wait(person, seen, ms, signal) {
      if (closed || signal.aborted || version(person) !== seen) return;
      const own = [...waiting].filter((one) => one.person === person);
      if (own.length >= MAX_WAITING) own[0]!.end.abort();
      const one: Waiting = { person, end: new AbortController() };
      waiting.add(one);
      await clock.sleep(ms, AbortSignal.any([one.end.signal, signal])).catch(() => undefined);
      waiting.delete(one);
    },
    close() {
      closed = true;
      for (const { end } of waiting) end.abort();
    },
  };
}
