import fs from 'node:fs/promises';
import path from 'node:path';
import { keepServer, packagesFor, pythonEnv } from './package-server.ts';
import { freePort } from './ports.ts';

const USER = 'anna';
const PASSWORD = 'secret-of-anna';
const SIGNED_IN = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;

/** A real Radicale from Debian's packages with one empty address book, on a port of its own. */
export async function startRadicale(t: { after(end: () => Promise<void>): void }) {
  const { tree, folder, start } = await packagesFor(t, 'Radicale', ['radicale', 'python3']);
  const port = await freePort();
  const users = path.join(folder, 'users');
  await fs.writeFile(users, `${USER}:${PASSWORD}\n`);
  const options = {
    'server-hosts': `127.0.0.1:${port}`,
    'storage-filesystem-folder': path.join(folder, 'store'),
    'auth-type': 'htpasswd',
    'auth-htpasswd-filename': users,
    'auth-htpasswd-encryption': 'plain',
    'auth-delay': '0',
  };
  const base = `http://127.0.0.1:${port}`;
  const address = `${base}/${USER}/contacts/`;
  /** Radicale's own reply, bypassing the service. */
  const ask = async (method: string, url: string, body?: string): Promise<void> => {
    const response = await fetch(url, {
      method,
      ...(body !== undefined && { body }),
      headers: { authorization: SIGNED_IN },
    });
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
    await response.body?.cancel();
  };
  const args = [
    '-m',
    'radicale',
    '--config',
    '',
    ...Object.entries(options).flatMap(([k, v]) => [`--${k}`, v]),
  ];
  const { stop, serve } = await keepServer(t, 'Radicale', {
    start: () => start('usr/bin/python3.14', args, pythonEnv(tree.root, folder)),
    answers: async () => (await fetch(base)).status > 0,
  });
  await ask(
    'MKCOL',
    address,
    '<mkcol xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><set><prop><resourcetype><collection/><c:addressbook/></resourcetype></prop></set></mkcol>',
  );
  return {
    config: { kind: 'carddav', title: 'Contacts', address, username: USER, password: PASSWORD } as const,
    base,
    version: tree.versions['radicale'] ?? '',
    folder,
    stop,
    serve,
    put: (name: string, properties: readonly string[]): Promise<void> =>
      ask(
        'PUT',
        `${address}${name}.vcf`,
        ['BEGIN:VCARD', 'VERSION:3.0', `UID:${name}`, ...properties, 'END:VCARD', ''].join('\r\n'),
      ),
    remove: (name: string): Promise<void> => ask('DELETE', `${address}${name}.vcf`),
  };
}
