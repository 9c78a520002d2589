import { siteNodesConformance } from '../../../test/conformance/site-nodes.ts';
import { openMemorySiteLog, sharedLog } from './site-log.ts';
import { openMemorySiteNodes, sharedNodes } from './site-nodes.ts';

siteNodesConformance('memory', () => {
  const [log, nodes] = [sharedLog(), sharedNodes()];
  return Promise.resolve({ log: openMemorySiteLog(log), open: () => openMemorySiteNodes(nodes, log) });
});
