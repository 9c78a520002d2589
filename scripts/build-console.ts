/** Builds the console into console/dist if its sources have changed; the service serves that folder. */
import { createHash } from 'node:crypto';
import { readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { ROOT, fingerprint } from './sources.ts';

const CONSOLE = path.join(ROOT, 'console');
const DIST = path.join(CONSOLE, 'dist');
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
  '.wasm': 'application/wasm',
  '.png': 'image/png',
};
/** A compressed file is kept below this share of the original size. */
const WORTH = 0.95;
const br = promisify(brotliCompress);
const gz = promisify(gzip);

const sources = (): Promise<string> =>
  fingerprint(['console', 'contract', 'client'], ['package-lock.json', 'scripts/build-console.ts']);
const built = async (): Promise<string | null> => {
  try {
    return (JSON.parse(await readFile(path.join(DIST, 'console.json'), 'utf8')) as { built_from: string })
      .built_from;
  } catch {
    return null;
  }
};

/** Compresses a file beside itself; returns the encodings worth keeping, smallest first. */
async function compress(file: string): Promise<('br' | 'gzip')[]> {
  const bytes = await readFile(file);
  const ways = [
    [
      'br',
      'br',
      await br(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
    ],
    ['gzip', 'gzip', await gz(bytes, { level: 9 })],
  ] as const;
  const worth = ways.filter(([, , small]) => small.length < bytes.length * WORTH);
  for (const [, ending, small] of worth) await writeFile(`${file}.${ending}`, small);
  return worth.map(([name]) => name);
}

/** Builds if needed; resolves with true if it built. */
export async function buildConsole(say: (line: string) => void): Promise<boolean> {
  const from = await sources();
  if ((await built()) === from) return false;
  const began = performance.now();
  const fresh = `${DIST}.${process.pid}`;
  try {
    await buildInto(fresh, from);
    // A running service has read its files; a failed build leaves the previous one.
    await rm(DIST, { recursive: true, force: true });
    await rename(fresh, DIST);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  say(`the console is built (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  return true;
}
async function buildInto(fresh: string, from: string): Promise<void> {
  const { build } = await import('vite');
  const { PATHS } = (await import('../console/src/app/paths.ts')) as { PATHS: readonly string[] };
  await build({
    configFile: path.join(CONSOLE, 'vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: fresh, emptyOutDir: true },
  });
  const assets = path.join(fresh, 'assets');
  const files = await Promise.all(
    (await readdir(assets)).toSorted().map(async (name) => {
      const type = TYPES[path.extname(name)];
      if (type === undefined) throw new Error(`console/dist/assets/${name}: its media type is unknown`);
      const file = path.join(assets, name);
      const etag = `"${createHash('sha256')
        .update(await readFile(file))
        .digest('base64url')
        .slice(0, 20)}"`;
      return { url: `/assets/${name}`, type, etag, codings: await compress(file) };
    }),
  );
  await writeFile(
    path.join(fresh, 'console.json'),
    JSON.stringify({ built_from: from, pages: PATHS, files }),
  );
}

if (import.meta.main) {
  await buildConsole((line) => process.stderr.write(`offhook: ${line}\n`));
}
