/** Certificates of a real ACME server that checks the names at our listeners. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { silent } from '../../../core/log.ts';
import { listenChallenges } from '../../../http/acme-listener.ts';
import { HOST_LIMITS } from '../../../http/host.ts';
import { createSecureServer } from '../../../http/secure.ts';
import type { RenewalChange } from '../../../ports/certificates.ts';
import { createVirtualClock } from '../../memory/virtual-clock.ts';
import { startPebble } from '../../../../test/support/pebble.ts';
import { freePort } from '../../../../test/support/ports.ts';
import { askSecurely, shownAt } from '../../../../test/support/tls-client.ts';
import { issueCertificate } from '../local-authority.ts';
import { systemClock } from '../../../core/clock.ts';
import { AcmeRenewal, acmeFiles, dueAt } from './renewal.ts';

const never = new AbortController().signal;

async function scene(t: TestContext) {
  const [http, tls] = [await freePort(), await freePort()];
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-acme-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const pebble = await startPebble(t, { http, tls });
  const changes: RenewalChange[] = [];
  const shown = async () => new X509Certificate(await readFile(acmeFiles(folder).certificate));
  return {
    folder,
    http,
    tls,
    pebble,
    changes,
    changed: (one: RenewalChange) => void changes.push(one),
    shown,
  };
}

test('acme - a certificate by HTTP-01 is renewed at two thirds of its life; a failure keeps the one before', async (t) => {
  const { folder, http, pebble, changes, changed, shown } = await scene(t);
  // Waits between two questions pass at once.
  const clock = createVirtualClock();
  await clock.advance(Date.now() - clock.now());
  const renewal = new AcmeRenewal({
    folder,
    directory: pebble.directory,
    names: ['localhost'],
    email: 'admin@example.com',
    kind: 'http-01',
    trusted: pebble.trusted,
    clock: { ...clock, now: () => clock.now(), sleep: () => new Promise((resolve) => setImmediate(resolve)) },
    log: silent,
  });
  // Without the listener the server finds nothing.
  await renewal.round(changed, never);
  assert.equal(changes[0]?.renewed, false);
  assert.match(renewal.state().failed?.detail ?? '', /http-01 for localhost is invalid/);
  await clock.advance(16_500_000);

  const listener = await listenChallenges({ host: '127.0.0.1', port: http }, renewal.challenges.http, null);
  t.after(() => listener.close());
  await renewal.round(changed, never);
  assert.deepEqual(
    changes.map((one) => one.renewed),
    [false, true],
  );
  const first = await shown();
  assert.equal(first.checkHost('localhost'), 'localhost');
  const life = first.validToDate.getTime() - first.validFromDate.getTime();
  const due = renewal.state().due_at ?? 0;
  const share = (due - first.validFromDate.getTime()) / life;
  assert.ok(share >= 0.666 && share < 0.687, String(share));
  const account = await readFile(acmeFiles(folder).account, 'utf8');

  const ordered = await renewal.ordered();
  assert.ok(ordered !== null);
  const elsewhere = (names: readonly string[]) =>
    new AcmeRenewal({
      folder: path.join(folder, names.join()),
      directory: pebble.directory,
      names,
      email: null,
      kind: 'http-01',
      trusted: pebble.trusted,
      clock,
      log: silent,
    });
  const standby = elsewhere(['localhost']);
  assert.equal(await standby.ordered(), null);
  assert.equal(await standby.keep({ ...ordered, key: account }), false);
  assert.equal(await elsewhere(['example.com']).keep(ordered), false);
  assert.equal(await standby.keep(ordered), true);
  await standby.round(changed, never);
  assert.deepEqual([standby.state().due_at, changes.length], [due, 2], 'another node orders none of its own');

  await renewal.round(changed, never);
  assert.equal(changes.length, 2, 'nothing is ordered before it is due');
  await clock.advance(due - clock.now());
  await listener.close();
  // A restart makes it forget the check of this name, which it else reuses in one of a hundred orders.
  await pebble.stop();
  await pebble.serve();
  await renewal.round(changed, never);
  assert.equal(changes[2]?.renewed, false);
  assert.equal((await shown()).serialNumber, first.serialNumber);
  assert.equal(dueAt(await readFile(acmeFiles(folder).certificate, 'utf8')), due);
  assert.equal(await readFile(acmeFiles(folder).account, 'utf8'), account);
});

test('acme - a name is proven by TLS-ALPN-01 at the HTTPS port, which serves others meanwhile', async (t) => {
  const { folder, tls, pebble, changes, changed, shown } = await scene(t);
  const renewal = new AcmeRenewal({
    folder,
    directory: pebble.directory,
    names: ['localhost'],
    email: null,
    kind: 'tls-alpn-01',
    trusted: pebble.trusted,
    clock: systemClock,
    log: silent,
  });
  const { server, use } = createSecureServer(
    (_request, response) => void response.end('served'),
    {
      pair: await issueCertificate(folder, ['localhost', '127.0.0.1'], Date.now()),
      challenge: renewal.challenges.alpn,
    },
    HOST_LIMITS,
  );
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: tls }, resolve));
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const ca = await readFile(path.join(folder, 'ca.pem'), 'utf8');
  const rounds = renewal.round(changed, never);
  assert.equal((await askSecurely(tls, '/', { ca })).body, 'served');
  await rounds;
  assert.deepEqual(
    changes.map((one) => one.renewed),
    [true],
    JSON.stringify(changes),
  );
  const files = acmeFiles(folder);
  use({
    certificate: await readFile(files.certificate, 'utf8'),
    key: await readFile(files.key, 'utf8'),
  });
  const now = await shownAt(tls, await pebble.root(), 'localhost');
  assert.equal(now.serialNumber, (await shown()).serialNumber);
});
