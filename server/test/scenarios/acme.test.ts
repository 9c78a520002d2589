/** A service gets its certificate from a real ACME server by its own HTTPS port. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { startPebble } from '../support/pebble.ts';
import { freePort } from '../support/ports.ts';
import { startSite } from '../support/site.ts';
import { askSecurely, shownAt } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

/** The service looks at issued files every 30 s. */
const WATCHED_MS = 120_000;

test('acme - HTTPS begins with the own authority and shows the issued certificate within a minute', async (t) => {
  const [https, http] = [await freePort(), await freePort()];
  const pebble = await startPebble(t, { http, tls: https });
  await using site = await startSite({
    wait: 'answers',
    env: {
      OFFHOOK_HTTPS_LISTEN: `127.0.0.1:${https}`,
      OFFHOOK_ACME_DIRECTORY: pebble.directory,
      OFFHOOK_ACME_NAMES: 'localhost',
      OFFHOOK_ACME_TERMS: 'agreed',
      OFFHOOK_ACME_CHALLENGE: 'tls-alpn-01',
      OFFHOOK_TLS_TRUSTED: pebble.trusted,
    },
  });
  const root = await pebble.root();
  await until('HTTPS with a certificate of the own authority', async () => {
    const ca = await readFile(path.join(site.dataDir, 'tls', 'ca.pem'), 'utf8');
    return (await askSecurely(https, '/healthz', { ca })).status === 200;
  });
  const issued = await until(
    'the certificate of the ACME server',
    () => shownAt(https, root, 'localhost').catch(() => null),
    { ms: WATCHED_MS, every: 500, seen: () => ({ said: site.tail() }) },
  );
  assert.equal(issued.checkHost('localhost'), 'localhost');
  const { token } = await site.person('1001');
  const headers = { authorization: `Bearer ${token}` };
  const ready = (await (await fetch(`${site.base}/readyz`, { headers })).json()) as {
    details: Record<string, string>;
  };
  assert.match(ready.details['certificate_renewal'] ?? '', /^next order at /);
});
