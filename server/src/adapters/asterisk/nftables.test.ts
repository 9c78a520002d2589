/** The script that the service passes to nftables; `server/test/scenarios/firewall.test.ts` runs the real program. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silent } from '../../core/log.ts';
import { createVirtualClock } from '../memory/virtual-clock.ts';
import { Nftables, tableOf } from './nftables.ts';

/** A program `nft` that keeps its input and ends with the last line given here. */
async function fakeNft(t: { after(work: () => Promise<void>): void }, end: string) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-nft-'));
  const before = process.env['PATH'];
  process.env['PATH'] = `${folder}:${before}`;
  t.after(async () => {
    process.env['PATH'] = before;
    await rm(folder, { recursive: true });
  });
  const set = (last: string): Promise<void> =>
    writeFile(path.join(folder, 'nft'), `#!/bin/sh\ncat > ${folder}/given\n${last}\n`, { mode: 0o755 });
  await set(end);
  return { set, given: () => readFile(path.join(folder, 'given'), 'utf8') };
}

test('nftables - one transaction replaces the table, with the rest of the time of each block', async (t) => {
  const { given } = await fakeNft(t, 'exit 0');
  const clock = createVirtualClock();
  const firewall = new Nftables({ sipPort: 5060, clock, log: silent });
  const now = clock.now();
  const blocks = [
    { network: '203.0.113.0/24', until_ms: now + 90_500 },
    { network: '2001:db8:0:1::/64', until_ms: now + 1 },
    { network: '198.51.100.0/24', until_ms: now },
  ];
  await firewall.replace(blocks, [5060, 5061]);
  const written = await given();
  assert.equal(written, tableOf('offhook_5060', blocks, [5060, 5061], now));
  assert.match(written, /^table inet offhook_5060 \{ \}\ndelete table inet offhook_5060\n/);
  assert.match(written, /blocked4 .* elements = \{ 203\.0\.113\.0\/24 timeout 91s \};/);
  assert.match(written, /blocked6 .* elements = \{ 2001:db8:0:1::\/64 timeout 1s \};/);
  assert.equal(written.match(/th dport \{ 5060, 5061 \} .* drop/g)?.length, 2);
  assert.deepEqual(firewall.state(), { state: 'active', networks: 3 });
  await firewall.close();
  assert.equal(await given(), 'table inet offhook_5060 { }\ndelete table inet offhook_5060\n');
});

test('nftables - a value that is no network or port never reaches the program', async (t) => {
  const { given } = await fakeNft(t, 'exit 0');
  const clock = createVirtualClock();
  const firewall = new Nftables({ sipPort: 5060, clock, log: silent });
  for (const network of ['0.0.0.0/0', '203.0.113.7/24', '203.0.113.0/24 }; flush ruleset; #', '::/0', '']) {
    await firewall.replace([{ network, until_ms: clock.now() + 9_000 }], [5060]);
    assert.match(JSON.stringify(firewall.state()), /unavailable.*must be a network/, network);
  }
  await firewall.replace([], [70_000]);
  assert.match(JSON.stringify(firewall.state()), /unavailable.*whole number/);
  await assert.rejects(given(), { code: 'ENOENT' });
  assert.throws(() => new Nftables({ sipPort: 0, clock, log: silent }), /whole number/);
});

test('nftables - without the right to change it the state gives the reason, and a later try can succeed', async (t) => {
  const { set, given } = await fakeNft(t, 'echo "Operation not permitted (you must be root)" >&2; exit 1');
  const clock = createVirtualClock();
  const firewall = new Nftables({ sipPort: 5060, clock, log: silent });
  await firewall.replace([], [5060]);
  const detail = 'Operation not permitted (you must be root)';
  assert.deepEqual(firewall.state(), { state: 'unavailable', detail });
  const before = await given();
  await firewall.close();
  assert.equal(await given(), before, 'what never worked has nothing to remove');
  await set('exit 0');
  await firewall.replace([], [5060]);
  assert.deepEqual(firewall.state(), { state: 'active', networks: 0 });
});
