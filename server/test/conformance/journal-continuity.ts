import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firstCheck, withCheck, checkOf } from '../../src/core/row-check.ts';
import type { JournalRow, JournalStore } from '../../src/ports/journal-store.ts';

/** The storage of a journal, and the harm it can suffer while closed. */
export interface JournalPlace {
  open(): JournalStore;
  /** Simulates a crash of the process that has the journal open. */
  kill(open: JournalStore): void;
  /** Removes the newest `count` rows, as a truncated write-ahead log does. */
  cut(count: number): void;
  /** Flips a byte in the content of a row. */
  flip(seq: number): void;
  /** A copy of the log without its neighbouring files, e.g. by the database's own backup. */
  copyLog(): unknown;
  restoreLog(copy: unknown): void;
  /** A copy of the whole data folder. */
  copyAll(): unknown;
  restoreAll(copy: unknown): Promise<void>;
  /** A second place that starts as a copy of this one. */
  clone(): Promise<JournalPlace>;
}

/** The next rows of the journal; `word` distinguishes two histories. */
export function nextRows(journal: JournalStore, count: number, word = 'one'): JournalRow[] {
  let before = journal.check();
  return Array.from({ length: count }, (_, i) => {
    const seq = journal.head() + 1 + i;
    const row = {
      seq,
      type: 'call.started',
      subject: `calls/${seq}`,
      at: 1_700_000_000_000 + seq,
      topics: 'calls',
      json: `{"id":"${journal.epoch}:${seq}","seq":${seq},"word":"${word}"}`,
    };
    const json = withCheck(row, before);
    before = checkOf(json);
    return { ...row, json };
  });
}

/** A journal keeps its epoch only while it still contains every row that was read. */
export function journalContinuityConformance(adapter: string, create: () => JournalPlace): void {
  /** Checks that every seq of an epoch always shows the same event. */
  function reader() {
    const shown = new Map<string, string>();
    return (journal: JournalStore): void => {
      for (const row of journal.read(journal.began - 1, 1_000_000)) {
        const id = `${journal.epoch}:${row.seq}`;
        const known = shown.get(id);
        assert.ok(known === undefined || known === row.json, `${id} is another event than it was`);
        shown.set(id, row.json);
      }
    };
  }
  function appended(journal: JournalStore, count: number, word?: string): void {
    journal.append(nextRows(journal, count, word));
  }
  /** A place whose journal was closed with rows 1 to 10, all of them read. */
  function begun() {
    const place = create();
    const read = reader();
    const first = place.open();
    appended(first, 10);
    read(first);
    first.close();
    return { place, read, first };
  }
  /** The journal as it opens after `harm`, with the epoch and head before. */
  async function afterwards(
    harm: (place: JournalPlace, read: (journal: JournalStore) => void) => void | Promise<void>,
  ): Promise<{ readonly before: string; readonly head: number; readonly journal: JournalStore }> {
    const { place, read, first } = begun();
    let head = 10;
    await harm(place, (journal) => {
      read(journal);
      head = Math.max(head, journal.head());
    });
    const journal = place.open();
    read(journal);
    appended(journal, 5, 'after');
    read(journal);
    return { before: first.epoch, head, journal };
  }
  const run = async (place: JournalPlace, count: number, word?: string): Promise<JournalStore> => {
    const journal = place.open();
    appended(journal, count, word);
    journal.close();
    return journal;
  };

  describe(`journal continuity (${adapter})`, () => {
    it('journal continuity - a restart and a kill keep the epoch and every number', async () => {
      const { place, read, first } = begun();
      const second = place.open();
      assert.deepEqual([second.epoch, second.began, second.head()], [first.epoch, 1, 10]);
      appended(second, 5);
      read(second);
      place.kill(second);
      const third = place.open();
      assert.deepEqual([third.epoch, third.began, third.head()], [first.epoch, 1, 15]);
      assert.equal(third.check(), second.check());
      appended(third, 1);
      read(third);
      third.trim(17);
      third.close();
      const fourth = place.open();
      assert.deepEqual([fourth.epoch, fourth.head(), fourth.tail()], [first.epoch, 16, 17]);
      appended(fourth, 1);
      read(fourth);
      fourth.close();
    });
    it('journal continuity - a copied log is the same as long as nothing was given out after it', async () => {
      const place = create();
      const journal = await run(place, 10);
      const copy = place.copyLog();
      const other = place.open();
      other.close();
      place.restoreLog(copy);
      const again = place.open();
      assert.equal(again.head(), 10);
      assert.equal(again.read(0, 100).length, 10);
      assert.ok(again.epoch === journal.epoch || again.began > 10);
      again.close();
    });

    const HARM: Readonly<Record<string, Parameters<typeof afterwards>[0]>> = {
      'its newest row is cut off': (place) => place.cut(1),
      'its tail is cut off': (place) => place.cut(4),
      'all its rows are cut off': (place) => place.cut(10),
      'its tail is cut off after a kill': async (place, read) => {
        const journal = place.open();
        appended(journal, 3);
        read(journal);
        place.kill(journal);
        place.cut(1);
      },
      'an older copy of the log is put back': async (place) => {
        const copy = place.copyLog();
        await run(place, 7);
        place.restoreLog(copy);
      },
      'an older copy is put back and its rows come again to the same number': async (place, read) => {
        const copy = place.copyLog();
        await run(place, 7);
        place.restoreLog(copy);
        const journal = place.open();
        appended(journal, 7, 'another');
        read(journal);
        journal.close();
        place.restoreLog(copy);
      },
      'a newer copy is put back over an older one': async (place, read) => {
        const older = place.copyLog();
        await run(place, 7);
        const newer = place.copyLog();
        place.restoreLog(older);
        const journal = place.open();
        appended(journal, 30, 'another');
        read(journal);
        journal.close();
        place.restoreLog(newer);
      },
      'an older copy of everything is put back': async (place) => {
        const copy = place.copyAll();
        await run(place, 7);
        await place.restoreAll(copy);
      },
      'an older copy of everything is put back after a kill': async (place, read) => {
        const journal = place.open();
        appended(journal, 2);
        place.kill(journal);
        const copy = place.copyAll();
        const again = place.open();
        appended(again, 4);
        read(again);
        place.kill(again);
        await place.restoreAll(copy);
      },
      'the log of another site lies in its place': async (place) => {
        const other = create();
        await run(other, 40, 'foreign');
        place.restoreLog(other.copyLog());
      },
    };
    for (const [what, harm] of Object.entries(HARM)) {
      it(`journal continuity - ${what}: a new epoch, and no number a second time`, async () => {
        const { before, head, journal } = await afterwards(harm);
        assert.notEqual(journal.epoch, before);
        assert.ok(journal.began > head, `began at ${journal.began}, ${head} was given out`);
        assert.doesNotMatch(JSON.stringify(journal.read(0, 1_000)), /foreign/);
        journal.close();
      });
    }
    it('journal continuity - a copied place that runs beside the first has another epoch; the first keeps its own', async () => {
      const place = create();
      const first = await run(place, 10);
      const clone = await place.clone();
      const [a, b] = [place.open(), clone.open()];
      assert.equal(a.epoch, first.epoch);
      assert.notEqual(b.epoch, first.epoch);
      assert.ok(b.began > 10);
      assert.equal(b.read(0, 100).length, 10, 'what was copied is there for whoever reads by number');
      a.close();
      b.close();
    });
    it('journal continuity - two sites whose logs were exchanged have new epochs and nothing of each other', async () => {
      const [one, two] = [create(), create()];
      const [a, b] = [await run(one, 10, 'mine'), await run(two, 12, 'yours')];
      const [copyOfOne, copyOfTwo] = [one.copyLog(), two.copyLog()];
      one.restoreLog(copyOfTwo);
      two.restoreLog(copyOfOne);
      const [c, d] = [one.open(), two.open()];
      assert.equal(new Set([a.epoch, b.epoch, c.epoch, d.epoch]).size, 4);
      assert.deepEqual([c.head(), d.head()], [11, 13]);
      assert.deepEqual([c.read(0, 100), d.read(0, 100)], [[], []]);
      c.close();
      d.close();
    });
    for (const seq of [1, 4, 10]) {
      it(`journal continuity - row ${seq} is damaged: it and all before it are given up, never shown as another event`, async () => {
        const place = create();
        const first = await run(place, 10);
        place.flip(seq);
        const journal = place.open();
        const rows = (): readonly JournalRow[] => {
          try {
            return journal.read(journal.tail() - 1, 100);
          } catch {
            return journal.read(journal.tail() - 1, 100);
          }
        };
        assert.deepEqual(
          rows().map((row) => row.seq),
          Array.from({ length: 10 - seq }, (_, i) => seq + 1 + i),
        );
        assert.equal(journal.tail(), seq + 1);
        assert.equal(journal.epoch, first.epoch, 'nothing is given out again');
        appended(journal, 2);
        assert.equal(journal.read(10, 10).length, 2);
        journal.close();
      });
    }
    it('journal continuity - the checks of two histories differ from where they part', () => {
      const [one, two] = [create().open(), create().open()];
      assert.equal(one.check(), firstCheck(one.epoch));
      const rows = nextRows(one, 3);
      one.append(rows);
      assert.equal(one.check(), checkOf(rows[2]!.json));
      const other = nextRows(two, 3, 'two');
      assert.notEqual(checkOf(other[2]!.json), one.check());
      one.close();
      two.close();
    });
  });
}
