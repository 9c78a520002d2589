/** Moves a whole stopped site between its data folder and PostgreSQL, with epoch and seq of its events. */
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { openPostgresSiteLog } from '../adapters/postgres/site-log.ts';
import { openPostgresStore } from '../adapters/postgres/store.ts';
import { sqliteCopyFile } from '../adapters/sqlite/journal-copy.ts';
import { openSqliteJournal } from '../adapters/sqlite/journal.ts';
import { openSqliteStore } from '../adapters/sqlite/store.ts';
import { silent } from '../core/log.ts';
import { firstCheck } from '../core/row-check.ts';
import { attachCopy } from '../journal/attach.ts';
import { Lease, momentNow } from '../journal/lease.ts';
import type { SiteLog } from '../ports/site-log.ts';
import type { Store } from '../ports/store.ts';
import { MoveError, createSum, markMovedAway, moveTables, tablesOf } from './record-move.ts';
import type { MovedTable, Rows, Tables } from './record-move.ts';
import { takeLog } from './server-site.ts';
import { recordsDatabase, siteId } from './site-id.ts';
import { SITE } from './site-tables.ts';

const PAGE = 500;
const AT_ONCE = 200;
const PARTS = ['', '-wal', '-shm', '.seal'] as const;

export interface SiteMove {
  readonly data: string;
  readonly url: string;
  readonly report: (line: string) => void;
}
export interface MovedSite {
  readonly tables: readonly MovedTable[];
  readonly epoch: string;
  readonly head: number;
}
const closing = <T extends { close(): unknown }>(opened: T): T & AsyncDisposable =>
  Object.assign(opened, { [Symbol.asyncDispose]: async () => void (await opened.close()) });

/**
 * Moves the site into the database; continues an interrupted move. `offhook.db` is renamed at the end, `journal.db`
 * stays as the copy.
 */
export async function moveToServer({ data, url, report }: SiteMove): Promise<MovedSite> {
  const file = path.join(data, 'offhook.db');
  if (!fs.existsSync(file)) throw new MoveError(`${file} is not there: this folder holds no site to move`);
  const records = await recordsDatabase(data);
  if (records !== null)
    throw new MoveError(
      `history, recordings and exports of this site are in ${records} and would stay there: start the service once without ` +
        'OFFHOOK_DATABASE_URL, which keeps new ones in the folder, and stop it; then this moves the site without them',
    );
  await using target = closing(openPostgresStore(url, { moving: true }));
  await using siteLog = closing(openPostgresSiteLog(url));
  let moved: Pick<MovedSite, 'epoch' | 'head'> | null = null;
  const tables = await moveTables(file, target, SITE, report, async () => {
    moved = await moveJournal(siteLog, data, await siteId(target), report);
  });
  for (const part of PARTS)
    if (fs.existsSync(file + part)) fs.renameSync(file + part, `${file}.moved${part}`);
  return { tables, ...moved! };
}
async function moveJournal(
  siteLog: SiteLog,
  data: string,
  site: string,
  report: (line: string) => void,
): Promise<Pick<MovedSite, 'epoch' | 'head'>> {
  const file = path.join(data, 'journal.db');
  // Opened as at a start, so that a journal that may have lost events gets a new epoch first.
  const journal = openSqliteJournal(file, { site });
  try {
    const { epoch, began } = journal;
    const first = Math.max(journal.tail(), began) - 1;
    const check = first === journal.head() ? journal.check() : first < began ? firstCheck(epoch) : '';
    if ((await siteLog.state())?.epoch !== epoch) {
      const begun = await siteLog.begin({ epoch, began, head: first, check });
      if (!begun) throw new MoveError('the database holds the journal of another site; give it an empty one');
    }
    const taken = momentNow();
    const state = await takeLog(siteLog, data);
    const lease = new Lease({ siteLog, term: state.term, taken, log: silent, lost: () => {} });
    try {
      for (let at = state.head; at < journal.head();) {
        const rows = journal.read(at, PAGE);
        const answer = await siteLog.append(state.term, at, rows);
        if (answer !== 'appended') throw new MoveError(`the journal cannot be moved: ${answer}`);
        at = rows.at(-1)!.seq;
        report(`journal: seq ${at} of ${journal.head()}`);
      }
    } finally {
      lease.close();
    }
    const after = await siteLog.state();
    if (after?.head !== journal.head() || (after.head >= began && after.check !== journal.check()))
      throw new MoveError('the journal differs in the database; empty the database and move again');
    return { epoch, head: after.head };
  } finally {
    journal.close();
  }
}

/** Moves the site back into the data folder, which must hold no `offhook.db`; an interrupted move starts again from the beginning. */
export async function moveToFolder({ data, url, report }: SiteMove): Promise<MovedSite> {
  const file = path.join(data, 'offhook.db');
  if (fs.existsSync(file)) throw new MoveError(`${file} is there: this folder holds a site already`);
  await using source = closing(openPostgresStore(url));
  await using siteLog = closing(openPostgresSiteLog(url));
  if ((await siteLog.state()) === null) throw new MoveError('the database holds no whole site');
  const taken = momentNow();
  const state = await takeLog(siteLog, data);
  const lease = new Lease({ siteLog, term: state.term, taken, log: silent, lost: () => {} });
  try {
    const copyFile = sqliteCopyFile(path.join(data, 'journal.db'), {
      log: silent,
      site: await siteId(source),
    });
    const journal = await attachCopy({ siteLog, state, copyFile, log: silent });
    const [epoch, head] = [journal.epoch, journal.head()];
    journal.close();
    report(`journal: seq ${head}`);
    const partial = `${file}.moving`;
    for (const part of PARTS) fs.rmSync(partial + part, { force: true });
    const tables = await copyBack(source, partial, report);
    await lease.renew();
    if (!lease.held()) throw new MoveError('another process took the log of this site');
    await markMovedAway(source);
    for (const part of PARTS) if (fs.existsSync(partial + part)) fs.renameSync(partial + part, file + part);
    return { tables, epoch, head };
  } finally {
    lease.close();
  }
}
async function copyBack(
  source: Store,
  file: string,
  report: (line: string) => void,
): Promise<readonly MovedTable[]> {
  await using target = closing(await openSqliteStore(file));
  for (const [feature, migrations] of Object.entries(SITE)) {
    await source.migrate(feature, migrations);
    await target.migrate(feature, migrations);
  }
  const moved: MovedTable[] = [];
  const from = source.db<Tables>();
  const tables = (await tablesOf(from)).filter((table) => !table.name.startsWith('offhook_'));
  for (const { name, columns } of tables) {
    const names = columns.map((column) => column.name);
    const [here, there] = [createSum(names), createSum(names)];
    let some: Rows[] = [];
    const write = async (): Promise<void> => {
      const rows = some;
      some = [];
      if (rows.length > 0)
        await target.transaction<Tables, void>(async (trx) => {
          for (const row of rows) await trx.insertInto(name).values(row).execute();
        });
    };
    for await (const row of from.selectFrom(name).selectAll().stream(PAGE)) {
      there.add(row);
      some.push(row);
      if (some.length >= AT_ONCE) await write();
    }
    await write();
    const to = target.db<Tables>();
    for await (const row of to.selectFrom(name).selectAll().stream(PAGE)) here.add(row);
    const [a, b] = [here.of(name), there.of(name)];
    if (a.rows !== b.rows || a.sum !== b.sum || a.hash !== b.hash)
      throw new MoveError(`${name} differs: ${a.rows} rows in SQLite, ${b.rows} in PostgreSQL; move again`);
    for (const column of columns) {
      if (!column.isAutoIncrementing) continue;
      const last = await lastNumber(from, name, column.name);
      await sql`delete from sqlite_sequence where name = ${name}`.execute(to);
      await sql`insert into sqlite_sequence (name, seq) values (${name}, ${last})`.execute(to);
    }
    report(`${name}: ${a.rows}`);
    moved.push(a);
  }
  return moved;
}
/** The greatest number ever assigned. */
async function lastNumber(db: Kysely<Tables>, table: string, column: string): Promise<number> {
  const { rows } = await sql<{ last: number | null }>`select pg_sequence_last_value(
    pg_get_serial_sequence(quote_ident(${table}), ${column})::regclass) as last`.execute(db);
  return Number(rows[0]?.last ?? 0);
}
