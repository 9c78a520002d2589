import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Log } from '../../core/log.ts';
import { silent } from '../../core/log.ts';
import type { JournalRow, JournalStore } from '../../ports/journal-store.ts';
import { Connection, DamagedDatabaseError, checkDatabase, unavailable } from './database.ts';

const SCHEMA = `
create table if not exists meta (key text primary key, value text not null) without rowid;
create table if not exists journal (
  seq integer primary key, type text not null, subject text not null, at integer not null, json text not null,
  topics text not null default ''
);`;

/**
 * The journal in its own SQLite file. A committed group survives the death of the process at once. A power cut can take
 * the newest groups with it (`synchronous=NORMAL`: no flush inside the event loop for each group), and then their
 * numbers would be given out again: so the log takes a new epoch when the machine went down without a clean close, and
 * also when the file was replaced (a restored backup). A damaged file is moved aside, named in the log, and a
 * new log with a new epoch begins: the service must not stay down for its history of events.
 * Throws `store_unavailable` where the file cannot be opened now.
 */
export function openSqliteJournal(file: string, options: { log?: Log } = {}): JournalStore {
  const log = options.log ?? silent;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  try {
    checkDatabase(file);
  } catch (error) {
    if (!(error instanceof DamagedDatabaseError)) throw error;
    log.error({ file, kept: moveAside(file), detail: error.message }, 'journal damaged; a new one begins');
  }
  let db: Connection | undefined;
  try {
    // Nothing runs yet that a wait could hold up; afterwards a lock is the caller's to wait for.
    db = new Connection(file, { lockWaitMs: 2_000 });
    const store = journalOn(db, file, log);
    db.exec('pragma busy_timeout=0');
    return store;
  } catch (error) {
    db?.close();
    throw unavailable(error, file);
  }
}

function journalOn(db: Connection, file: string, log: Log): JournalStore {
  const machine = bootOfMachine();
  db.exec('pragma journal_mode=wal');
  db.exec('pragma synchronous=full');
  db.exec('pragma journal_size_limit=16777216');
  db.exec(SCHEMA);
  const columns = db.run("select name from pragma_table_info('journal')", []).rows;
  if (!columns.some((column) => column['name'] === 'topics')) {
    db.exec("alter table journal add column topics text not null default ''");
  }
  const meta = new Map(db.run('select key, value from meta', []).rows.map((r) => [r['key'], r['value']]));
  const inode = String(fs.statSync(file).ino);
  const lost = meta.get('open_on') !== undefined && meta.get('open_on') !== machine;
  const replaced = meta.get('inode') !== undefined && meta.get('inode') !== inode;
  const before = meta.get('epoch');
  const epoch =
    typeof before === 'string' && !lost && !replaced ? before : randomBytes(9).toString('base64url');
  if (before !== undefined && before !== epoch) {
    log.warn({ file, epoch, lost, replaced }, 'journal has a new epoch; cursors of the old one are void');
  }
  const put = db.prepare(
    'insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value',
  );
  db.exec('begin immediate');
  put.run('epoch', epoch);
  put.run('inode', inode);
  if (machine !== null) put.run('open_on', machine);
  db.exec('commit');
  // Only now that the mark is on the disk; where a lost tail could not be noticed, every group goes on being flushed.
  if (machine !== null) db.exec('pragma synchronous=normal');

  const insert = db.prepare(
    'insert into journal (seq, type, subject, at, topics, json) values (?, ?, ?, ?, ?, ?)',
  );
  const select = db.prepare(
    'select seq, type, subject, at, topics, json from journal where seq > ? order by seq limit ?',
  );
  const pages = db.prepare(
    'select (page_count - freelist_count) * page_size as used from pragma_page_count, pragma_freelist_count, pragma_page_size',
  );
  const edge = db.run('select min(seq) as first, max(seq) as last from journal', []).rows[0];
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
  let head = Math.max(number(edge?.['last']), Number(meta.get('trimmed') ?? 0));
  let tail = number(edge?.['first']) || head + 1;
  return {
    epoch,
    head: () => head,
    tail: () => tail,
    append(rows) {
      let next = head;
      for (const row of rows) {
        if (row.seq !== ++next) throw new Error(`journal: seq ${row.seq} where ${next} must follow`);
      }
      try {
        db.exec('begin immediate');
        for (const row of rows) insert.run(row.seq, row.type, row.subject, row.at, row.topics, row.json);
        db.exec('commit');
      } catch (error) {
        if (db.inTransaction) db.exec('rollback');
        throw unavailable(error, file);
      }
      head = next;
    },
    read(after, limit) {
      try {
        return select.all(after, limit) as unknown as JournalRow[];
      } catch (error) {
        throw unavailable(error, file);
      }
    },
    trim(below) {
      const last = Math.min(below - 1, head);
      if (last < tail) return;
      try {
        db.exec('begin immediate');
        db.run('delete from journal where seq <= ?', [last]);
        put.run('trimmed', String(last));
        db.exec('commit');
      } catch (error) {
        if (db.inTransaction) db.exec('rollback');
        throw unavailable(error, file);
      }
      tail = last + 1;
    },
    bytes() {
      try {
        const { used } = pages.get() as { used: number };
        return used;
      } catch (error) {
        throw unavailable(error, file);
      }
    },
    saveCheckpoint(seq, text) {
      try {
        put.run('checkpoint', `${seq} ${text}`);
      } catch (error) {
        throw unavailable(error, file);
      }
    },
    checkpoint() {
      const kept = db.run("select value from meta where key = 'checkpoint'", []).rows[0]?.['value'];
      if (typeof kept !== 'string') return null;
      const read = readCheckpoint(kept);
      // After a power cut it can be ahead of the rows that are left; what it says was told all the same.
      return { seq: Math.min(read.seq, head), text: read.text };
    },
    close() {
      try {
        // Flushed before the mark goes, so that "closed cleanly" is never true of a log whose tail is not on the disk.
        db.exec('pragma wal_checkpoint(truncate)');
        db.exec("pragma synchronous=full; delete from meta where key = 'open_on'");
      } catch (error) {
        log.warn({ file, err: error }, 'journal closed without its mark');
      }
      db.close();
    },
  };
}

/** `<seq> <text>`; the first release wrote the two as JSON. */
function readCheckpoint(kept: string): { readonly seq: number; readonly text: string } {
  if (kept.startsWith('{')) return JSON.parse(kept) as { seq: number; text: string };
  const end = kept.indexOf(' ');
  return { seq: Number(kept.slice(0, end)), text: kept.slice(end + 1) };
}

/** Identifies one run of the machine; null where the system does not tell. */
function bootOfMachine(): string | null {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

function moveAside(file: string): string {
  const kept = `${file}.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const part of ['', '-wal', '-shm']) {
    if (fs.existsSync(file + part)) fs.renameSync(file + part, kept + part);
  }
  return kept;
}
