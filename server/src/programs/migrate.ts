/**
 * `npm run migrate`: moves the records of this site (history, recordings, exports), or with
 * OFFHOOK_SITE_STORE=postgres the whole site, from the data folder into the PostgreSQL of OFFHOOK_DATABASE_URL.
 * `-- --back` moves a whole site back. The service must be stopped. The next run continues an interrupted one.
 */
import path from 'node:path';
import { openPostgresStore } from '../adapters/postgres/store.ts';
import { readConfig } from '../boot/config.ts';
import { messageOf } from '../core/errors.ts';
import { lockFolder } from '../core/folder-lock.ts';
import { moveTables } from '../boot/record-move.ts';
import type { MovedTable } from '../boot/record-move.ts';
import { moveToFolder, moveToServer } from '../boot/site-move.ts';
import { RECORDS } from '../boot/site-tables.ts';

process.umask(0o077);

function shown(tables: readonly MovedTable[]): string {
  const width = Math.max(...tables.map(({ table }) => table.length));
  const lines = tables.map(
    ({ table, rows, sum, hash }) =>
      `  ${table.padEnd(width)}  ${String(rows).padStart(10)}  ${String(sum).padStart(22)}  ${hash}`,
  );
  const head = `  ${'table'.padEnd(width)}  ${'rows'.padStart(10)}  ${'sum of numbers'.padStart(22)}  hash of all rows`;
  return [head, ...lines].join('\n');
}

async function moveRecords(data: string, url: string): Promise<void> {
  await using target = closing(openPostgresStore(url, { moving: true }));
  const tables = await moveTables(path.join(data, 'offhook.db'), target.store, RECORDS, report);
  console.log(`The same on both sides:\n${shown(tables)}`);
  console.log('Start the service with OFFHOOK_DATABASE_URL now; offhook.db was not changed.');
}
async function moveSite(data: string, url: string, back: boolean): Promise<void> {
  const move = back ? moveToFolder : moveToServer;
  const { tables, epoch, head } = await move({ data, url, report });
  console.log(`The same on both sides:\n${shown(tables)}`);
  console.log(`Events up to ${head} of epoch ${epoch}: the cursors of clients go on.`);
  console.log(
    back
      ? 'Start the service without OFFHOOK_SITE_STORE now; the database is marked as moved away.'
      : 'Start the service with OFFHOOK_SITE_STORE=postgres now; offhook.db.moved is what was moved.',
  );
}

try {
  const args = process.argv.slice(2);
  const back = args.includes('--back');
  const config = readConfig(
    process.env,
    args.filter((arg) => arg !== '--back'),
  );
  if (config.databaseUrl === null)
    throw new Error('OFFHOOK_DATABASE_URL: expected the database to move to or from');
  const lock = lockFolder(config.data);
  try {
    if (back || config.siteStore === 'postgres') await moveSite(config.data, config.databaseUrl, back);
    else await moveRecords(config.data, config.databaseUrl);
  } finally {
    lock.release();
  }
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}

function report(line: string): void {
  console.log(`  ${line}`);
}
function closing(store: ReturnType<typeof openPostgresStore>) {
  return { store, [Symbol.asyncDispose]: () => store.close() };
}
