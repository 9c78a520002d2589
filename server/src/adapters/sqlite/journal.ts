import fs from 'node:fs';
import path from 'node:path';
import type { StatementSync } from 'node:sqlite';
import type { Log } from '../../core/log.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import { checkOf, firstCheck, newestDamaged } from '../../core/row-check.ts';
import type { CopyStart, JournalRow, JournalStore } from '../../ports/journal-store.ts';
import { DamagedDatabaseError, checkDatabase, unavailable } from './database.ts';
import type { Connection } from './database.ts';
import { openSeal } from './seal.ts';
import type { SealFile } from './seal.ts';
import {
  UNUSABLE,
  checksOf,
  moveAside,
  openJournalFile,
  openLog,
  putMeta,
  unusable,
} from './journal-file.ts';
import type { Opened } from './journal-file.ts';

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
