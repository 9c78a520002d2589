import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Log } from '../../core/log.ts';
import { ServiceError } from '../../core/errors.ts';
import { isForeign, openEpoch } from '../../core/epoch.ts';
import type { Seal } from '../../core/epoch.ts';
import { silent } from '../../core/log.ts';
import { checkOf, firstCheck, newestDamaged } from '../../core/row-check.ts';
import type { JournalRow, JournalStore } from '../../ports/journal-store.ts';
import { Connection, DamagedDatabaseError, checkDatabase, unavailable } from './database.ts';
import { openSeal } from './seal.ts';
import type { SealFile } from './seal.ts';

const SCHEMA = `
create table if not exists meta (key text primary key, value text not null) without rowid;
create table if not exists journal (
  seq integer primary key, type text not null, subject text not null, at integer not null, json text not null,
  topics text not null default ''
);`;

/** Schema version, as `user_version`; an older service recognises a newer schema by it. */
const FORMAT = 1;
/** Newest rows whose checks are compared at opening; older rows are compared when they are read. */
const CHECKED_ROWS = 20_000;
const CHECKED_AT_ONCE = 1_000;

/**
 * The journal in its own SQLite file. A committed group survives the death of the process at once. A power cut can take
 * the newest groups with it (`synchronous=NORMAL`: no flush inside the event loop for each group), and then their
 * numbers would be given out again: so the log takes a new epoch when the machine went down without a clean close, and
 * whenever the seal beside it (`seal.ts`) does not show that this is the log that was read from last, as far as it was
 * read: after a restore, a cut, a copy, an exchange (ADR 0017). A damaged file, one of another `site` and one of a newer
 * version are moved aside, named in the log, and a new log with a new epoch begins: the service must not stay down for its history of events.
 * Throws `store_unavailable` where the file cannot be opened now.
 */
export function openSqliteJournal(file: string, options: { log?: Log; site?: string } = {}): JournalStore {
  const { log = silent, site } = options;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  try {
    checkDatabase(file);
  } catch (error) {
    if (!(error instanceof DamagedDatabaseError)) throw error;
    log.error(
      { file, kept: moveAside(file, 'damaged'), detail: error.message },
      'journal damaged; a new one begins',
    );
  }
  let seal: SealFile | undefined;
  let db: Connection | undefined;
  try {
    seal = openSeal(`${file}.seal`);
    db = open(file);
    const why = unusable(db, seal.kept, site);
    if (why !== null) {
      db.close();
      db = undefined;
      log.error({ file, kept: moveAside(file, why) }, `${UNUSABLE[why]}; a new one begins`);
      db = open(file);
    }
    if (site !== undefined) {
      db.run('insert into meta (key, value) values (?, ?) on conflict (key) do nothing', ['site', site]);
    }
    const store = journalOn(db, file, seal, log);
    db.exec('pragma busy_timeout=0');
    return store;
  } catch (error) {
    db?.close();
    seal?.close();
    throw unavailable(error, file);
  }
}

function open(file: string): Connection {
  // Nothing runs yet that waiting could delay; afterwards the caller waits for a lock.
  const db = new Connection(file, { lockWaitMs: 2_000 });
  try {
    db.exec('pragma journal_mode=wal');
    db.exec('pragma synchronous=full');
    db.exec('pragma journal_size_limit=16777216');
    if (db.run('pragma user_version', []).rows[0]?.['user_version'] === 0)
      db.exec(`pragma user_version=${FORMAT}`);
    db.exec(SCHEMA);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
const metaOf = (db: Connection): ReadonlyMap<string, string> =>
  new Map(
    db
      .run('select key, value from meta', [])
      .rows.map(({ key, value }) => [String(key), String(value)] as const),
  );
const UNUSABLE = {
  foreign: 'the journal is one of another site',
  newer: 'the journal was written by a newer version',
} as const;
/** Why this site cannot continue a readable journal; null where it can. */
function unusable(db: Connection, seal: Seal | null, site: string | undefined): keyof typeof UNUSABLE | null {
  const format = db.run('pragma user_version', []).rows[0]?.['user_version'];
  if (Number(format) > FORMAT) return 'newer';
  const meta = metaOf(db);
  const owner = meta.get('site');
  const isOurs = site === undefined || owner === undefined || owner === site;
  const log = { epoch: meta.get('epoch') ?? null, id: meta.get('id') ?? '' };
  return isOurs && !isForeign(log, seal) ? null : 'foreign';
}

function journalOn(db: Connection, file: string, seal: SealFile, log: Log): JournalStore {
  const machine = bootOfMachine();
  const meta = metaOf(db);
  const inode = String(fs.statSync(file).ino);
  const lost = meta.has('open_on') && meta.get('open_on') !== machine;
  const replaced = meta.has('inode') && meta.get('inode') !== inode;
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const edge = db.run('select min(seq) as first, max(seq) as last from journal', []).rows[0];
  const row = db.prepare('select at, json from journal where seq = ?');
  /** The newest trimmed row and its check, with which the next row is compared. */
  let trimmed = { seq: Number(meta.get('trimmed') ?? 0), check: meta.get('trimmed_check') ?? '' };
  const lastRow = number(edge?.['last']);
  const checkAt = (seq: number): string | null => {
    const found = row.get(seq);
    if (found !== undefined) return checkOf(String(found['json']));
    return seq === trimmed.seq ? trimmed.check : null;
  };
  const before = meta.get('epoch') ?? null;
  const id = meta.get('id') ?? randomBytes(9).toString('base64url');
  const kept = {
    epoch: before,
    id,
    began: Number(meta.get('began') ?? 1),
    head: Math.max(lastRow, trimmed.seq, Number(meta.get('began') ?? 1) - 1),
    checkAt,
    newestAt: number(row.get(lastRow)?.['at']),
    doubt: lost
      ? 'the machine went down before the log was closed'
      : replaced
        ? 'the file was replaced'
        : null,
  };
  const opened = openEpoch(kept, seal.kept, Date.now());
  const { epoch, began } = opened;
  if (before !== null || seal.kept !== null) {
    if (opened.why !== null) {
      log.warn(
        { file, epoch, before, head: kept.head, seq: began, why: opened.why },
        'journal has a new epoch; cursors of the old one are void',
      );
    }
  }
  const put = db.prepare(
    'insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value',
  );
  db.exec('begin immediate');
  put.run('epoch', epoch);
  put.run('id', id);
  put.run('began', String(began));
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
  let { head } = opened;
  let tail = number(edge?.['first']) || head + 1;
  let check = (head < began ? '' : checkAt(head)) || firstCheck(epoch);
  const damaged = (rows: readonly JournalRow[], after: number): number | null =>
    newestDamaged(rows, after, { epoch, began, checkAt });
  const giveUp = (last: number): void => {
    trimmed = { seq: last, check: checkAt(last) ?? '' };
    tail = last + 1;
    db.exec('begin immediate');
    db.run('delete from journal where seq <= ?', [last]);
    put.run('trimmed', String(last));
    put.run('trimmed_check', trimmed.check);
    db.exec('commit');
  };
  const giveUpDamaged = (last: number): void => {
    log.error({ file, seq: last }, 'a row of the journal is damaged; it and all before it are given up');
    try {
      giveUp(last);
    } catch (error) {
      if (db.inTransaction) db.exec('rollback');
      log.warn({ file, err: error }, 'damaged rows stay in the file and are not read');
    }
  };
  for (let at = Math.max(tail - 1, lastRow - CHECKED_ROWS); ;) {
    const rows = select.all(at, CHECKED_AT_ONCE) as unknown as JournalRow[];
    const bad = damaged(rows, at);
    if (bad !== null) giveUpDamaged(bad);
    const last = rows.at(-1);
    if (last === undefined) break;
    at = last.seq;
  }
  seal.write(id, epoch, head, check);
  return {
    epoch,
    began,
    head: () => head,
    tail: () => tail,
    check: () => check,
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
      check = checkOf(rows.at(-1)?.json ?? '') || check;
      seal.write(id, epoch, head, check);
    },
    read(after, limit) {
      const from = Math.max(after, tail - 1);
      let rows: JournalRow[];
      let bad: number | null;
      try {
        rows = select.all(from, limit) as unknown as JournalRow[];
        bad = damaged(rows, from);
      } catch (error) {
        throw unavailable(error, file);
      }
      if (bad === null) return rows;
      giveUpDamaged(bad);
      throw new ServiceError('store_unavailable', `journal: row ${bad} is damaged and was given up`);
    },
    trim(below) {
      const last = Math.min(below - 1, head);
      if (last < tail) return;
      const was = { tail, trimmed };
      try {
        giveUp(last);
      } catch (error) {
        if (db.inTransaction) db.exec('rollback');
        ({ tail, trimmed } = was);
        throw unavailable(error, file);
      }
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
      // After a power cut it can be ahead of the remaining rows; its content was published nonetheless.
      return { seq: Math.min(read.seq, head), text: read.text };
    },
    close() {
      try {
        // Flushed before the mark is removed, so that "closed cleanly" is never true of a log whose end is not on the disk.
        db.exec('pragma wal_checkpoint(truncate)');
        db.exec("pragma synchronous=full; delete from meta where key = 'open_on'");
      } catch (error) {
        log.warn({ file, err: error }, 'journal closed without its mark');
      }
      db.close();
      try {
        seal.close();
      } catch (error) {
        log.warn({ file, err: error }, 'the seal of the journal was not flushed');
      }
    },
  };
}

/** `<seq> <text>`; the first release wrote the two as JSON. */
function readCheckpoint(kept: string): { readonly seq: number; readonly text: string } {
  if (kept.startsWith('{')) return JSON.parse(kept) as { seq: number; text: string };
  const end = kept.indexOf(' ');
  return { seq: Number(kept.slice(0, end)), text: kept.slice(end + 1) };
}

/** Identifies one boot of the machine; null where the system does not report it. */
function bootOfMachine(): string | null {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

function moveAside(file: string, why: 'damaged' | keyof typeof UNUSABLE): string {
  const kept = `${file}.${why}-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const part of ['', '-wal', '-shm']) {
    if (fs.existsSync(file + part)) fs.renameSync(file + part, kept + part);
  }
  return kept;
}
