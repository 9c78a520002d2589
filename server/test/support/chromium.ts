import { access, constants, copyFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { obtainPackages } from '../../src/adapters/asterisk/provision/packages.ts';
import { SETTINGS } from '../../src/boot/settings.ts';

export interface Chromium {
  readonly path: string;
  /** Command-line options that this program needs in addition to those of the test. */
  readonly flags: readonly string[];
}
/** The variant without windows first: the same browser for pages, with a tenth less load. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const PROGRAM = 'usr/lib/chromium/chromium-headless-shell';

const runs = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
/** Writes under a temporary name first, because several tests may do it at once. */
async function place(file: string, write: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${file}.${process.pid}`;
  await write(temporary);
  await rename(temporary, file);
}

/** Debian's package, unpacked into the cache like the engine, without root or installation. */
async function obtainChromium(): Promise<Chromium> {
  const packages = await obtainPackages({
    cache: process.env[SETTINGS.cache.name] ?? SETTINGS.cache.initial,
    packages: ['chromium-headless-shell'],
    progress: (line) => process.stderr.write(`chromium: ${line}\n`),
  });
  const folder = path.join(packages.root, path.dirname(PROGRAM));
  const script = path.join(folder, 'offhook-chromium');
  if (!(await runs(script))) {
    const [loader = '', ...rest] = packages.command(PROGRAM);
    // Chromium looks for its files beside /proc/self/exe, which is the loader: the loader is copied beside them.
    const own = path.join(folder, path.basename(loader));
    await place(own, (file) => copyFile(loader, file));
    const words = [own, ...rest].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    await place(script, (file) => writeFile(file, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 }));
  }
  return { path: script, flags: ['--no-zygote', `--browser-subprocess-path=${script}`] };
}

/** A Chromium: `CHROME_PATH`, else one on the PATH, else Debian's from the cache (got there the first time). */
export async function findChromium(): Promise<Chromium> {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((f) => path.isAbsolute(f));
  const given = process.env['CHROME_PATH'];
  const candidates = [
    ...(given ? [given] : []),
    ...NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name))),
  ];
  for (const file of candidates) if (await runs(file)) return { path: file, flags: [] };
  return obtainChromium();
}
