import { after } from 'node:test';
import fc from 'fast-check';
import { openPostgresStore } from '../../src/adapters/postgres/store.ts';
import { startPostgres } from './postgres.ts';
import { runTestsOver } from './test-store.ts';

/** From now on, the stores of this process's tests are databases of one PostgreSQL server; one that is opened again is the same. */
export async function usePostgresStores(): Promise<void> {
  const server = await startPostgres();
  after(() => server[Symbol.asyncDispose]());
  // To shrink what a property fails with takes thousands of databases, so that only the limit of the file would show.
  fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });
  const urls = new Map<string, Promise<string>>();
  runTestsOver(async (file) => {
    const url = urls.get(file) ?? server.createDatabase();
    urls.set(file, url);
    return openPostgresStore(await url);
  });
}
