/** One clock for everything that ticks. */
import { useSyncExternalStore } from 'react';

/** Lead of the service's clock over this machine's, ms. Durations start at times of the service's clock. */
let ahead = 0;
/** Smaller differences are ignored, because the service reports whole seconds. */
const SAME_MS = 1_500;
export function learnTime(serverSeconds: number, askedAt: number, answeredAt: number): void {
  const difference = serverSeconds * 1000 + 500 - (askedAt + answeredAt) / 2;
  ahead = Math.abs(difference) < SAME_MS ? 0 : difference;
}
/** Milliseconds since 1970 by the service's clock. */
export const serverNow = (): number => Date.now() + ahead;

/** Called when this machine's clock was set or the machine slept, because the difference must be measured again. */
const jumps = new Set<() => void>();
export function onJump(listener: () => void): () => void {
  jumps.add(listener);
  return () => jumps.delete(listener);
}
const apart = (): number => Date.now() - performance.now();
let steady = apart();

let second = Math.floor(Date.now() / 1000);
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
function tick(): void {
  const jumped = Math.abs(apart() - steady) > SAME_MS;
  steady = apart();
  if (jumped) for (const listener of jumps) listener();
  timer = setTimeout(tick, 1000 - (serverNow() % 1000) + 5);
  second = Math.floor(serverNow() / 1000);
  for (const listener of listeners) listener();
}
/** Called each second of the service's clock. */
export function onSecond(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) tick();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  };
}
/** The service's time in whole seconds since 1970; renders the component every second. */
export const useSecond = (): number => useSyncExternalStore(onSecond, () => second);
/** Start of the reader's day by the service's clock, ms since 1970. */
export const startOfDay = (): number => new Date(serverNow()).setHours(0, 0, 0, 0);
/** Start of the reader's day; renders the component when a day begins. */
export const useDay = (): number => useSyncExternalStore(onSecond, startOfDay);
/** Seconds since `time`, updated every second; null without a time. */
export function useSince(time: string | null | undefined): number | null {
  const now = useSecond();
  return time === null || time === undefined ? null : Math.max(0, now - Math.floor(Date.parse(time) / 1000));
}
