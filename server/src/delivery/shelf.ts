import type { JournalRow } from '../ports/journal-store.ts';

/** Rows of one section of the journal, by the names that receive them. */
interface Page {
  readonly to: number;
  readonly byName: ReadonlyMap<string, readonly JournalRow[]>;
}
/** Index by which readers that are behind find their rows without scanning the others. */
export interface Shelf {
  /**
   * Rows with `at` < seq <= `to` that one of `names` receives, in order, and the seq of the last row searched: after
   * `at`, at most `to`.
   */
  heard(
    names: Iterable<string>,
    at: number,
    to: number,
  ): { readonly rows: JournalRow[]; readonly to: number };
  clear(): void;
}
const PAGE = 500;
const MAX_PAGES = 24;

/**
 * Pages at the positions of readers. Each is read and indexed once for all of them: ten thousand returning readers look
 * up a few names each instead of scanning every row. `namesOf` returns the names of a row.
 */
export function createShelf(
  journal: { readonly head: number; read(after: number, limit: number): readonly JournalRow[] },
  namesOf: (row: JournalRow) => readonly string[],
): Shelf {
  const pages = new Map<number, Page>();

  function pageAfter(start: number): Page {
    const known = pages.get(start);
    if (known !== undefined && known.to >= Math.min(journal.head, start + PAGE)) return known;
    const byName = new Map<string, JournalRow[]>();
    let to = start;
    for (const row of journal.read(start, PAGE)) {
      to = row.seq;
      for (const name of namesOf(row)) {
        const list = byName.get(name);
        if (list === undefined) byName.set(name, [row]);
        else list.push(row);
      }
    }
    const page = { to, byName };
    pages.delete(start);
    const [oldest] = pages.size >= MAX_PAGES ? pages.keys() : [];
    if (oldest !== undefined) pages.delete(oldest);
    pages.set(start, page);
    return page;
  }
  return {
    heard(names, at, to) {
      const page = pageAfter(at - (at % PAGE));
      const end = Math.min(page.to, to);
      const rows: JournalRow[] = [];
      let lists = 0;
      for (const name of names) {
        const list = page.byName.get(name);
        if (list === undefined) continue;
        lists += 1;
        for (const row of list) if (row.seq > at && row.seq <= end) rows.push(row);
      }
      if (lists > 1) rows.sort((a, b) => a.seq - b.seq);
      // A row with two of the names occurs twice, side by side.
      return { rows: lists > 1 ? rows.filter((row, i) => row !== rows[i - 1]) : rows, to: end };
    },
    clear: () => pages.clear(),
  };
}
