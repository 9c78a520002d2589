import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import { silent } from '../core/log.ts';
import type { Lease } from '../journal/lease.ts';
import type { LogHolder } from '../ports/site-log.ts';
import type { NodeReport, SeenNode, SiteNodes } from '../ports/site-nodes.ts';
import { ActiveNode } from './node.ts';

const reportOf = (name: string, role: NodeReport['role'], calls: number): NodeReport => ({
  name,
  holder: { id: name, location: name },
  url: `http://${name}`,
  role,
  engine: 'up',
  version: 1,
  problem: null,
  head: 1,
  calls,
  bus: null,
});
test('node - a call that began after the report of the node keeps it from passing the site on', async () => {
  const clock = createVirtualClock();
  let calls = 0;
  let drain: number | null = null;
  let stored = reportOf('a', 'active', 0);
  const seen = (report: NodeReport, more: Partial<SeenNode>): SeenNode => ({
    ...report,
    seconds: 0,
    holds: false,
    behind: 0,
    drain: null,
    ...more,
  });
  const nodes: Partial<SiteNodes> = {
    report: async (report) => {
      stored = report;
      // The call and the drain begin while the report is stored.
      [calls, drain] = [1, 600];
      return true;
    },
    list: async () => [seen(stored, { drain }), seen(reportOf('b', 'standby', 0), {})],
    wished: async () => null,
  };
  const passed: LogHolder[] = [];
  const node = new ActiveNode({
    nodes: nodes as SiteNodes,
    lease: {} as Lease,
    report: async () => reportOf('a', 'active', calls),
    clock,
    log: silent,
    pass: (to) => void passed.push(to),
    end: (why) => assert.fail(why),
  });
  await clock.advance(0);
  assert.equal(stored.calls, 0);
  assert.deepEqual(passed, []);
  nodes.report = async (report) => {
    stored = report;
    calls = 0;
    return true;
  };
  await clock.advance(1_000);
  assert.deepEqual(passed, [{ id: 'b', location: 'b' }]);
  await node.close();
});
