import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JournalRow, JournalStore } from '../../src/ports/journal-store.ts';

export const journalRow = (seq: number): JournalRow => ({
  seq,
  type: 'call.started',
  subject: `calls/${seq}`,
  at: 1_700_000_000_000 + seq,
  topics: `calls calls/mine/${seq}`,
  json: `{"seq":${seq}}`,
});
export const journalRows = (from: number, to: number): JournalRow[] =>
  Array.from({ length: to - from + 1 }, (_, i) => journalRow(from + i));

/** Requirements of every JournalStore. `open` gives an empty one. */
export function journalStoreConformance(adapter: string, open: () => JournalStore): void {
  const withJournal = (work: (journal: JournalStore) => void) => () => {
    const journal = open();
    try {
      work(journal);
    } finally {
      journal.close();
    }
  };
  describe(`journal store (${adapter})`, () => {
    it(
      'journal store - an empty log has head 0, tail 1 and an epoch without a colon',
      withJournal((j) => {
        assert.equal(j.head(), 0);
        assert.equal(j.tail(), 1);
        assert.match(j.epoch, /^[A-Za-z0-9_-]{8,}$/);
        assert.deepEqual(j.read(0, 10), []);
      }),
    );
    it(
      'journal store - rows come back in order, after a cursor and up to a limit',
      withJournal((j) => {
        j.append(journalRows(1, 3));
        j.append(journalRows(4, 10));
        assert.equal(j.head(), 10);
        assert.equal(j.tail(), 1);
        assert.deepEqual(plain(j.read(0, 100)), journalRows(1, 10));
        assert.deepEqual(plain(j.read(4, 3)), journalRows(5, 7));
        assert.deepEqual(j.read(10, 3), []);
      }),
    );
    it(
      'journal store - a hole or a repeat is refused and nothing of its group is kept',
      withJournal((j) => {
        j.append(journalRows(1, 2));
        assert.throws(() => j.append([journalRow(3), journalRow(5)]));
        assert.throws(() => j.append([journalRow(2)]));
        assert.equal(j.head(), 2);
        j.append(journalRows(3, 4));
        assert.deepEqual(plain(j.read(0, 100)), journalRows(1, 4));
      }),
    );
    it(
      'journal store - trimmed rows are gone, the numbering stays',
      withJournal((j) => {
        j.append(journalRows(1, 10));
        j.trim(6);
        assert.equal(j.tail(), 6);
        assert.deepEqual(plain(j.read(0, 2)), journalRows(6, 7));
        j.trim(3);
        assert.equal(j.tail(), 6);
        j.trim(1000);
        assert.equal(j.tail(), 11);
        assert.equal(j.head(), 10);
        j.append(journalRows(11, 12));
        assert.deepEqual(plain(j.read(0, 10)), journalRows(11, 12));
      }),
    );
    it(
      'journal store - rows take room, and trimmed ones give it back',
      withJournal((j) => {
        const empty = j.bytes();
        j.append(journalRows(1, 2000));
        const full = j.bytes();
        assert.ok(full - empty > 2000 * 30, `${full - empty} bytes for 2000 rows`);
        j.trim(1501);
        assert.ok(j.bytes() - empty < (full - empty) / 2);
      }),
    );
    it(
      'journal store - the newest checkpoint is kept',
      withJournal((j) => {
        assert.equal(j.checkpoint(), null);
        j.append(journalRows(1, 3));
        const save = (seq: number, ...pieces: string[]) => {
          const steps = j.saveCheckpoint(seq, pieces);
          while (steps.next().done !== true);
        };
        save(2, 'two');
        save(3, 'three ', '"quoted"');
        assert.deepEqual({ ...j.checkpoint() }, { seq: 3, text: 'three "quoted"' });
        // A save that does not end changes nothing, and the next one takes its place.
        const steps = j.saveCheckpoint(3, ['four', 'five']);
        assert.deepEqual(
          [steps.next(), steps.next()].map(({ value }) => value),
          [4, 4],
        );
        assert.deepEqual({ ...j.checkpoint() }, { seq: 3, text: 'three "quoted"' });
        save(3, 'six');
        assert.deepEqual({ ...j.checkpoint() }, { seq: 3, text: 'six' });
        save(3);
        assert.deepEqual({ ...j.checkpoint() }, { seq: 3, text: '' });
      }),
    );
  });
}
const plain = (rows: JournalRow[]): JournalRow[] => rows.map((row) => ({ ...row }));
