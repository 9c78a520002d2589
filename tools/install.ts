/**
 * The linters, generators and checkers that only `npm run check` and `npm test` use. They have their own lockfile, so that `npm
 * start` does not install them; the first command that needs them installs them, once per state of the lockfile.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Folder of `package.json` and `node_modules`. */
export const TOOLS = import.meta.dirname;
const MODULES = path.join(TOOLS, 'node_modules');
/** Written last; contains the hash of the lockfile the packages were installed from. */
const INSTALLED = path.join(MODULES, '.offhook-installed');
const LOCK = path.join(TOOLS, 'node_modules.lock');

const read = (file: string): string | null => {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return null;
  }
};
const wanted = (): string =>
  createHash('sha256')
    .update(fs.readFileSync(path.join(TOOLS, 'package-lock.json')))
    .digest('hex');

/** Installs the tools unless they match the current lockfile; safe to call from many processes at once. */
export async function installTools(): Promise<void> {
  while (read(INSTALLED) !== wanted()) {
    if (!takeLock()) {
      await pause(200);
      continue;
    }
    try {
      if (read(INSTALLED) !== wanted()) await install();
    } finally {
      fs.rmSync(LOCK, { force: true });
    }
  }
}
/** A module of the tools by name; untyped, because the packages are absent when the repository is type-checked. */
export async function tool(name: string): Promise<unknown> {
  await installTools();
  return createRequire(path.join(TOOLS, 'package.json'))(name) as unknown;
}

/** False while another process installs; removes the lock of a process that has ended. */
function takeLock(): boolean {
  try {
    fs.writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const owner = Number(read(LOCK));
  // An empty lock file is being written by its owner.
  if (owner > 0 && !fs.existsSync(`/proc/${owner}`)) fs.rmSync(LOCK, { force: true });
  return false;
}
async function install(): Promise<void> {
  process.stderr.write('offhook: installing the tools of check and test (tools/package-lock.json) …\n');
  fs.rmSync(MODULES, { recursive: true, force: true });
  const child = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: TOOLS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => (said += String(part)));
  const code = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (status, signal) => resolve(status ?? signal ?? 'no status'));
  });
  if (code !== 0) {
    throw new Error(
      `the tools of check and test could not be installed: npm ci in ${TOOLS} ended with ${code}. ` +
        `They need the npm registry once. npm's own words:\n${said}`,
    );
  }
  fs.writeFileSync(INSTALLED, wanted());
}
