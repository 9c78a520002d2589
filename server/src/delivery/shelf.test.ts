import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { openMemoryJournal } from '../adapters/memory/journal-store.ts';
import type { JournalRow } from '../ports/journal-store.ts';
import { createShelf } from './shelf.ts';

const namesOf = (row: JournalRow): readonly string[] => row.topics.split(' ');
const NAMES = ['a', 'b', 'a/1', 'a/2', '*'];

test('shelf - finds the same rows as a scan, while the journal grows and is trimmed', () => {
  const change = fc.oneof(
    fc.record({
      kind: fc.constant('grow' as const),
      rows: fc.array(fc.subarray(NAMES, { minLength: 1 }), { minLength: 150, maxLength: 400 }),
    }),
    fc.record({ kind: fc.constant('cut' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({
      kind: fc.constant('look' as const),
      names: fc.subarray(NAMES),
      from: fc.double({ min: 0, max: 1, noNaN: true }),
      to: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  );
  fc.assert(
    fc.property(fc.array(change, { minLength: 10, maxLength: 30 }), (changes) => {
      const store = openMemoryJournal();
      const journal = {
        get head() {
          return store.head();
        },
        read: (after: number, limit: number) => store.read(after, limit),
      };
      const shelf = createShelf(journal, namesOf);
      for (const one of changes) {
        const [head, tail] = [store.head(), store.tail()];
        if (one.kind === 'grow') {
          store.append(
            one.rows.map((names, i) => ({
              seq: head + 1 + i,
              type: 'x',
              subject: 's',
              at: 0,
              topics: names.join(' '),
              json: '{}',
            })),
          );
        } else if (one.kind === 'cut') store.trim(tail + Math.floor((head - tail) * one.share));
        else {
          const at = tail - 1 + Math.floor((head - tail + 1) * one.from);
          const to = at + Math.floor((head - at) * one.to);
          if (at >= to) continue;
          const found = shelf.heard(one.names, at, to);
          assert.ok(found.to > at && found.to <= to, `${at} < ${found.to} <= ${to}`);
          const all = store.read(at, found.to - at).filter((row) => row.seq <= found.to);
          assert.deepEqual(
            found.rows.map((row) => row.seq),
            all.filter((row) => namesOf(row).some((name) => one.names.includes(name))).map((row) => row.seq),
          );
        }
      }
    }),
    { numRuns: 40 },
  );
});

test('shelf - a page that was read before it was full is read again', () => {
  const store = openMemoryJournal();
  const journal = {
    get head() {
      return store.head();
    },
    read: (after: number, limit: number) => store.read(after, limit),
  };
  const shelf = createShelf(journal, namesOf);
  const grow = (to: number): void => {
    for (let seq = store.head() + 1; seq <= to; seq += 1) {
      store.append([{ seq, type: 'x', subject: 's', at: 0, topics: 'a', json: '{}' }]);
    }
  };
  grow(10);
  assert.equal(shelf.heard(['a'], 0, 10).rows.length, 10);
  grow(20);
  assert.deepEqual(
    shelf.heard(['a'], 10, 20).rows.map((row) => row.seq),
    [11, 12, 13, 14, 15, 16, 17, 18, 19, 20],
  );
});
