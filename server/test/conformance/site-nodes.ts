import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firstCheck } from '../../src/core/row-check.ts';
import type { SiteLog } from '../../src/ports/site-log.ts';
import type { NodeReport, ContactAddress, SiteNodes } from '../../src/ports/site-nodes.ts';

export interface NodesPlace {
  readonly log: SiteLog;
  open(): SiteNodes;
}
const reportOf = (name: string, more: Partial<NodeReport> = {}): NodeReport => ({
  name,
  holder: { id: `folder-${name}`, location: `host-${name}:/data` },
  url: `http://${name}.example.com:8080`,
  role: 'standby',
  engine: 'up',
  version: 3,
  problem: null,
  head: 0,
  bus: null,
  sip: null,
  calls: null,
  ...more,
});

/** Conformance of every SiteNodes. */
export function siteNodesConformance(adapter: string, open: () => Promise<NodesPlace>): void {
  const withNodes =
    (work: (nodes: SiteNodes, other: SiteNodes, log: SiteLog) => Promise<void>) => async () => {
      const place = await open();
      const { log } = place;
      const [one, other] = [place.open(), place.open()];
      try {
        await work(one, other, log);
      } finally {
        await one.close();
        await other.close();
        await log.close();
      }
    };
  describe(`site nodes (${adapter})`, () => {
    it(
      'site nodes - each report replaces the one before; the holder of the log is marked',
      withNodes(async (nodes, other, log) => {
        await log.begin({ epoch: 'e', began: 1, head: 9, check: firstCheck('e') });
        const [a, b] = [
          reportOf('a', { bus: true, sip: '10.0.0.1:5060' }),
          reportOf('b', { role: 'web', engine: 'none', head: 7 }),
        ];
        assert.equal(await nodes.report(b), true);
        assert.equal(await other.report(a), true);
        const failing = { ...a, engine: 'down', version: null, problem: 'no engine', head: null } as const;
        assert.equal(await other.report(failing), true);
        await log.take(b.holder, 60);
        const seen = await nodes.list();
        assert.deepEqual(
          seen.map(({ seconds, ...more }) => ({ ...more, fresh: seconds < 30 })),
          [
            { ...failing, holds: false, behind: null, drain: null, fresh: true },
            { ...b, holds: true, behind: 2, drain: null, fresh: true },
          ],
        );
      }),
    );
    it(
      'site nodes - another folder under the name of a living node is refused',
      withNodes(async (nodes, other) => {
        assert.equal(await nodes.report(reportOf('a')), true);
        const twin = { ...reportOf('a'), holder: { id: 'twin', location: 'elsewhere' } };
        assert.equal(await other.report(twin), false);
        assert.deepEqual(
          (await nodes.list()).map((node) => node.holder.id),
          ['folder-a'],
        );
        await other.forget(twin);
        assert.equal((await nodes.list()).length, 1);
        await nodes.forget(reportOf('a'));
        assert.equal(await other.report(twin), true);
      }),
    );
    it(
      'site nodes - a drain stays over reports of the node until it is ended, or another folder has its name',
      withNodes(async (nodes, other) => {
        assert.equal(await nodes.drain('a', 60), false);
        await nodes.report(reportOf('a'));
        assert.equal(await other.drain('a', 60), true);
        await nodes.report(reportOf('a', { calls: 3 }));
        const [seen] = await nodes.list();
        assert.ok(seen!.drain !== null && seen!.drain > 30 && seen!.drain <= 60);
        assert.equal(seen!.calls, 3);
        await other.drain('a', null);
        assert.equal((await nodes.list())[0]?.drain, null);
        await other.drain('a', -5);
        assert.ok((await nodes.list())[0]!.drain! <= -5);
        await nodes.forget(reportOf('a'));
        await nodes.report({ ...reportOf('a'), holder: { id: 'next', location: 'elsewhere' } });
        assert.equal((await nodes.list())[0]?.drain, null);
      }),
    );
    it(
      'site nodes - contact addresses of the holder replace those of the same phone, and are read from a mark on',
      withNodes(async (nodes, other, log) => {
        await log.begin({ epoch: 'e', began: 1, head: 0, check: firstCheck('e') });
        const [a, b] = [reportOf('a'), reportOf('b')];
        const addressOf = (endpoint: string, port: number, until = 4_000_000_000): ContactAddress => ({
          endpoint,
          uri: `sip:${endpoint}@192.0.2.1:${port}`,
          path: '<sip:198.51.100.1:5060;lr>',
          until,
        });
        await log.take(a.holder, 60);
        const [one, two, three] = [addressOf('1001', 1), addressOf('1001', 2), addressOf('1002', 1)];
        await nodes.keepAddresses(a.holder, [one, two, three]);
        const first = await other.addresses(0);
        assert.deepEqual(first.addresses, [one, two, three]);
        const gone = addressOf('1001', 2, 0);
        await nodes.keepAddresses(a.holder, [gone]);
        await nodes.keepAddresses(b.holder, [addressOf('1003', 1)]);
        const next = await other.addresses(first.mark);
        assert.deepEqual(next.addresses, [gone]);
        assert.deepEqual(await other.addresses(next.mark), { mark: next.mark, addresses: [] });
      }),
    );
    it(
      'site nodes - a wish and the key are the same for all; the first key stays',
      withNodes(async (nodes, other) => {
        assert.equal(await nodes.wished(), null);
        await nodes.wish('b');
        assert.equal(await other.wished(), 'b');
        await other.wish(null);
        assert.equal(await nodes.wished(), null);
        const key = Buffer.from('first key');
        assert.deepEqual(await nodes.key(key), key);
        assert.deepEqual(await other.key(Buffer.from('second')), key);
      }),
    );
  });
}
