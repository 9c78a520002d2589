import { after, before } from 'node:test';
import { storeConformance } from '../../../test/conformance/store.ts';
import { startPostgres } from '../../../test/support/postgres.ts';
import type { TestPostgres } from '../../../test/support/postgres.ts';
import { openPostgresStore } from './store.ts';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(async () => {
  await server[Symbol.asyncDispose]();
});

storeConformance('postgres', async () => openPostgresStore(await server.createDatabase()));
