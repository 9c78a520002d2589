import { after, before } from 'node:test';
import { siteNodesConformance } from '../../../test/conformance/site-nodes.ts';
import { startPostgres } from '../../../test/support/postgres.ts';
import type { TestPostgres } from '../../../test/support/postgres.ts';
import { openPostgresSiteLog } from './site-log.ts';
import { openPostgresSiteNodes } from './site-nodes.ts';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server[Symbol.asyncDispose]());

siteNodesConformance('postgres', async () => {
  const url = await server.createDatabase();
  return { log: openPostgresSiteLog(url), open: () => openPostgresSiteNodes(url) };
});
