import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { obtainAsterisk } from '../../src/adapters/asterisk/provision/asterisk.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const WARM = process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook');

const commandOf = async (site: Site): Promise<string> =>
  await readFile(`/proc/${site.enginePid() ?? 0}/cmdline`, 'utf8').catch(() => '');
const packagesOf = async (site: Site): Promise<string> => {
  const { token } = await site.person('1001');
  const answer = await fetch(`${site.base}/readyz`, { headers: { authorization: `Bearer ${token}` } });
  const { details } = (await answer.json()) as { details: Record<string, string> };
  return details['engine_packages'] ?? '';
};
/** Restarts the engine and checks that it runs from the tree `root` with its modules. */
async function restartsFrom(site: Site, root: string): Promise<void> {
  const before = site.enginePid();
  await site.engineCli('core stop now').catch(() => '');
  await until(
    `an engine of ${path.basename(root)}`,
    async () => site.enginePid() !== before && (await commandOf(site)).includes(`${root}/`),
    { ms: 60_000 },
  );
  await site.ready();
  assert.match(await site.engineCli('core show settings'), new RegExp(`Module directory: +${root}/`));
  assert.match(await site.engineCli('pjsip show endpoints'), /1001/);
}

test('engine update - newer packages run from the next start of the engine on; broken ones are replaced by the previous', async (t) => {
  const { packages } = await obtainAsterisk({ cache: WARM, path: '' });
  assert.ok(packages);
  const cache = await mkdtemp(path.join(os.tmpdir(), 'offhook-test-'));
  t.after(() => rm(cache, { recursive: true, force: true }));
  const folder = path.join(cache, 'packages');
  await mkdir(folder);
  const first = path.join(folder, path.basename(packages.root));
  const good = `${first}-aaaaaaaaaaaa`;
  const bad = `${first}-bbbbbbbbbbbb`;
  for (const copy of [first, good]) await run('cp', ['-a', packages.root, copy]);
  const record = `${first}.generations.json`;
  const waits = (name: string, current: string) =>
    writeFile(
      record,
      JSON.stringify({ current, previous: null, next: path.basename(name), refused: null, confirmed: null }),
    );

  await using site = await startSite({ env: { OFFHOOK_CACHE: cache, OFFHOOK_ASTERISK: '', PATH: cache } });
  assert.ok((await commandOf(site)).includes(`${first}/`));
  assert.match(await packagesOf(site), /^\d+ days old, of \d{4}-\d\d-\d\d$/);

  await waits(good, path.basename(first));
  assert.match(await packagesOf(site), /newer ones wait for its next start$/);
  await restartsFrom(site, good);
  const confirmed = JSON.parse(await readFile(record, 'utf8')) as Record<string, unknown>;
  assert.deepEqual(
    [confirmed['current'], confirmed['previous'], confirmed['next']],
    [path.basename(good), path.basename(first), null],
  );

  // Restarts the service only; the engine keeps running from its tree.
  const pid = site.enginePid();
  await site.kill('SIGKILL');
  await run('cp', ['-a', packages.root, bad]);
  // A program that prints its version and does not boot.
  const loader = bad + packages.command('x')[0]!.slice(packages.root.length);
  await rm(loader);
  const script = `#!/bin/sh\ncase "$*" in *" -V") exec ${packages.command('x')[0]} "$@";; esac\nexit 3\n`;
  await writeFile(loader, script, { mode: 0o755 });
  await waits(bad, path.basename(good));
  await site.start();
  assert.equal(site.enginePid(), pid);
  assert.match(await site.engineCli('core show settings'), new RegExp(`Module directory: +${good}/`));

  await site.engineCli('core stop now').catch(() => '');
  await until(
    'the packages that do not start to be given up',
    async () => /newer ones did not start: .*exit code 3/.test(await packagesOf(site)),
    { ms: 60_000 },
  );
  await site.ready();
  assert.ok((await commandOf(site)).includes(`${good}/`));
  assert.ok((await readdir(folder)).includes(path.basename(good)));
});
