import { mkdir, statfs } from 'node:fs/promises';
import path from 'node:path';
import { Kysely } from 'kysely';
import type { Transaction } from 'kysely';
import type { Log } from '../../core/log.ts';
import { silent } from '../../core/log.ts';
import { createMigrationTable, runMigrations } from '../../core/migrations.ts';
import type { Store } from '../../ports/store.ts';
import { Connection, checkDatabase } from './database.ts';
import { createFlusher } from './flusher.ts';
import type { Flusher } from './flusher.ts';
import { SqliteDriver, sqliteDialect, whenFree } from './driver.ts';

/**
 * The relational store in one SQLite file. A committed write survives the death of the process and a power cut
 * (the write-ahead log is flushed before a write is acknowledged, in a thread of its own: flusher.ts).
 * Throws `DamagedDatabaseError` where the file cannot be trusted, `store_unavailable` where it cannot be opened now.
 */
export async function openSqliteStore(
  file: string,
  options: { log?: Log; flusher?: Flusher } = {},
): Promise<Store> {
  const log = options.log ?? silent;
  await mkdir(path.dirname(file), { recursive: true });
  await whenFree(file, () => checkDatabase(file));
  const writer = await whenFree(file, () => openWriter(file));
  let reader: Connection;
  try {
    reader = await whenFree(file, () => new Connection(file, { readOnly: true }));
    // As every other database has it.
    for (const connection of [reader, writer]) connection.exec('pragma case_sensitive_like=on');
  } catch (error) {
    writer.close();
    throw error;
  }
  const driver = new SqliteDriver(file, reader, writer, options.flusher ?? createFlusher(file));
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
    async freeBytes() {
      const { bavail, bsize } = await statfs(path.dirname(file));
      return bavail * bsize;
    },
    forget: () => driver.forget(),
    close: () => (closing ??= db.destroy()),
  };
}

function openWriter(file: string): Connection {
  const writer = new Connection(file);
  try {
    writer.exec('pragma journal_mode=wal');
    writer.exec('pragma synchronous=normal');
    writer.exec('pragma foreign_keys=on');
    // What is deleted is written over: an erased number is not to be left in pages that nothing uses.
    writer.exec('pragma secure_delete=on');
    // After a burst the write-ahead log is cut back to this, so that it cannot fill the disk for good.
    writer.exec('pragma journal_size_limit=16777216');
    return writer;
  } catch (error) {
    writer.close();
    throw error;
  }
}
