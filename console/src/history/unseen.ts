/** Which missed calls were not looked at in this browser. Pure. */
import type { HistoryCall } from '@offhook/contract/history.ts';

/** An older call is in the list, but nobody is told of it: also in a browser that is new to the person. */
const TOLD_MS = 7 * 86_400_000;
/** Keys that a browser keeps. */
const MOST = 200;
type Missed = Pick<HistoryCall, 'call_key' | 'started_at'>;

/** `now` in ms since 1970. */
export const isUnseen = (call: Missed, seen: ReadonlySet<string>, now: number): boolean =>
  !seen.has(call.call_key) && Date.parse(call.started_at) > now - TOLD_MS;
/** As it is kept: the newest first. */
export const withSeen = (seen: ReadonlySet<string>, calls: readonly Missed[]): readonly string[] =>
  [...new Set([...calls.map((call) => call.call_key), ...seen])].slice(0, MOST);
/** What is kept may be anything: another version, or somebody's hand. */
export function readSeen(text: string | null): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(text ?? '[]');
    return new Set(Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : []);
  } catch {
    return new Set();
  }
}
