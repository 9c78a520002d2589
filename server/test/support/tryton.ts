import { once } from 'node:events';
import fs from 'node:fs/promises';
import path from 'node:path';
import { keepServer, packagesFor, pythonEnv } from './package-server.ts';
import { freePort } from './ports.ts';
import { PATIENCE_MS } from './until.ts';

const PASSWORD = 'secret-of-the-admin';

/** A real Tryton from Debian's packages with the party module and an empty database, on a free port. */
export async function startTryton(t: { after(end: () => Promise<void>): void }) {
  const packages = ['tryton-server', 'tryton-modules-party'];
  const { cache, tree, folder, start: run } = await packagesFor(t, 'Tryton', packages);
  const port = await freePort();
  const conf = path.join(folder, 'trytond.conf');
  await fs.writeFile(
    conf,
    `[database]\nuri = sqlite://\npath = ${folder}\n[web]\nlisten = 127.0.0.1:${port}\n`,
  );
  const passwordFile = path.join(folder, 'password');
  await fs.writeFile(passwordFile, PASSWORD);
  const env = { ...pythonEnv(tree.root, folder), TRYTONPASSFILE: passwordFile };
  const start = (program: string, args: readonly string[]) =>
    run(
      'usr/bin/python3.14',
      [path.join(tree.root, 'usr', 'bin', program), '-c', conf, '-d', 'crm', ...args],
      env,
    );
  const database = path.join(folder, 'crm.sqlite');
  // Creating the database takes a dozen seconds, so it is cached for each version of the packages.
  const made = path.join(cache, `${path.basename(tree.root)}-party.sqlite`);
  if ((await fs.stat(made).catch(() => null)) === null) {
    await fs.writeFile(database, '');
    const admin = start('trytond-admin', [
      '-u',
      'party',
      '--activate-dependencies',
      '--email',
      'admin@example.com',
    ]);
    const [code] = (await once(admin.child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`the database of Tryton was not made: ${admin.words()}`);
    const part = `${made}.${process.pid}`;
    await fs.copyFile(database, part);
    await fs.rename(part, made);
  } else await fs.copyFile(made, database);

  const base = `http://127.0.0.1:${port}/crm`;
  const { stop, serve } = await keepServer(t, 'Tryton', {
    start: () => start('trytond', []),
    answers: async () => (await fetch(`http://127.0.0.1:${port}/`)).status > 0,
  });
  /** Tryton's own reply to a call, bypassing the service. */
  const ask = async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
    const response = await fetch(`${base}/`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ id: 1, method, params: [...params, {}] }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { result, error } = (await response.json()) as { result?: unknown; error?: unknown };
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  return {
    settings: { address: base, user: 'admin', password: PASSWORD },
    ask,
    version: tree.versions['tryton-server'] ?? '',
    stop,
    serve,
  };
}
