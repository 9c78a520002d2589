import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { silent } from '../../core/log.ts';
import { createVirtualClock } from '../memory/virtual-clock.ts';
import { CertificateKeeper } from './keeper.ts';

const HOSTS = ['203.0.113.10', 'pbx.example.com', 'localhost'];
const DAY_MS = 86_400_000;

async function keep(t: TestContext) {
  const home = await mkdtemp(path.join(os.tmpdir(), 'offhook-keeper-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const clock = createVirtualClock();
  const folder = path.join(home, 'tls');
  const keeper = new CertificateKeeper({ folder, own: null, trusted: null, clock, log: silent });
  const shown = async () => new X509Certificate(await readFile(keeper.files.certificate));
  return { keeper, clock, folder, shown };
}

test('keeper - issues a certificate of the own authority for names and addresses, and keeps it', async (t) => {
  const { keeper, shown } = await keep(t);
  await keeper.ensure(HOSTS);
  const first = await shown();
  for (const name of HOSTS.slice(1)) assert.equal(first.checkHost(name), name);
  assert.equal(first.checkIP(HOSTS[0]!), HOSTS[0]);
  await keeper.ensure(HOSTS);
  await keeper.renew(() => Promise.reject(new Error('nothing is to be taken in')));
  assert.equal((await shown()).serialNumber, first.serialNumber);
  await keeper.ensure([...HOSTS, 'new.example.com']);
  assert.equal((await shown()).checkHost('new.example.com'), 'new.example.com');
});

test('keeper - a certificate for two programs at once is for the hosts of both', async (t) => {
  const { keeper, shown } = await keep(t);
  await Promise.all([keeper.ensure(HOSTS), keeper.ensure(['web.example.com'], 'http')]);
  for (const name of [...HOSTS.slice(1), 'web.example.com'])
    assert.equal((await shown()).checkHost(name), name);
});

test('keeper - renews a certificate of the own authority before its end, and issues a lost one again', async (t) => {
  const { keeper, clock, folder, shown } = await keep(t);
  await keeper.ensure(HOSTS);
  const first = await shown();
  let taken = 0;
  const take = (): Promise<void> => Promise.resolve(void (taken += 1));
  await keeper.renew(take);
  assert.equal(taken, 0);
  await clock.advance(first.validToDate.getTime() - clock.now() - 29 * DAY_MS);
  await keeper.renew(take);
  assert.equal(taken, 1);
  assert.ok((await shown()).validToDate > first.validToDate);
  await rm(folder, { recursive: true });
  await keeper.ensure(HOSTS);
  assert.equal((await shown()).checkHost('localhost'), 'localhost');
});
