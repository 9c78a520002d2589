import { after } from 'node:test';
import { openPostgresStore } from '../../src/adapters/postgres/store.ts';
import { startPostgres } from './postgres.ts';
import { runTestsOver } from './test-store.ts';

/** From now on, the stores of this process's tests are databases of one PostgreSQL server; one that is opened again is the same. */
export async function usePostgresStores(): Promise<void> {
  const server = await startPostgres();
  after(() => server[Symbol.asyncDispose]());
  const urls = new Map<string, Promise<string>>();
  runTestsOver(async (file) => {
    const url = urls.get(file) ?? server.createDatabase();
    urls.set(file, url);
    return openPostgresStore(await url);
  });
}
