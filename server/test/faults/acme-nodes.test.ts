/** Two engine nodes with certificates by ACME: the next leading node shows the ordered one from its first handshake on. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { startNodes } from '../support/nodes.ts';
import { startPebble } from '../support/pebble.ts';
import { freePort } from '../support/ports.ts';
import { startPostgres } from '../support/postgres.ts';
import { shownAt } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

/** A node looks at issued files every 30 s. */
const WATCHED_MS = 120_000;

test('acme nodes - the next leading node shows the certificate that the former one ordered, and orders none', async (t) => {
  const [https, http] = [await freePort(), await freePort()];
  const pebble = await startPebble(t, { http, tls: https });
  await using server = await startPostgres();
  const url = await server.createDatabase();
  await using nodes = await startNodes(
    { a: url, b: url },
    {
      OFFHOOK_HTTPS_LISTEN: `127.0.0.1:${https}`,
      OFFHOOK_ACME_DIRECTORY: pebble.directory,
      OFFHOOK_ACME_NAMES: 'localhost',
      OFFHOOK_ACME_TERMS: 'agreed',
      OFFHOOK_ACME_CHALLENGE: 'tls-alpn-01',
      OFFHOOK_TLS_TRUSTED: pebble.trusted,
    },
  );
  const { a, b } = nodes;
  const root = await pebble.root();
  const shown = async (): Promise<string> => (await shownAt(https, root, 'localhost')).serialNumber;
  const issued = await until('the issued certificate', () => shown().catch(() => null), {
    ms: WATCHED_MS,
    every: 500,
    seen: () => ({ said: a.site.tail() }),
  });
  const kept = (name: string): Promise<string> =>
    readFile(path.join(b.site.dataDir, 'tls', 'acme', name), 'utf8').catch(() => '');
  await until('the standby to keep it', async () => (await kept('order.json')) !== '', {
    ms: WATCHED_MS,
    seen: () => ({ said: b.site.tail() }),
  });
  const engine = a.site.enginePid()!;
  await a.site.kill('SIGKILL');
  process.kill(engine, 'SIGKILL');
  const first = await until(
    'the first handshake of the next node',
    () =>
      shown().catch((error: NodeJS.ErrnoException) =>
        (error.code ?? '').startsWith('ECONN') ? null : String(error),
      ),
    { ms: WATCHED_MS, every: 20, seen: () => ({ said: b.site.tail() }) },
  );
  assert.equal(first, issued);
  await b.leads();
  assert.equal(await kept('account.pem'), '', 'it has ordered nothing');
});
