/** The file of the journal at opening: its schema, whether this site can continue it, and its epoch. */
import fs from 'node:fs';
import type { Log } from '../../core/log.ts';
import { randomBytes } from '../../core/chance.ts';
import { isForeign, openEpoch } from '../../core/epoch.ts';
import type { Seal } from '../../core/epoch.ts';
import { checkOf } from '../../core/row-check.ts';
import type { CopyStart } from '../../ports/journal-store.ts';
import { Connection } from './database.ts';
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
export const UNUSABLE = {
  foreign: 'the journal is one of another site',
  newer: 'the journal was written by a newer version',
} as const;
/** Why this site cannot continue a readable journal; null where it can. */
export function unusable(
  db: Connection,
  seal: Seal | null,
  site: string | undefined,
): keyof typeof UNUSABLE | null {
  const format = db.run('pragma user_version', []).rows[0]?.['user_version'];
  if (Number(format) > FORMAT) return 'newer';
  const meta = metaOf(db);
  const owner = meta.get('site');
  const isOurs = site === undefined || owner === undefined || owner === site;
  const log = { epoch: meta.get('epoch') ?? null, id: meta.get('id') ?? '' };
  return isOurs && !isForeign(log, seal) ? null : 'foreign';
}

/** State of a log at opening, and its epoch from now on. */
export interface Opened {
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
export const putMeta = (db: Connection) =>
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
export function openLog(db: Connection, file: string, seal: SealFile, log: Log, copyOf?: CopyStart): Opened {
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
