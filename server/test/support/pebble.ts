/** Pebble, the ACME server for tests of Let's Encrypt, from Debian's packages: it really checks each name. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { issueCertificate } from '../../src/adapters/certificates/local-authority.ts';
import { keepServer, packagesFor } from './package-server.ts';
import { freePort } from './ports.ts';
import { askSecurely } from './tls-client.ts';

export interface PebbleOptions {
  /** Ports at which it asks for the challenges. */
  readonly http: number;
  readonly tls: number;
}
export async function startPebble(
  t: { after(end: () => Promise<void>): void },
  { http, tls }: PebbleOptions,
) {
  const { folder, start, tree } = await packagesFor(t, 'pebble', ['pebble']);
  const [port, management] = [await freePort(), await freePort()];
  const issued = await issueCertificate(folder, ['127.0.0.1', 'localhost'], Date.now());
  const file = (name: string): string => path.join(folder, name);
  await mkdir(folder, { recursive: true });
  await writeFile(file('server.pem'), issued.certificate);
  await writeFile(file('server.key'), issued.key);
  await writeFile(
    file('config.json'),
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${management}`,
        certificate: file('server.pem'),
        privateKey: file('server.key'),
        httpPort: http,
        tlsPort: tls,
        ocspResponderURL: '',
        externalAccountBindingRequired: false,
      },
    }),
  );
  const ca = await readFile(file('ca.pem'), 'utf8');
  // It answers 400 to a client without a name.
  const headers = { 'user-agent': 'offhook-test' };
  const { stop, serve } = await keepServer(t, 'pebble', {
    // What it checked before is valid for one of a hundred new orders, and many of its nonces are refused.
    start: () =>
      start('usr/bin/pebble', ['-config', file('config.json'), '-strict'], {
        PEBBLE_VA_NOSLEEP: '1',
        PEBBLE_AUTHZREUSE: '0',
        PEBBLE_WFE_NONCEREJECT: '20',
      }),
    answers: async () => (await askSecurely(port, '/dir', { ca, headers })).status === 200,
  });
  return {
    directory: `https://127.0.0.1:${port}/dir`,
    version: tree.versions['pebble'] ?? '',
    /** File of the authority that its own address is checked against. */
    trusted: file('ca.pem'),
    ca,
    /** Root of the certificates that it issues. */
    root: async () => (await askSecurely(management, '/roots/0', { ca, headers })).body,
    stop,
    serve,
  };
}
