import { sql } from 'kysely';
import type { Kysely, Transaction } from 'kysely';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { silent } from '../../core/log.ts';
import { createMigrationTable, runMigrations } from '../../core/migrations.ts';
import type { Migration, Store } from '../../ports/store.ts';
import { kyselyOver } from './driver.ts';
import { refusal } from './errors.ts';
import { Link } from './link.ts';
import type { Term } from './link.ts';

interface Steps {
  readonly feature: string;
  readonly migrations: readonly Migration[];
}

/**
 * The relational store in a PostgreSQL database. It opens while the database is unreachable: `migrate` defers its migrations,
 * and nothing is read or written before they have run; until then everything throws `store_unavailable` within seconds.
 * `moving`: accepts a partly moved database, which is unavailable to all but the move (boot/record-move.ts).
 * `features`: those that the move knows; `migrate` throws for others. `term`: see `Link`.
 */
export function openPostgresStore(
  url: string,
  options: { log?: Log; moving?: boolean; features?: readonly string[]; term?: () => Term | null } = {},
): Store {
  const log = options.log ?? silent;
  const link = new Link(url, options.term);
  const waiting: Steps[] = [];
  let made = false;
  let settling: Promise<void> | undefined;
  const bare = kyselyOver(link, async () => {}, { slow: true });
  const db = kyselyOver(link, settle);
  const inTransaction = async <R>(over: Kysely<unknown>, work: (trx: Transaction<unknown>) => Promise<R>) =>
    await over.transaction().execute(work);

  async function run({ feature, migrations }: Steps): Promise<void> {
    if (!made) await inTransaction(bare, createMigrationTable);
    if (!made && options.moving !== true) await assertWhole(bare, link.place);
    made = true;
    const store = {
      db: () => bare,
      transaction: (work: Migration['up']) =>
        inTransaction(bare, async (trx) => {
          await work(trx);
          await takeUpNumbers(trx);
        }),
    };
    await runMigrations(link.place, store, feature, migrations, (migration) =>
      log.info({ feature, migration }, 'record store migrated'),
    );
  }
  async function runFirst(): Promise<void> {
    try {
      await run(waiting[0]!);
      waiting.shift();
    } finally {
      settling = undefined;
    }
  }
  async function settle(): Promise<void> {
    while (waiting.length > 0) await (settling ??= runFirst());
  }
  let closing: Promise<void> | undefined;
  return {
    db: <T>() => db as unknown as Kysely<T>,
    transaction: <T, R>(work: (trx: Transaction<T>) => Promise<R>) =>
      inTransaction(db, async (trx) => await work(trx as unknown as Transaction<T>)),
    async migrate(feature, migrations) {
      if (options.features?.includes(feature) === false) {
        throw new Error(`${feature} is not in boot/site-tables.ts: a move would leave its tables behind`);
      }
      const steps = { feature, migrations };
      waiting.push(steps);
      try {
        await settle();
      } catch (error) {
        if (error instanceof ServiceError) {
          log.warn({ feature, error: messageOf(error) }, 'the record store is not available yet');
          return;
        }
        waiting.splice(waiting.indexOf(steps), 1);
        throw error;
      }
    },
    freeBytes: async () => Infinity,
    // Deleted rows stay in the server's files until it has vacuumed, and in its log.
    forget: async () => false,
    close: () => (closing ??= link.close()),
  };
}

async function assertWhole(db: Kysely<unknown>, place: string): Promise<void> {
  const found = await sql<{
    there: boolean;
  }>`select to_regclass('offhook_move') is not null as there`.execute(db);
  if (found.rows[0]?.there !== true) return;
  const whole = await sql`select 1 from offhook_move where name = '' and done = 1`.execute(db);
  if (whole.rows.length === 0) throw refusal(`${place}: not moved to the end; run: npm run migrate`);
}

/**
 * Continues the sequence of each table after its greatest number, as SQLite does. A migration may copy rows with their
 * numbers into a new table, whose sequence would otherwise begin at 1.
 */
async function takeUpNumbers(trx: Transaction<unknown>): Promise<void> {
  await sql
    .raw(
      `do $$
      declare it record; newest bigint;
      begin
        for it in select t.oid::regclass as place, a.attname as name,
            pg_get_serial_sequence(t.oid::regclass::text, a.attname)::regclass as numbers
          from pg_attribute a join pg_class t on t.oid = a.attrelid
          where t.relkind = 'r' and a.attidentity <> '' and not a.attisdropped
            and t.relnamespace = (select oid from pg_namespace where nspname = current_schema())
        loop
          execute format('select max(%I) from %s', it.name, it.place) into newest;
          if newest > coalesce(pg_sequence_last_value(it.numbers), 0) then
            perform setval(it.numbers, newest);
          end if;
        end loop;
      end $$`,
    )
    .execute(trx);
}
