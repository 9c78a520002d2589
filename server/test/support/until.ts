import { setTimeout as wait } from 'node:timers/promises';

export interface UntilOptions {
  /** How long to wait at most; 10 s when not given. */
  readonly ms?: number;
  readonly every?: number;
  /** Said in the failure: what was seen last. */
  readonly seen?: () => unknown;
}

/** Waits until `look` returns something true and gives it back; the failure says what was missing and what was seen last. */
export async function until<T>(
  waitingFor: string,
  look: () => T | Promise<T>,
  { ms = 10_000, every = 25, seen }: UntilOptions = {},
): Promise<NonNullable<T>> {
  const deadline = Date.now() + ms;
  let last: unknown;
  for (;;) {
    try {
      const value = await look();
      if (value) return value;
      last = value;
    } catch (error) {
      last = error instanceof Error ? error.message : error;
    }
    if (Date.now() >= deadline) break;
    await wait(every);
  }
  const shown = JSON.stringify(seen ? seen() : last) ?? 'nothing';
  throw new Error(`waited ${ms} ms for: ${waitingFor}; seen last: ${shown.slice(0, 2000)}`);
}
