/** Blocked networks in nftables: what a scanner outside still reaches, and what is left of it after a kill and after the end. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { SECRET, prepareCompany } from '../support/company.ts';
import { registerPhone } from '../support/phone.ts';
import { ADDRESSES, inNet, isInside, nftCommand, nftIn, noNets, runInNets } from '../support/nets/nets.ts';
import { storm } from '../support/storm.ts';
import type { StormOptions } from '../support/storm.ts';
import { until } from '../support/until.ts';
import { startSite } from '../support/site.ts';

interface Blocks {
  readonly enforced: boolean;
  readonly firewall: string;
  readonly networks: readonly { readonly id: number; readonly network: string }[];
}
interface Ruleset {
  readonly nftables: readonly {
    readonly set?: { readonly name: string; readonly elem?: readonly object[] };
    readonly rule?: { readonly expr: readonly { readonly counter?: { readonly packets: number } }[] };
  }[];
}
const OUTSIDE = '203.0.113.0/24';

if (isInside) {
  describe('firewall', () => {
    test('firewall - a scanner outside is dropped, and reaches the console; a kill leaves no trace, nor does the end', async (t) => {
      const bin = await mkdtemp(path.join(os.tmpdir(), 'offhook-nft-'));
      t.after(() => rm(bin, { recursive: true }));
      const words = nftCommand().map((word) => `'${word}'`);
      await writeFile(path.join(bin, 'nft'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 });
      await using site = await startSite({
        host: ADDRESSES.office,
        env: { OFFHOOK_FIREWALL: 'nftables', PATH: `${bin}:${process.env['PATH']}` },
        prepare: prepareCompany({ people: ['2001'] }),
      });
      const table = `offhook_${site.sip.port}`;
      const rules = (): Ruleset =>
        JSON.parse(nftIn('office', ['-j', 'list', 'table', 'inet', table])) as Ruleset;
      const elements = (): string =>
        JSON.stringify(
          rules().nftables.flatMap(({ set }) => (set?.name === 'blocked4' ? (set.elem ?? []) : [])),
        );
      const dropped = (): number =>
        rules()
          .nftables.flatMap(({ rule }) => rule?.expr ?? [])
          .reduce((n, e) => n + (e.counter?.packets ?? 0), 0);
      const { headers } = await site.person('1001').then(({ token }) => ({
        headers: { authorization: `Bearer ${token}` },
      }));
      const blocks = async (): Promise<Blocks> =>
        (await (await fetch(`${site.base}/api/v1/blocked-networks`, { headers })).json()) as Blocks;
      const health = async (): Promise<string | undefined> => {
        const reply = await fetch(`${site.base}/readyz`, { headers });
        return ((await reply.json()) as { details: Record<string, string> }).details['firewall'];
      };
      const scan = (
        count: number,
        linger_ms: number,
        more: Partial<StormOptions> = {},
        net = inNet('public'),
      ) =>
        storm(
          {
            server: { host: ADDRESSES.officeGateway, port: site.sip.port },
            from: [ADDRESSES.provider],
            method: 'REGISTER',
            account: 'scan{n}',
            number: '2001',
            agent: 'friendly-scanner',
            count,
            perSecond: 100,
            linger_ms,
            ...more,
          },
          net,
        );
      assert.equal(await health(), 'nftables: 0 networks');

      const first = await scan(10, 20_000);
      // The block comes after nine, which may be before the tenth was sent.
      assert.deepEqual(Object.keys(first.answers), ['401']);
      assert.ok(first.answers['401']! >= 9, JSON.stringify(first.answers));
      const listed = await until('the block', async () => {
        const found = await blocks();
        return found.networks.length > 0 && found.enforced && found;
      });
      assert.deepEqual([listed.networks.map((n) => n.network), listed.firewall], [[OUTSIDE], 'active']);
      assert.match(elements(), /203\.0\.113\.0.*24/);
      await until('health to show it', async () => (await health()) === 'nftables: 1 networks');
      const before = dropped();
      assert.deepEqual((await scan(5, 0, { method: 'INVITE' })).answers, {});
      await until('all five to be dropped', () => dropped() >= before + 5);

      // HTTP is open to the same network, so that a person there can end the block.
      const port = new URL(site.base).port;
      const script = `fetch('http://${ADDRESSES.officeGateway}:${port}/healthz').then((r) => process.exit(r.ok ? 0 : 1))`;
      const [program = '', ...args] = inNet('public', process.execPath, '-e', script);
      const { spawnSync } = await import('node:child_process');
      assert.equal(spawnSync(program, args).status, 0, 'the console is reached');

      // Own networks and loopback are neither blocked nor dropped.
      const server = { host: ADDRESSES.office, port: site.sip.port };
      const own = await scan(15, 20_000, { server, from: [ADDRESSES.office] }, []);
      assert.deepEqual(own.answers, { '401': 15 });
      assert.equal((await blocks()).networks.length, 1);
      await using desk = await registerPhone({
        server,
        extension: '2001',
        password: SECRET,
        at: { host: ADDRESSES.office, port: 0 },
      });
      assert.equal(desk.extension, '2001');

      await site.kill('SIGKILL');
      nftIn('office', [
        'add',
        'element',
        'inet',
        table,
        'blocked4',
        '{',
        '198.51.100.0/24',
        'timeout',
        '1h',
        '}',
      ]);
      assert.match(elements(), /203\.0\.113\.0/, 'a block holds while the service is away');
      await site.start();
      await until('what is not blocked to be removed', () => !elements().includes('198.51.100.0'));
      assert.match(elements(), /203\.0\.113\.0/);

      const gone = await fetch(`${site.base}/api/v1/blocked-networks/${listed.networks[0]!.id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${(await site.person('1001')).token}` },
      });
      assert.equal(gone.status, 200);
      await until('the network to be released', () => elements() === '[]');
      assert.deepEqual((await scan(1, 20_000)).answers, { '401': 1 });

      await site.stop();
      assert.doesNotMatch(nftIn('office', ['list', 'tables']), /offhook/);
    });
  });
} else {
  test('firewall - blocked networks in nftables', { skip: noNets() }, async () => {
    const { code, out } = await runInNets(import.meta.filename);
    assert.equal(code, 0, out);
  });
}
