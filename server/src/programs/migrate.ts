/**
 * `npm run migrate`: moves the records of this site (history, recordings, exports) from the data folder into the PostgreSQL of
 * OFFHOOK_DATABASE_URL. The service must be stopped. The next run continues an interrupted one.
 */
import path from 'node:path';
import { openPostgresStore } from '../adapters/postgres/store.ts';
import { readConfig } from '../boot/config.ts';
import { messageOf } from '../core/errors.ts';
import { lockFolder } from '../core/folder-lock.ts';
import { moveRecords } from '../boot/record-move.ts';
import type { MovedTable } from '../boot/record-move.ts';

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

try {
  const config = readConfig(process.env, process.argv.slice(2));
  if (config.databaseUrl === null)
    throw new Error('OFFHOOK_DATABASE_URL: expected where the records are to go');
  const lock = lockFolder(config.data);
  try {
    await using target = closing(openPostgresStore(config.databaseUrl, { moving: true }));
    const file = path.join(config.data, 'offhook.db');
    const tables = await moveRecords(file, target.store, (line) => console.log(`  ${line}`));
    console.log(`The same on both sides:\n${shown(tables)}`);
    console.log('Start the service with OFFHOOK_DATABASE_URL now; offhook.db was not changed.');
  } finally {
    lock.release();
  }
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}

function closing(store: ReturnType<typeof openPostgresStore>) {
  return { store, [Symbol.asyncDispose]: () => store.close() };
}
