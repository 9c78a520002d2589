/**
 * Writes the service as one file: it then starts in 0.3 s of a core instead of 1.0 s, and needs 40 MB less memory than
 * its 2,200 sources. Without an argument it writes `server/dist/main.js` for `npm start` if the sources have changed;
 * with a folder as its argument it writes the programs of test sites there. Paths inside the programs stay those of the
 * sources.
 */
import { spawnSync } from 'node:child_process';
import { readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';
import { ROOT, fingerprint } from './sources.ts';

const DIST = path.join(ROOT, 'server/dist');
/** The last file of a build: the hash of its sources and the path of the checkout. */
const BUILT_FROM = 'built-from';
const PLACE = /\bimport\.meta\.(dirname|url)\b/g;
/** V8 keeps the text of a program, with two bytes for each character as soon as one of them is not ASCII. */
const WIDE = /[^\0-\u{7f}]/gu;
const escaped = (text: string): string =>
  [...Array(text.length).keys()]
    .map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`)
    .join('');

/**
 * Modules of Node that are imported without their getters: an `import` would read them all, but the service uses none.
 * They load the client of `fetch` in `node:http` (2.8 MB of heap and text) and the texts of all root certificates in
 * `node:tls`.
 */
const PARTIAL = ['node:http', 'node:tls'] as const;
function partialModule(id: string): string {
  const members = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(id)!))
    .filter(([, member]) => member.get === undefined)
    .map(([name]) => name);
  return `const all = process.getBuiltinModule('${id}');
export const { ${members.join(', ')} } = all;
export default all;`;
}
/**
 * pino looks up the files of its callers for a transport, but the service has none. For the lookup, V8 counts the lines
 * of the whole program and keeps them: 1.3 MB.
 */
const CALLER = path.join(ROOT, 'node_modules/pino/lib/caller.js');

async function write(dir: string, programs: readonly string[]): Promise<void> {
  await build({
    cwd: ROOT,
    platform: 'node',
    logLevel: 'silent',
    input: Object.fromEntries(programs.map((file) => [path.basename(file, '.ts'), path.join(ROOT, file)])),
    output: {
      dir,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name].js',
      cleanDir: true,
      comments: false,
    },
    plugins: [
      {
        name: 'less',
        // A `require` needs no replacement: it reads a getter only when the member is used.
        resolveId: (id, _importer, { kind }) =>
          kind === 'import-statement' && PARTIAL.some((name) => name === id) ? `\0${id}` : null,
        load: (id) =>
          id === CALLER
            ? 'module.exports = () => [];'
            : id.startsWith('\0node:')
              ? partialModule(id.slice(1))
              : null,
      },
      {
        name: 'place',
        transform: (code, file) =>
          !file.startsWith(ROOT) || file.includes('/node_modules/')
            ? null
            : code.replaceAll(PLACE, (_, part) =>
                JSON.stringify(part === 'url' ? pathToFileURL(file).href : path.dirname(file)),
              ),
      },
    ],
  });
  // Escaped after the build, because the bundler prints characters instead of their escapes.
  for (const name of await readdir(dir)) {
    const file = path.join(dir, name);
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(WIDE, escaped));
  }
}

async function writeService(): Promise<void> {
  const sources = ['package-lock.json', 'scripts/build-service.ts'];
  const from = `${await fingerprint(['server', 'contract', 'client'], sources)} ${ROOT}`;
  const built = await readFile(path.join(DIST, BUILT_FROM), 'utf8').catch(() => null);
  if (built === from) return;
  const began = performance.now();
  const fresh = `${DIST}.${process.pid}`;
  try {
    await write(fresh, ['server/src/programs/main.ts', 'server/src/boot/service.ts']);
    await writeFile(path.join(fresh, BUILT_FROM), from);
    // A running service loads some parts of its program only when it needs them, so it must be restarted after a build.
    await rm(DIST, { recursive: true, force: true });
    await rename(fresh, DIST);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  // A first process compiles, so that the long-running one does not keep the compiler's memory. V8 reuses compiled code
  // only under the same flags, so this process has `--expose-gc` as `npm start` does.
  spawnSync(process.execPath, [
    '--expose-gc',
    '-e',
    `import(${JSON.stringify(path.join(DIST, 'service.js'))})`,
  ]);
  process.stderr.write(
    `offhook: the service is built (${((performance.now() - began) / 1000).toFixed(1)} s)\n`,
  );
}

/** Exit code if the folder of the checkout may not be written; `start.mjs` then runs the sources. */
const NOT_WRITABLE = 73;
const isRefused = (error: unknown): boolean =>
  ['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '');

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  await writeService().catch((error: unknown) => {
    if (!isRefused(error)) throw error;
    process.stderr.write(`offhook: ${DIST} cannot be written; the service runs from its sources\n`);
    process.exitCode = NOT_WRITABLE;
  });
} else {
  await write(folder, [
    'server/src/programs/main.ts',
    'server/test/support/faulty-main.ts',
    'server/src/boot/service.ts',
  ]);
  // Without it, Node parses each of these files once more at each start to find out that it is a module.
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}\n');
}
