/**
 * Writes the service as one file: it then starts in 0.3 s of a core instead of 1.0 s, and needs 40 MB less memory than its
 * 2,200 sources. Without an argument it writes `server/dist/main.js` where the sources have changed, for `npm start`; the
 * folder of an argument gets the programs of test sites. Paths inside the programs stay those of the sources.
 */
import { spawnSync } from 'node:child_process';
import { readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';
import { ROOT, fingerprint } from './sources.ts';

const DIST = path.join(ROOT, 'server/dist');
/** The last file of a build: the hash of its sources and the place of the checkout. */
const BUILT_FROM = 'built-from';
const PLACE = /\bimport\.meta\.(dirname|url)\b/g;
/** V8 keeps the text of a program, and Node gives it two bytes for every character as soon as one of them is not ASCII. */
const WIDE = /[^\0-\u{7f}]/gu;
const escaped = (text: string): string =>
  [...Array(text.length).keys()]
    .map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`)
    .join('');

/**
 * Modules of Node without members that an `import` would read, but the service never uses: the client of `fetch` in `node:http`
 * (2.8 MB of heap and text), and the texts of all root certificates in `node:tls`.
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
 * pino asks for the files of its callers, for a transport, of which the service has none. V8 then counts the lines of the whole
 * program and keeps them: 1.3 MB.
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
        // What a `require` returns reads its members when they are used.
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
  // Afterwards, because the bundler itself prints characters instead of their escapes.
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
    // A running service has read its program, except parts that it loads when they are needed: it is to be restarted with the build.
    await rm(DIST, { recursive: true, force: true });
    await rename(fresh, DIST);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  // A first process compiles, so that the one that stays does not keep the compiler's memory. V8 reuses compiled code only under the
  // same flags, so this process has that of `npm start`.
  spawnSync(process.execPath, [
    '--expose-gc',
    '-e',
    `import(${JSON.stringify(path.join(DIST, 'service.js'))})`,
  ]);
  process.stderr.write(
    `offhook: the service is built (${((performance.now() - began) / 1000).toFixed(1)} s)\n`,
  );
}

/** Exit code where the folder of the checkout may not be written; `start.mjs` then runs the sources. */
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
