import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Caller } from '../../ports/http.ts';
import type { Credentials } from '../../ports/stream.ts';

/** Limit of waiting requests of one person or key. */
const MAX_WAITING = 20;
const RETRY_SECONDS = 10;
/** Limit of persons whose last change is remembered; beyond it all are forgotten, which changes all versions once. */
const MAX_KNOWN = 10_000;

/** Versions of the lists of exports, for requests that wait for a change. */
export interface Changes {
  /** Version of this person's exports, or of all exports if null; each change makes a new text. */
  version(person: number | null): string;
  /** Call it once the change is stored, because waiting requests then read the exports. */
  changed(person: number): void;
  /**
   * Resolves when the version of `person` is not `seen` any more, after `ms`, or when `signal` is aborted.
   * Throws `too_many_requests`, and `not_authenticated` if the caller's session or key ends meanwhile.
   */
  wait(
    caller: Caller,
    person: number | null,
    seen: string,
    limits: { readonly ms: number; readonly signal: AbortSignal },
  ): Promise<void>;
  /** Resolves all waiting requests; later ones do not wait. */
  close(): void;
}
interface Waiting {
  readonly caller: Caller;
  readonly person: number | null;
  readonly end: AbortController;
}
export function createChanges(
  clock: Clock,
  credentials: Pick<Credentials, 'onSessionEnded' | 'onKeyEnded'>,
): Changes {
  // Makes versions of an earlier run of the service invalid.
  const run = randomBytes(6).toString('base64url');
  const last = new Map<number, number>();
  const waiting = new Set<Waiting>();
  let count = 0;
  let forgotten = 0;
  let closed = false;
  const version = (person: number | null): string =>
    `${run}.${person === null ? count : (last.get(person) ?? forgotten)}`;
  function refuse(isEnded: (caller: Caller) => boolean): void {
    for (const { caller, end } of waiting)
      if (isEnded(caller)) end.abort(new ServiceError('not_authenticated', 'the session ended'));
  }
  const stops = [
    credentials.onSessionEnded((id) => refuse(({ key, session_id }) => key === null && session_id === id)),
    credentials.onKeyEnded((id) => refuse(({ key }) => key?.id === id)),
  ];
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
    async wait(caller, person, seen, { ms, signal }) {
      if (closed || signal.aborted || version(person) !== seen) return;
      const own = [...waiting].filter((one) => one.caller.person_id === caller.person_id);
      if (own.length >= MAX_WAITING) {
        throw new ServiceError(
          'too_many_requests',
          say`${MAX_WAITING} of your requests wait for exports already`,
          { retry_after_seconds: RETRY_SECONDS },
        );
      }
      const one: Waiting = { caller, person, end: new AbortController() };
      waiting.add(one);
      try {
        await clock.sleep(ms, AbortSignal.any([one.end.signal, signal]));
      } catch (error) {
        if (error instanceof ServiceError) throw error;
      } finally {
        waiting.delete(one);
      }
    },
    close() {
      closed = true;
      for (const stop of stops) stop();
      for (const { end } of waiting) end.abort();
    },
  };
}
