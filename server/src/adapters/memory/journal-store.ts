import { ServiceError } from '../../core/errors.ts';
import { isForeign, openEpoch } from '../../core/epoch.ts';
import type { Seal } from '../../core/epoch.ts';
import { checkOf, firstCheck, newestDamaged } from '../../core/row-check.ts';
import type { JournalRow, JournalStore } from '../../ports/journal-store.ts';

interface MemoryLog {
  epoch: string | null;
  id: string;
  began: number;
  rows: JournalRow[];
  trimmed: { seq: number; check: string };
  checkpoint: { seq: number; text: string } | null;
}
/** Storage that survives closing a journal in memory, as a file would: for tests of every journal's behaviour. */
export interface MemoryPlace {
  log: MemoryLog;
  seal: Seal | null;
}
let logs = 0;
const emptyLog = (): MemoryLog => ({
  epoch: null,
  id: `memory-${(logs += 1)}`,
  began: 1,
  rows: [],
  trimmed: { seq: 0, check: '' },
  checkpoint: null,
});
export const memoryPlace = (): MemoryPlace => ({ log: emptyLog(), seal: null });

const sizeOf = (row: JournalRow): number => row.json.length + row.subject.length + row.topics.length + 32;
/** A journal that ends with the process: for tests and benches. */
export function openMemoryJournal(place: MemoryPlace = memoryPlace()): JournalStore {
  if (isForeign(place.log, place.seal)) place.log = emptyLog();
  const { log } = place;
  const newest = log.rows.at(-1);
  const checkAt = (seq: number): string | null => {
    const row = log.rows.find((one) => one.seq === seq);
    if (row !== undefined) return checkOf(row.json);
    return seq === log.trimmed.seq ? log.trimmed.check : null;
  };
  const opened = openEpoch(
    {
      ...log,
      head: Math.max(newest?.seq ?? 0, log.trimmed.seq, log.began - 1),
      checkAt,
      newestAt: newest?.at ?? 0,
      doubt: null,
    },
    place.seal,
    Date.now(),
  );
  const { epoch, began } = opened;
  let head = opened.head;
  let check = (head < began ? '' : checkAt(head)) || firstCheck(epoch);
  let bytes = log.rows.reduce((sum, row) => sum + sizeOf(row), 0);
  const seal = (): void => {
    place.seal = { id: log.id, epoch, head, check, at: Date.now(), exact: true };
  };
  const trim = (below: number): void => {
    const last = Math.min(below - 1, head);
    log.trimmed = { seq: last, check: checkAt(last) ?? '' };
    log.rows = log.rows.filter((row) => row.seq >= below);
    bytes = log.rows.reduce((sum, row) => sum + sizeOf(row), 0);
  };
  Object.assign(log, { epoch, began });
  seal();
  return {
    epoch,
    began,
    head: () => head,
    tail: () => log.rows[0]?.seq ?? head + 1,
    check: () => check,
    append(added) {
      for (const [i, row] of added.entries()) {
        if (row.seq !== head + i + 1)
          throw new Error(`journal: seq ${row.seq} where ${head + i + 1} must follow`);
      }
      log.rows.push(...added);
      head += added.length;
      check = checkOf(added.at(-1)?.json ?? '') || check;
      for (const row of added) bytes += sizeOf(row);
      seal();
    },
    read(after, limit) {
      // Rows of an epoch are consecutive; a new epoch left out the seqs before it.
      let first = Math.max(0, log.rows.length - (head - after));
      while (first > 0 && (log.rows[first - 1]?.seq ?? 0) > after) first -= 1;
      while ((log.rows[first]?.seq ?? Infinity) <= after) first += 1;
      const rows = log.rows.slice(first, first + limit);
      const from = Math.max(after, (rows[0]?.seq ?? 0) - 1);
      const bad =
        rows.length === 0 ? null : newestDamaged(rows, from, { epoch, began, checkAt: quick(first) });
      if (bad === null) return rows;
      trim(bad + 1);
      throw new ServiceError('store_unavailable', `journal: row ${bad} is damaged and was discarded`);
    },
    trim(below) {
      if (below > (log.rows[0]?.seq ?? head + 1)) trim(below);
    },
    bytes: () => bytes,
    *saveCheckpoint(seq, pieces) {
      let text = '';
      for (const piece of pieces) {
        text += piece;
        yield piece.length;
      }
      log.checkpoint = { seq, text };
    },
    checkpoint: () => log.checkpoint,
    close() {},
  };
  /** Check of the row before `first`, without reading all rows. */
  function quick(first: number): (seq: number) => string | null {
    return (seq) => {
      const row = log.rows[first - 1];
      if (row?.seq === seq) return checkOf(row.json);
      return seq === log.trimmed.seq ? log.trimmed.check : null;
    };
  }
}
