import fs from 'node:fs/promises';
import path from 'node:path';
import { Attribute, Change, Client } from 'ldapts';
import { issueCertificate } from '../../src/adapters/certificates/local-authority.ts';
import { keepServer, packagesFor } from './package-server.ts';
import { freePort } from './ports.ts';
import { PATIENCE_MS } from './until.ts';

const BASE = 'dc=example,dc=com';
const ADMIN = `cn=admin,${BASE}`;
const PASSWORD = 'secret-of-the-directory';

/** A real slapd from Debian's packages with an empty directory, on a port of its own. */
export async function startSlapd(t: { after(end: () => Promise<void>): void }) {
  const { tree, folder, start } = await packagesFor(t, 'slapd', ['slapd']);
  const port = await freePort();
  const securePort = await freePort();
  const issued = await issueCertificate(folder, ['127.0.0.1'], Date.now());
  await fs.writeFile(path.join(folder, 'certificate.pem'), issued.certificate);
  await fs.writeFile(path.join(folder, 'key.pem'), issued.key);
  const schemas = ['core', 'cosine', 'inetorgperson'].map(
    (name) => `include ${path.join(tree.root, 'etc/ldap/schema', `${name}.schema`)}`,
  );
  const conf = path.join(folder, 'slapd.conf');
  await fs.mkdir(path.join(folder, 'db'));
  await fs.writeFile(
    conf,
    [
      ...schemas,
      `modulepath ${path.join(tree.root, 'usr/lib/ldap')}`,
      'moduleload back_mdb',
      `pidfile ${path.join(folder, 'pid')}`,
      `TLSCertificateFile ${path.join(folder, 'certificate.pem')}`,
      `TLSCertificateKeyFile ${path.join(folder, 'key.pem')}`,
      'database mdb',
      'maxsize 104857600',
      `suffix ${BASE}`,
      `rootdn ${ADMIN}`,
      `rootpw ${PASSWORD}`,
      `directory ${path.join(folder, 'db')}`,
      '',
    ].join('\n'),
  );
  const address = `ldap://127.0.0.1:${port}`;
  const secure = `ldaps://127.0.0.1:${securePort}`;
  const as = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const client = new Client({ url: address, timeout: PATIENCE_MS });
    try {
      await client.bind(ADMIN, PASSWORD);
      return await work(client);
    } finally {
      await client.unbind();
    }
  };
  const { stop, serve } = await keepServer(t, 'slapd', {
    start: () => start('usr/sbin/slapd', ['-h', `${address} ${secure}`, '-f', conf, '-d', '0']),
    answers: () => as(() => Promise.resolve(true)),
  });
  await as((client) =>
    client.add(BASE, { objectClass: ['dcObject', 'organization'], dc: 'example', o: 'Example' }),
  );
  const dnOf = (uid: string): string => `uid=${uid},${BASE}`;
  return {
    config: {
      kind: 'ldap',
      title: 'Directory',
      address,
      username: ADMIN,
      password: PASSWORD,
      ldap: { base: BASE },
    } as const,
    version: tree.versions['slapd'] ?? '',
    /** By TLS, with the chain up to the authority. */
    secure: { address: secure, ca: issued.certificate },
    stop,
    serve,
    add: (
      entries: readonly (readonly [uid: string, fields: Record<string, string | string[]>])[],
    ): Promise<void> =>
      as(async (client) => {
        for (const [uid, fields] of entries)
          await client.add(dnOf(uid), { objectClass: 'inetOrgPerson', sn: uid, ...fields });
      }),
    set: (uid: string, type: string, values: string[]): Promise<void> =>
      as((client) =>
        client.modify(
          dnOf(uid),
          new Change({ operation: 'replace', modification: new Attribute({ type, values }) }),
        ),
      ),
    remove: (uid: string): Promise<void> => as((client) => client.del(dnOf(uid))),
  };
}
