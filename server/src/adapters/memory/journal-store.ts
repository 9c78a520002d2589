import { randomBytes } from 'node:crypto';
import type { JournalRow, JournalStore } from '../../ports/journal-store.ts';

const sizeOf = (row: JournalRow): number => row.json.length + row.subject.length + row.topics.length + 32;
/** A journal that ends with the process: for tests and benches. */
export function openMemoryJournal(): JournalStore {
  let rows: JournalRow[] = [];
  let head = 0;
  let bytes = 0;
  let checkpoint: { seq: number; text: string } | null = null;
  return {
    epoch: randomBytes(9).toString('base64url'),
    head: () => head,
    tail: () => rows[0]?.seq ?? head + 1,
    append(added) {
      for (const [i, row] of added.entries()) {
        if (row.seq !== head + i + 1)
          throw new Error(`journal: seq ${row.seq} where ${head + i + 1} must follow`);
      }
      rows.push(...added);
      head += added.length;
      for (const row of added) bytes += sizeOf(row);
    },
    read(after, limit) {
      const first = Math.max(0, after + 1 - (rows[0]?.seq ?? 0));
      return rows.slice(first, first + limit);
    },
    trim(below) {
      rows = rows.filter((row) => row.seq >= below);
      bytes = rows.reduce((sum, row) => sum + sizeOf(row), 0);
    },
    bytes: () => bytes,
    saveCheckpoint(seq, text) {
      checkpoint = { seq, text };
    },
    checkpoint: () => checkpoint,
    close() {},
  };
}
