import { siteNodesConformance } from '../../../test/conformance/site-nodes.ts';
import { usePostgres } from '../../../test/support/use-site.ts';
import { openPostgresSiteLog } from './site-log.ts';
import { openPostgresSiteNodes } from './site-nodes.ts';

const server = usePostgres();

siteNodesConformance('postgres', async () => {
  const url = await server().createDatabase();
  return { log: openPostgresSiteLog(url), open: () => openPostgresSiteNodes(url) };
});
