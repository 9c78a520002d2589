import { setTimeout as wait } from 'node:timers/promises';

/** Limit of a wait in milliseconds. It ends hanging tests and is no measure of speed; `bench/` measures that. */
export const PATIENCE_MS = 60_000;

export interface UntilOptions {
  /** Limit in milliseconds; `PATIENCE_MS` by default. */
  readonly ms?: number;
  readonly every?: number;
  /** Last seen state, for the failure message. */
  readonly seen?: () => object;
}

/** Thrown by `look` when the awaited result can no longer come. */
export class GiveUp extends Error {}

/**
 * Ends of the waits in progress. A rejection that nobody handles fails the test at once, but not its body: that would wait for
 * what can no longer come, and keep the file alive after its site has ended. Not outside a test run, where Node ends the process.
 */
const waits = new Set<AbortController>();
if (process.env['NODE_TEST_CONTEXT'] !== undefined)
  process.on('unhandledRejection', (reason) => {
    for (const one of waits) one.abort(new GiveUp(`the test has failed: ${String(reason)}`));
  });

/** Waits until `look` returns a truthy value and returns it; the failure names the missing result and the last state. */
export async function until<T>(
  waitingFor: string,
  look: () => T | Promise<T>,
  { ms = PATIENCE_MS, every = 25, seen }: UntilOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const began = Date.now();
  const deadline = began + ms;
  const stop = new AbortController();
  waits.add(stop);
  let last: unknown;
  try {
    while (!stop.signal.aborted) {
      try {
        const value = await look();
        if (value) return value as Exclude<T, false | null | undefined>;
        last = value;
      } catch (error) {
        last = error instanceof Error ? error.message : error;
        if (error instanceof GiveUp) break;
      }
      if (Date.now() >= deadline) break;
      await wait(every, undefined, { signal: stop.signal }).catch(() => {});
    }
  } finally {
    waits.delete(stop);
  }
  if (stop.signal.aborted) throw stop.signal.reason;
  const shown = JSON.stringify(seen ? { last, ...(seen() as object) } : last) ?? 'nothing';
  const waited = Date.now() - began;
  throw new Error(`waited ${waited} ms for: ${waitingFor}; seen last: ${shown.slice(0, 2000)}`);
}
