/** Missed calls that were not seen in this browser. Pure. */
import type { HistoryCall } from '@offhook/contract/history.ts';

/** Older calls are listed without a notice, e.g. in a new browser. */
const PUBLISHED_MS = 7 * 86_400_000;
/** Limit of stored keys. */
const MOST = 200;
type Missed = Pick<HistoryCall, 'call_key' | 'started_at'>;

/** `now` in ms since 1970. */
export const isUnseen = (call: Missed, seen: ReadonlySet<string>, now: number): boolean =>
  !seen.has(call.call_key) && Date.parse(call.started_at) > now - PUBLISHED_MS;
/** Stored keys, the newest first. */
export const withSeen = (seen: ReadonlySet<string>, calls: readonly Missed[]): readonly string[] =>
  [...new Set([...calls.map((call) => call.call_key), ...seen])].slice(0, MOST);
/** The stored text may be invalid: from another version, or edited. */
export function readSeen(text: string | null): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(text ?? '[]');
    return new Set(Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : []);
  } catch {
    return new Set();
  }
}
