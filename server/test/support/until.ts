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

/** Waits until `look` returns a truthy value and returns it; the failure names the missing result and the last state. */
export async function until<T>(
  waitingFor: string,
  look: () => T | Promise<T>,
  { ms = PATIENCE_MS, every = 25, seen }: UntilOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const began = Date.now();
  const deadline = began + ms;
  let last: unknown;
  for (;;) {
    try {
      const value = await look();
      if (value) return value as Exclude<T, false | null | undefined>;
      last = value;
    } catch (error) {
      last = error instanceof Error ? error.message : error;
      if (error instanceof GiveUp) break;
    }
    if (Date.now() >= deadline) break;
    await wait(every);
  }
  const shown = JSON.stringify(seen ? { last, ...(seen() as object) } : last) ?? 'nothing';
  const waited = Date.now() - began;
  throw new Error(`waited ${waited} ms for: ${waitingFor}; seen last: ${shown.slice(0, 2000)}`);
}
