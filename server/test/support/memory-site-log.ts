import { checkOf, firstCheck } from '../../src/core/row-check.ts';
import type { JournalRow } from '../../src/ports/journal-store.ts';
import type { LogHolder, LogState, SiteLog } from '../../src/ports/site-log.ts';

/** Content of a log in memory; several writers may share one, as processes share a database. */
export interface SharedLog {
  state: LogState | null;
  rows: JournalRow[];
  holder: LogHolder | null;
  /** End of the holder's time, in ms of `now`. */
  until: number;
}
export const sharedLog = (): SharedLog => ({ state: null, rows: [], holder: null, until: 0 });

/** A log that ends with the process. */
export function openMemorySiteLog(shared = sharedLog(), now = (): number => performance.now()): SiteLog {
  const ours = (term: number): LogState | null => (shared.state?.term === term ? shared.state : null);
  return {
    state: async () => shared.state,
    async begin(start) {
      if (shared.state !== null) return false;
      shared.state = { ...start, tail: start.head + 1, term: 0 };
      return true;
    },
    async take(holder, seconds) {
      if (shared.state === null) throw new Error('take() before begin()');
      const { holder: by, until } = shared;
      if (by !== null && by.id !== holder.id && until >= now())
        return { taken: false, by, seconds: (until - now()) / 1000 };
      shared.state = { ...shared.state, term: shared.state.term + 1 };
      Object.assign(shared, { holder, until: now() + seconds * 1000 });
      return { taken: true, state: shared.state };
    },
    async renew(term, seconds) {
      if (ours(term) === null) return false;
      shared.until = now() + seconds * 1000;
      return true;
    },
    async pass(term, to, seconds) {
      if (ours(term) === null) return false;
      Object.assign(
        shared,
        to === null ? { until: now() - 1 } : { holder: to, until: now() + seconds * 1000 },
      );
      return true;
    },
    async append(term, after, rows) {
      const state = ours(term);
      if (state === null) return 'deposed';
      if (state.head < after) return 'behind';
      const there = Math.min(state.head - after, rows.length);
      const last = rows[there - 1];
      const kept = shared.rows.find((row) => row.seq === last?.seq)?.json ?? '';
      if (last !== undefined && checkOf(kept) !== checkOf(last.json)) return 'other';
      const added = rows.slice(there);
      shared.rows.push(...added);
      shared.state = {
        ...state,
        head: state.head + added.length,
        check: checkOf(added.at(-1)?.json ?? '') || state.check,
      };
      return 'appended';
    },
    async read(after, limit) {
      return shared.rows.filter((row) => row.seq > after).slice(0, limit);
    },
    async trim(term, below) {
      const state = ours(term);
      if (state === null) return;
      const tail = Math.max(state.tail, Math.min(below, state.head + 1));
      shared.state = { ...state, tail };
      shared.rows = shared.rows.filter((row) => row.seq >= tail);
    },
    async restart(term, { epoch, began }) {
      const state = ours(term);
      if (state === null || state.head >= began) return false;
      shared.state = { ...state, epoch, began, head: began - 1, check: firstCheck(epoch) };
      return true;
    },
    close: async () => {},
  };
}
