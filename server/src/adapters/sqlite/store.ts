import { mkdir, statfs } from 'node:fs/promises';
import path from 'node:path';
import { Kysely } from 'kysely';
import type { Transaction } from 'kysely';
import type { Log } from '../../core/log.ts';
import { silent } from '../../core/log.ts';
import type { Migration, Store } from '../../ports/store.ts';
import { Connection, checkDatabase } from './database.ts';
import { createFlusher } from './flusher.ts';
import type { Flusher } from './flusher.ts';
import { SqliteDriver, sqliteDialect, whenFree } from './driver.ts';

interface MigrationTables {
  offhook_migrations: { feature: string; id: string; applied_at: string };
}

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
  } catch (error) {
    writer.close();
    throw error;
  }
  const db = new Kysely<unknown>({
    dialect: sqliteDialect(new SqliteDriver(file, reader, writer, options.flusher ?? createFlusher(file))),
  });
  const transaction = async <T, R>(work: (trx: Transaction<T>) => Promise<R>): Promise<R> =>
    await db.transaction().execute(async (trx) => await work(trx as unknown as Transaction<T>));
  await transaction<MigrationTables, void>(async (trx) => {
    await trx.schema
      .createTable('offhook_migrations')
      .ifNotExists()
      .addColumn('feature', 'text', (c) => c.notNull())
      .addColumn('id', 'text', (c) => c.notNull())
      .addColumn('applied_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('offhook_migrations_key', ['feature', 'id'])
      .execute();
  });
  let closing: Promise<void> | undefined;
  return {
    db: <T>() => db as unknown as Kysely<T>,
    transaction,
    async migrate(feature, migrations) {
      assertOrdered(feature, migrations);
      const done = await (db as unknown as Kysely<MigrationTables>)
        .selectFrom('offhook_migrations')
        .select('id')
        .where('feature', '=', feature)
        .execute();
      const unknown = done.map((row) => row.id).filter((id) => !migrations.some((m) => m.id === id));
      if (unknown.length > 0) {
        throw new Error(
          `${file} was written by a newer version: ${feature} has the unknown steps ${unknown.join(', ')}`,
        );
      }
      for (const migration of migrations) {
        if (done.some((row) => row.id === migration.id)) continue;
        await transaction<MigrationTables, void>(async (trx) => {
          await migration.up(trx as unknown as Transaction<unknown>);
          await trx
            .insertInto('offhook_migrations')
            .values({ feature, id: migration.id, applied_at: new Date().toISOString() })
            .execute();
        });
        log.info({ feature, migration: migration.id }, 'store migrated');
      }
    },
    async freeBytes() {
      const { bavail, bsize } = await statfs(path.dirname(file));
      return bavail * bsize;
    },
    close: () => (closing ??= db.destroy()),
  };
}

function openWriter(file: string): Connection {
  const writer = new Connection(file);
  try {
    writer.exec('pragma journal_mode=wal');
    writer.exec('pragma synchronous=normal');
    writer.exec('pragma foreign_keys=on');
    // After a burst the write-ahead log is cut back to this, so that it cannot fill the disk for good.
    writer.exec('pragma journal_size_limit=16777216');
    return writer;
  } catch (error) {
    writer.close();
    throw error;
  }
}

function assertOrdered(feature: string, migrations: readonly Migration[]): void {
  for (const [i, migration] of migrations.entries()) {
    const before = migrations[i - 1];
    if (before !== undefined && before.id >= migration.id) {
      throw new Error(`migrations of ${feature}: ${migration.id} does not sort after ${before.id}`);
    }
  }
}
