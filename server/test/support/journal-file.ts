import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteJournal } from '../../src/adapters/sqlite/journal.ts';
import type { JournalPlace } from '../conformance/journal-continuity.ts';
import { until } from './until.ts';

type Copy = ReadonlyMap<string, Buffer>;
const LOG = ['journal.db', 'journal.db-wal', 'journal.db-shm'];

/** A journal in its own folder with file faults: restored copies, cut rows, flipped bytes. */
export function journalFolder(folder: string): JournalPlace {
  const file = path.join(folder, 'journal.db');
  const sql = (work: (db: DatabaseSync) => void): void => {
    const db = new DatabaseSync(file);
    work(db);
    db.close();
  };
  const copyOf = (names: readonly string[]): Copy =>
    new Map(
      names
        .map((name) => path.join(folder, name))
        .filter((name) => fs.existsSync(name))
        .map((name) => [path.basename(name), fs.readFileSync(name)]),
    );
  /** Overwrites existing files, as `cp` and `rsync --inplace` do, which keeps every inode. */
  const putBack = (copy: Copy, names: readonly string[], to = folder): void => {
    fs.mkdirSync(to, { recursive: true });
    for (const name of names) {
      const bytes = copy.get(name);
      if (bytes === undefined) fs.rmSync(path.join(to, name), { force: true });
      else fs.writeFileSync(path.join(to, name), bytes);
    }
  };
  return {
    open: () => openSqliteJournal(file),
    kill(journal) {
      journal.close();
      // A crashed process leaves the journal open since this boot.
      const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
      sql((db) => db.prepare("insert into meta (key, value) values ('open_on', ?)").run(boot));
    },
    cut: (count) =>
      sql((db) =>
        db.prepare('delete from journal where seq > (select max(seq) - ? from journal)').run(count),
      ),
    flip(seq) {
      // Flips the byte in the page; the database does not detect it.
      const bytes = fs.readFileSync(file);
      const at = bytes.indexOf(`"seq":${seq},"word":"one"`);
      const row = bytes.subarray(at, at + 200);
      row.writeUInt8(row.readUInt8(row.indexOf('one') + 1) ^ 1, row.indexOf('one') + 1);
      fs.writeFileSync(file, bytes);
    },
    copyLog: () => copyOf(LOG),
    restoreLog: (copy) => putBack(copy as Copy, LOG),
    copyAll: () => copyOf(fs.readdirSync(folder)),
    async restoreAll(copy) {
      // Waits beyond the resolution of the file system's clock, which no real restore is faster than.
      const sealed = fs.statSync(`${file}.seal`).ctimeMs;
      await until('a moment after the last write', () => Date.now() > sealed + 100, { every: 5 });
      putBack(copy as Copy, [...LOG, 'journal.db.seal']);
    },
    clone: async () => {
      const to = fs.mkdtempSync(path.join(path.dirname(folder), 'clone-'));
      fs.cpSync(folder, to, { recursive: true, preserveTimestamps: true });
      return journalFolder(to);
    },
  };
}
