/** Test files of a run, and the load of each. */
import fs from 'node:fs';
import path from 'node:path';

const FOLDERS = ['server', 'contract', 'client', 'console', 'scripts', 'tools'];
const ENDING = '.test.ts';

/** Load of a kind of files: cores that one file keeps busy, and most files at once per core. */
export interface Kind {
  readonly cores: number;
  readonly most: number;
  /** True for low priority; files that wait for calls measure their times and have normal priority. */
  readonly yields: boolean;
}
export interface TestFile {
  /** Path below the root. */
  readonly name: string;
  readonly kind: Kind;
  /** True for a run in which test sites are in PostgreSQL. */
  readonly postgres?: true;
  /** True where passwords are hashed at their full cost (`quick-passwords.mjs`). */
  readonly fullCost?: true;
}
/** The test of the hashes themselves. */
const FULL_COST = 'server/src/features/sessions/password.test.ts';
/**
 * Stories that a complete run repeats over sites in PostgreSQL. Together they read and write the tables of every kind:
 * configuration, sessions, agents, history, recordings, erasures. `TEST_SITE_STORE=postgres` does the same for all others.
 */
const OVER_POSTGRES = ['caller-rules', 'conversations-flow', 'privacy', 'queues'].map(
  (name) => `server/test/scenarios/${name}.test.ts`,
);

/**
 * Measured on two cores: pages keep a core busy, a file with a service and its engine waits half of its time. With more
 * pages and services at once, the whole run was no faster, and limits of one and of thirty seconds failed. A file with an
 * engine alone waits for prompts and ringing phones: 24 of them took 460 s and a sixth of a core.
 */
const KINDS = {
  pages: { cores: 0.9, most: 0.5, yields: true },
  engine: { cores: 0.15, most: 0.5, yields: false },
  service: { cores: 0.5, most: 1, yields: false },
  alone: { cores: 0.7, most: Infinity, yields: true },
} as const satisfies Record<string, Kind>;
const PAGES = /\b(use|start)Browser\b/;
/** A test file that imports one of these, directly or not, starts its own server and measures times. */
const SERVERS = ['site', 'tryton'].map((name) => `server/test/support/${name}.ts`);
const ENGINE = 'server/test/support/throwaway-engine.ts';
/** Another test file that a file runs as a part of itself. */
const RUN = /^await import\('(\.{1,2}\/[^']+\.test\.ts)'\);$/gm;
const IMPORTED = /^(?:import|export)\b[^;]*? from '(\.{1,2}\/[^']+)';/gm;

/** Test files of the given files, folders and globs, or of the whole repository; throws for a name without one. */
export function chooseFiles(root: string, names: readonly string[] = FOLDERS): TestFile[] {
  const everything = names === FOLDERS;
  const found = new Set(names.flatMap((name) => namedBy(root, name)));
  const files = [...found].map((name) => {
    const text = fs.readFileSync(path.join(root, name), 'utf8');
    const support = supportOf(root, name, text);
    const server = SERVERS.some((one) => support.has(one))
      ? 'service'
      : support.has(ENGINE)
        ? 'engine'
        : 'alone';
    const kind = PAGES.test(text) ? 'pages' : server;
    const others = [...text.matchAll(RUN)].map(([, file = '']) => path.join(root, path.dirname(name), file));
    const size = others.reduce((sum, file) => sum + fs.statSync(file).size, text.length);
    const cost = name === FULL_COST ? { fullCost: true as const } : {};
    return { file: { name, kind: KINDS[kind], ...cost }, size };
  });
  const kinds: readonly Kind[] = Object.values(KINDS);
  // Large files first: a long file at the end would keep one core busy and leave the others idle.
  return files
    .toSorted((a, b) => kinds.indexOf(a.file.kind) - kinds.indexOf(b.file.kind) || b.size - a.size)
    .flatMap(({ file }): readonly TestFile[] =>
      everything && OVER_POSTGRES.includes(file.name) ? [file, { ...file, postgres: true }] : [file],
    );
}

/** Files of the tests' support that this one imports, directly or not. */
function supportOf(root: string, name: string, text: string, found = new Set<string>()): Set<string> {
  for (const [, imported = ''] of text.matchAll(IMPORTED)) {
    const file = path.join(path.dirname(name), imported);
    const full = path.join(root, file);
    // Text that a test writes into a file may import missing files.
    if (!/(^|\/)test\//.test(file) || found.has(file) || !fs.existsSync(full)) continue;
    found.add(file);
    supportOf(root, file, fs.readFileSync(full, 'utf8'), found);
  }
  return found;
}
function namedBy(root: string, name: string): string[] {
  const stat = fs.statSync(path.resolve(root, name), { throwIfNoEntry: false });
  if (stat?.isFile()) return [path.relative(root, path.resolve(root, name))];
  const pattern = stat ? `${path.relative(root, path.resolve(root, name)) || '.'}/**/*${ENDING}` : name;
  const files = fs
    .globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] })
    .filter((file) => file.endsWith(ENDING));
  if (files.length === 0) {
    // A default folder without tests is no mistake; a given name is one.
    if (FOLDERS.includes(name)) return [];
    throw new Error(`${name}: no test file is there`);
  }
  return files.map((file) => path.normalize(file));
}
