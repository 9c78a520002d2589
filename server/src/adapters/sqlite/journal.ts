import fs from 'node:fs';
import path from 'node:path';
import type { StatementSync } from 'node:sqlite';
import type { Log } from '../../core/log.ts';
import { ServiceError } from '../../core/errors.ts';
import { randomBytes } from '../../core/chance.ts';
import { isForeign, openEpoch } from '../../core/epoch.ts';
import type { Seal } from '../../core/epoch.ts';
import { silent } from '../../core/log.ts';
import { checkOf, firstCheck, newestDamaged } from '../../core/row-check.ts';
import type { CopyStart, JournalRow, JournalStore } from '../../ports/journal-store.ts';
import { Connection, DamagedDatabaseError, checkDatabase, unavailable } from './database.ts';
import { openSeal } from './seal.ts';
import type { SealFile } from './seal.ts';

const SCHEMA = `
create table if not exists meta (key text primary key, value text not null) without rowid;
create table if not exists journal (
  seq integer primary key, type text not null, subject text not null, at integer not null, json text not null,
  topics text not null default ''
);
create table if not exists checkpoint_pieces (
  save integer not null, piece integer not null, text text not null, primary key (save, piece)
) without rowid;`;

/** Schema version, as `user_version`; an older service recognises a newer schema by it. */
const FORMAT = 1;
/** Newest rows whose checks are compared at opening; older rows are compared when they are read. */
const CHECKED_ROWS = 20_000;
const CHECKED_AT_ONCE = 1_000;

/**
 * The journal in its own SQLite file. A committed group survives the death of the process. A power cut can lose the
 * newest groups (`synchronous=NORMAL`: no flush inside the event loop for each group), whose numbers would then be
 * assigned again. So the log takes a new epoch after the machine went down without a clean close, and whenever the seal
 * beside it (`seal.ts`) does not prove that this is the log that was read last, up to the read position: after a restore,
 * a cut, a copy, an exchange (ADR 0017). A damaged file, one of another `site` and one of a newer version are moved aside
 * and named in the log, and a new log with a new epoch begins, so that the service can start. `copyOf`: the file is the copy of a
 * log elsewhere, which decides on the epoch; an empty one begins there. Throws `store_unavailable` if the file cannot be opened
 * now.
 */
export function openSqliteJournal(
  file: string,
  options: { log?: Log; site?: string; copyOf?: CopyStart } = {},
): JournalStore {
  const { log = silent, site, copyOf } = options;
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
    db = openJournalFile(file);
    const why = unusable(db, seal.kept, site);
    if (why !== null) {
      db.close();
      db = undefined;
      log.error({ file, kept: moveAside(file, why) }, `${UNUSABLE[why]}; a new one begins`);
      db = openJournalFile(file);
    }
    if (site !== undefined) {
      db.run('insert into meta (key, value) values (?, ?) on conflict (key) do nothing', ['site', site]);
    }
    const store = new SqliteJournal(db, file, seal, log, copyOf);
    db.exec('pragma busy_timeout=0');
    return store;
  } catch (error) {
    db?.close();
    seal?.close();
    throw unavailable(error, file);
  }
}

export function openJournalFile(file: string): Connection {
  // Nothing else runs yet, so waiting for a lock is harmless; afterwards the caller waits.
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
export const metaOf = (db: Connection): ReadonlyMap<string, string> =>
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

/** State of a log at opening, and its epoch from now on. */
interface Opened {
  readonly id: string;
  readonly epoch: string;
  readonly began: number;
  readonly head: number;
  readonly first: number;
  readonly last: number;
  /** The newest trimmed row and its check, with which the next row is compared. */
  readonly trimmed: { readonly seq: number; readonly check: string };
}
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
const putMeta = (db: Connection) =>
  db.prepare(
    'insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value',
  );
/** The check of a row, of the newest trimmed row too; null for an unknown one. */
export const checksOf = (db: Connection) => {
  const row = db.prepare('select at, json from journal where seq = ?');
  return {
    at: (seq: number): number => number(row.get(seq)?.['at']),
    check(seq: number, trimmed: Opened['trimmed']): string | null {
      const found = row.get(seq);
      if (found !== undefined) return checkOf(String(found['json']));
      return seq === trimmed.seq ? trimmed.check : null;
    },
  };
};

/** Decides on the epoch and marks the log as open on this machine. */
function openLog(db: Connection, file: string, seal: SealFile, log: Log, copyOf?: CopyStart): Opened {
  const machine = bootOfMachine();
  const meta = metaOf(db);
  const inode = String(fs.statSync(file).ino);
  const lost = meta.has('open_on') && meta.get('open_on') !== machine;
  const replaced = meta.has('inode') && meta.get('inode') !== inode;
  const edge = db.run('select min(seq) as first, max(seq) as last from journal', []).rows[0];
  const [first, last] = [number(edge?.['first']), number(edge?.['last'])];
  const rows = checksOf(db);
  const before = meta.get('epoch') ?? null;
  const trimmed =
    before === null && copyOf !== undefined
      ? copyOf.after
      : { seq: Number(meta.get('trimmed') ?? 0), check: meta.get('trimmed_check') ?? '' };
  const id = meta.get('id') ?? randomBytes(9, 'journal').toString('base64url');
  const began = copyOf?.began ?? Number(meta.get('began') ?? 1);
  const doubt = lost
    ? 'the machine went down before the log was closed'
    : replaced
      ? 'the file was replaced'
      : null;
  const kept = {
    epoch: before,
    id,
    began,
    head: Math.max(last, trimmed.seq, began - 1),
    checkAt: (seq: number) => rows.check(seq, trimmed),
    newestAt: rows.at(last),
    doubt,
  };
  const opened =
    copyOf === undefined
      ? openEpoch(kept, seal.kept, Date.now())
      : { epoch: copyOf.epoch, began, head: kept.head, why: null };
  if ((before !== null || seal.kept !== null) && opened.why !== null) {
    log.warn(
      { file, epoch: opened.epoch, before, head: kept.head, seq: opened.began, why: opened.why },
      'the journal has a new epoch; cursors of the former one are invalid',
    );
  }
  const put = putMeta(db);
  db.exec('begin immediate');
  put.run('epoch', opened.epoch);
  put.run('id', id);
  put.run('began', String(opened.began));
  put.run('inode', inode);
  if (before === null && copyOf !== undefined) {
    put.run('trimmed', String(trimmed.seq));
    put.run('trimmed_check', trimmed.check);
  }
  if (machine !== null) put.run('open_on', machine);
  db.exec('commit');
  // After the mark is on the disk; if a lost tail could not be detected, every group stays flushed.
  if (machine !== null) db.exec('pragma synchronous=normal');
  return { id, epoch: opened.epoch, began: opened.began, head: opened.head, first, last, trimmed };
}

class SqliteJournal implements JournalStore {
  readonly #db: Connection;
  readonly #file: string;
  readonly #seal: SealFile;
  readonly #log: Log;
  readonly #id: string;
  readonly epoch: string;
  readonly began: number;
  readonly #checks: ReturnType<typeof checksOf>;
  readonly #put: StatementSync;
  readonly #putPiece: StatementSync;
  readonly #dropPiece: StatementSync;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #pages: StatementSync;
  #trimmed: Opened['trimmed'];
  #head: number;
  #tail: number;
  #check: string;

  constructor(db: Connection, file: string, seal: SealFile, log: Log, copyOf?: CopyStart) {
    const { id, epoch, began, head, first, last, trimmed } = openLog(db, file, seal, log, copyOf);
    this.#db = db;
    this.#file = file;
    this.#seal = seal;
    this.#log = log;
    this.#id = id;
    this.epoch = epoch;
    this.began = began;
    this.#checks = checksOf(db);
    this.#put = putMeta(db);
    this.#putPiece = db.prepare('insert into checkpoint_pieces (save, piece, text) values (?, ?, ?)');
    this.#dropPiece = db.prepare(
      'delete from checkpoint_pieces where (save, piece) in (select save, piece from checkpoint_pieces where save <> ? limit 1)',
    );
    this.#insert = db.prepare(
      'insert into journal (seq, type, subject, at, topics, json) values (?, ?, ?, ?, ?, ?)',
    );
    this.#select = db.prepare(
      'select seq, type, subject, at, topics, json from journal where seq > ? order by seq limit ?',
    );
    this.#pages = db.prepare(
      'select (page_count - freelist_count) * page_size as used from pragma_page_count, pragma_freelist_count, pragma_page_size',
    );
    this.#trimmed = trimmed;
    this.#head = head;
    this.#tail = first || head + 1;
    this.#check = (head < began ? '' : this.#checks.check(head, trimmed)) || firstCheck(epoch);
    this.#checkNewest(last);
    seal.write(id, epoch, head, this.#check);
  }
  head(): number {
    return this.#head;
  }
  tail(): number {
    return this.#tail;
  }
  check(): string {
    return this.#check;
  }
  append(rows: readonly JournalRow[]): void {
    const db = this.#db;
    let next = this.#head;
    for (const row of rows) {
      if (row.seq !== ++next) throw new Error(`journal: seq ${row.seq} where ${next} must follow`);
    }
    try {
      db.exec('begin immediate');
      for (const row of rows) this.#insert.run(row.seq, row.type, row.subject, row.at, row.topics, row.json);
      db.exec('commit');
    } catch (error) {
      if (db.inTransaction) db.exec('rollback');
      throw unavailable(error, this.#file);
    }
    this.#head = next;
    this.#check = checkOf(rows.at(-1)?.json ?? '') || this.#check;
    this.#seal.write(this.#id, this.epoch, this.#head, this.#check);
  }
  read(after: number, limit: number): JournalRow[] {
    const from = Math.max(after, this.#tail - 1);
    const { rows, bad } = this.#try(() => {
      const found = this.#select.all(from, limit) as unknown as JournalRow[];
      return { rows: found, bad: this.#damaged(found, from) };
    });
    if (bad === null) return rows;
    this.#giveUpDamaged(bad);
    throw new ServiceError('store_unavailable', `journal: row ${bad} is damaged and was discarded`);
  }
  trim(below: number): void {
    const last = Math.min(below - 1, this.#head);
    if (last < this.#tail) return;
    const [tail, trimmed] = [this.#tail, this.#trimmed];
    try {
      this.#giveUp(last);
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('rollback');
      this.#tail = tail;
      this.#trimmed = trimmed;
      throw unavailable(error, this.#file);
    }
  }
  bytes(): number {
    return this.#try(() => (this.#pages.get() as { used: number }).used);
  }
  *saveCheckpoint(seq: number, pieces: Iterable<string>): Generator<number, void> {
    const kept = this.#try(() => this.#saved()?.save ?? 0);
    // Of saves that did not end, before new ones need the room.
    yield* this.#dropPieces(kept);
    const save = kept + 1;
    let count = 0;
    for (const piece of pieces) {
      this.#try(() => this.#putPiece.run(save, (count += 1), piece));
      yield piece.length;
    }
    this.#try(() => {
      this.#put.run('checkpoint_save', `${seq} ${save}`);
      this.#db.exec("delete from meta where key = 'checkpoint'");
    });
    yield* this.#dropPieces(save);
  }
  *#dropPieces(kept: number): Generator<number, void> {
    while (this.#try(() => this.#dropPiece.run(kept)).changes > 0) yield 0;
  }
  checkpoint(): { readonly seq: number; readonly text: string } | null {
    const saved = this.#saved();
    const first = this.#firstCheckpoint();
    // Both are there after 0.1.0 went on with the journal.
    if (saved === null || (first !== null && first.seq > saved.seq)) return first;
    const db = this.#db;
    return {
      // After a power cut it can be ahead of the remaining rows; its content was published nonetheless.
      seq: Math.min(saved.seq, this.#head),
      get text() {
        return db
          .run('select text from checkpoint_pieces where save = ? order by piece', [saved.save])
          .rows.map((row) => String(row['text']))
          .join('');
      },
    };
  }
  #saved(): { readonly seq: number; readonly save: number } | null {
    const kept = this.#db.run("select value from meta where key = 'checkpoint_save'", []).rows[0]?.['value'];
    if (typeof kept !== 'string') return null;
    const [seq = 0, save = 0] = kept.split(' ').map(Number);
    return { seq, save };
  }
  /** A checkpoint in one row, as 0.1.0 wrote it. */
  #firstCheckpoint(): { readonly seq: number; readonly text: string } | null {
    const kept = this.#db.run("select value from meta where key = 'checkpoint'", []).rows[0]?.['value'];
    if (typeof kept !== 'string') return null;
    const read = readCheckpoint(kept);
    return { seq: Math.min(read.seq, this.#head), text: read.text };
  }
  close(): void {
    try {
      // Flushed before the mark is removed, so that "closed cleanly" is never true of a log whose end is not on the disk.
      this.#db.exec('pragma wal_checkpoint(truncate)');
      this.#db.exec("pragma synchronous=full; delete from meta where key = 'open_on'");
    } catch (error) {
      this.#log.warn(
        { file: this.#file, err: error },
        'the closing mark of the journal could not be written',
      );
    }
    this.#db.close();
    try {
      this.#seal.close();
    } catch (error) {
      this.#log.warn({ file: this.#file, err: error }, 'the seal of the journal was not flushed');
    }
  }

  #try<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw unavailable(error, this.#file);
    }
  }
  #damaged(rows: readonly JournalRow[], after: number): number | null {
    const { epoch, began } = this;
    const checkAt = (seq: number): string | null => this.#checks.check(seq, this.#trimmed);
    return newestDamaged(rows, after, { epoch, began, checkAt });
  }
  /** Compares the checks of the newest rows, from `last` back. */
  #checkNewest(last: number): void {
    for (let at = Math.max(this.#tail - 1, last - CHECKED_ROWS); ;) {
      const rows = this.#select.all(at, CHECKED_AT_ONCE) as unknown as JournalRow[];
      const bad = this.#damaged(rows, at);
      if (bad !== null) this.#giveUpDamaged(bad);
      const newest = rows.at(-1);
      if (newest === undefined) return;
      at = newest.seq;
    }
  }
  #giveUp(last: number): void {
    const db = this.#db;
    this.#trimmed = { seq: last, check: this.#checks.check(last, this.#trimmed) ?? '' };
    this.#tail = last + 1;
    db.exec('begin immediate');
    db.run('delete from journal where seq <= ?', [last]);
    this.#put.run('trimmed', String(last));
    this.#put.run('trimmed_check', this.#trimmed.check);
    db.exec('commit');
  }
  #giveUpDamaged(last: number): void {
    const file = this.#file;
    this.#log.error(
      { file, seq: last },
      'a row of the journal is damaged; it and all earlier rows are discarded',
    );
    try {
      this.#giveUp(last);
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('rollback');
      this.#log.warn({ file, err: error }, 'damaged rows stay in the file and are not read');
    }
  }
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

export function moveAside(file: string, why: string): string {
  const kept = `${file}.${why}-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const part of ['', '-wal', '-shm']) {
    if (fs.existsSync(file + part)) fs.renameSync(file + part, kept + part);
  }
  return kept;
}
