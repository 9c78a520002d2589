import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import { createVirtualClock } from '../memory/virtual-clock.ts';
import { CertificateKeeper } from './keeper.ts';
import { issueCertificate } from './local-authority.ts';

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

async function keepGiven(t: TestContext) {
  const home = await mkdtemp(path.join(os.tmpdir(), 'offhook-keeper-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const clock = createVirtualClock();
  const given = path.join(home, 'given');
  await mkdir(given);
  const own = { certificate: path.join(given, 'chain.pem'), key: path.join(given, 'privkey.pem') };
  const give = async (): Promise<string> => {
    const { certificate, key } = await issueCertificate(given, HOSTS, clock.now());
    await writeFile(own.certificate, certificate);
    await writeFile(own.key, key);
    return certificate;
  };
  const folder = path.join(home, 'tls');
  const open = () => new CertificateKeeper({ folder, own, trusted: null, clock, log: silent });
  const keeper = open();
  const installed = () => readFile(keeper.files.certificate, 'utf8');
  let taken = 0;
  const take = async (): Promise<void> => void (taken += 1);
  return { keeper, open, give, installed, take, taken: () => taken };
}

test('keeper - a renewed pair that one program installs is taken in by the others', async (t) => {
  const { keeper, give, installed, take, taken } = await keepGiven(t);
  await give();
  await keeper.ensure(HOSTS);
  await keeper.renew(take);
  assert.equal(taken(), 0, 'no program has used another pair');
  const renewed = await give();
  // The question of a web node for the certificate, between two rounds of the watch.
  await keeper.ensure(HOSTS, 'http');
  assert.equal(await installed(), renewed);
  await keeper.renew(take);
  await keeper.renew(take);
  assert.equal(taken(), 1);
});

test('keeper - a renewed pair is taken in after the end of the process that installed it, once the engine answers', async (t) => {
  const { keeper, open, give, take, taken } = await keepGiven(t);
  await give();
  await keeper.ensure(HOSTS);
  await give();
  const away = (): Promise<void> => Promise.reject(new ServiceError('engine_unavailable', 'it is away'));
  await assert.rejects(keeper.renew(away), /it is away/);
  // The engine of the former process lives on and is adopted.
  const next = open();
  await next.ensure(HOSTS);
  await next.renew(take);
  await next.renew(take);
  assert.equal(taken(), 1);
});

test('keeper - a pair that the engine refused is not installed by the next program that asks', async (t) => {
  const { keeper, give, installed, take } = await keepGiven(t);
  const first = await give();
  await keeper.ensure(HOSTS);
  await give();
  let asked = 0;
  await keeper.renew(async () => {
    asked += 1;
    if (asked === 1) throw new Error('no TLS handshake');
  });
  assert.equal(asked, 2, 'the former pair is taken in again');
  await keeper.ensure(HOSTS, 'http');
  assert.equal(await installed(), first);
  const next = await give();
  await keeper.renew(take);
  assert.equal(await installed(), next);
});
