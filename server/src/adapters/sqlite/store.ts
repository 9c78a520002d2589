import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Kysely, sql } from 'kysely';
import type { Transaction } from 'kysely';
import { freeBytes } from '../../core/folders.ts';
import type { Log } from '../../core/log.ts';
import { silent } from '../../core/log.ts';
import { createMigrationTable, runMigrations } from '../../core/migrations.ts';
import type { Store, StoreGap } from '../../ports/store.ts';
import { openCommits } from './commits.ts';
import { Connection, checkDatabase, refuseOlder } from './database.ts';
import { createFlusher } from './flusher.ts';
import type { Flusher } from './flusher.ts';
import { SqliteDriver, sqliteDialect, whenFree } from './driver.ts';
import { openStoreSeal } from './store-seal.ts';

export interface SqliteStore extends Store {
  /** Commits this store has lost, oldest first. */
  readonly gaps: readonly StoreGap[];
  /** Marks the gaps up to this one as reported: their events are in the journal. */
  gapReported(id: number): Promise<void>;
}

/**
 * The relational store in one SQLite file. A committed write survives the death of the process and a power cut (the write-ahead
 * log is flushed before a write is acknowledged, in its own thread: flusher.ts). Throws `DamagedDatabaseError` where the file
 * cannot be trusted, `store_unavailable` where it cannot be opened now.
 */
export async function openSqliteStore(
  file: string,
  options: { log?: Log; flusher?: Flusher } = {},
): Promise<SqliteStore> {
  const log = options.log ?? silent;
  await mkdir(path.dirname(file), { recursive: true });
  const isNew = !existsSync(file);
  refuseOlder(file);
  await whenFree(file, () => checkDatabase(file));
  const writer = await whenFree(file, () => openWriter(file));
  let reader: Connection;
  try {
    reader = await whenFree(file, () => new Connection(file, { readOnly: true }));
    // As in other databases.
    for (const connection of [reader, writer]) connection.exec('pragma case_sensitive_like=on');
  } catch (error) {
    writer.close();
    throw error;
  }
  const seal = openStoreSeal(`${file}.seal`, log);
  const commits = await whenFree(file, () => openCommits(writer, seal.kept, isNew)).catch(
    (error: unknown) => {
      for (const opened of [reader, writer, seal]) opened.close();
      throw error;
    },
  );
  if (commits.found !== null) logGap(log, file, commits.found);
  const flusher = options.flusher ?? createFlusher(file);
  const driver = new SqliteDriver({ file, reader, writer, flusher, commits, seal });
  const db = new Kysely<unknown>({ dialect: sqliteDialect(driver) });
  const transaction = async <T, R>(work: (trx: Transaction<T>) => Promise<R>): Promise<R> =>
    await db.transaction().execute(async (trx) => await work(trx as unknown as Transaction<T>));
  await transaction<unknown, void>(createMigrationTable);
  let closing: Promise<void> | undefined;
  return {
    db: <T>() => db as unknown as Kysely<T>,
    transaction,
    migrate: (feature, migrations) =>
      runMigrations(file, { db: () => db, transaction }, feature, migrations, (migration) =>
        log.info({ feature, migration }, 'store migrated'),
      ),
    freeBytes: () => freeBytes(path.dirname(file)),
    forget: () => driver.forget(),
    gaps: commits.gaps,
    async gapReported(id) {
      await sql`update offhook_gaps set told = 1 where id <= ${id}`.execute(db);
    },
    close: () => (closing ??= db.destroy()),
  };
}

function logGap(log: Log, file: string, { writes, from, to, id }: StoreGap): void {
  const [committed, kept] = [id - 1, id - 1 - writes];
  log.error(
    { file, writes, committed, kept, from: new Date(from).toISOString(), to: new Date(to).toISOString() },
    `the store has lost its newest ${writes} writes: it holds ${kept} of ${committed}`,
  );
}
function openWriter(file: string): Connection {
  const writer = new Connection(file);
  try {
    writer.exec('pragma journal_mode=wal');
    writer.exec('pragma synchronous=normal');
    writer.exec('pragma foreign_keys=on');
    // Deleted content is overwritten: an erased number must not stay in unused pages.
    writer.exec('pragma secure_delete=on');
    // After a burst the write-ahead log is truncated to this size, so that it does not fill the disk for good.
    writer.exec('pragma journal_size_limit=16777216');
    return writer;
  } catch (error) {
    writer.close();
    throw error;
  }
}
