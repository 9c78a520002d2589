/** Which test files a run takes, and how much of the machine each of them needs. */
import fs from 'node:fs';
import path from 'node:path';

const FOLDERS = ['server', 'contract', 'client', 'console', 'scripts', 'tools'];
const ENDING = '.test.ts';

/** What a kind of file needs: cores that it keeps busy while it runs, and how many of it a core carries at once. */
export interface Kind {
  readonly cores: number;
  readonly most: number;
  /** Whether it makes way for others; what waits for calls measures their times. */
  readonly yields: boolean;
}
export interface TestFile {
  /** Path below the root. */
  readonly name: string;
  readonly kind: Kind;
}

/**
 * Measured on two cores: pages keep a core busy, a file with an engine waits half of its time. With more pages and engines at once
 * than these the whole run was no faster, and limits of one and of thirty seconds did not hold.
 */
const KINDS = {
  pages: { cores: 0.9, most: 0.5, yields: true },
  engine: { cores: 0.5, most: 1, yields: false },
  alone: { cores: 0.7, most: Infinity, yields: true },
} as const satisfies Record<string, Kind>;
const PAGES = /\b(use|start)Browser\b/;
/** Who imports one of them, directly or not, starts a server of its own. */
const SERVERS = ['site', 'throwaway-engine', 'postgres'].map((name) => `server/test/support/${name}.ts`);
const IMPORTED = /^(?:import|export)\b[^;]*? from '(\.{1,2}\/[^']+)';/gm;

/** Test files of the named files, folders and globs, or of the whole house; throws for a name without one. */
export function chooseFiles(root: string, names: readonly string[] = FOLDERS): TestFile[] {
  const found = new Set(names.flatMap((name) => namedBy(root, name)));
  const files = [...found].map((name) => {
    const text = fs.readFileSync(path.join(root, name), 'utf8');
    const support = supportOf(root, name, text);
    const kind = PAGES.test(text) ? 'pages' : SERVERS.some((file) => support.has(file)) ? 'engine' : 'alone';
    return { name, kind: KINDS[kind], size: text.length };
  });
  const kinds: readonly Kind[] = Object.values(KINDS);
  // A long file that begins last keeps one core busy and leaves the others idle.
  return files
    .toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || b.size - a.size)
    .map(({ name, kind }) => ({ name, kind }));
}

/** Files of the tests' support that this one reaches by its imports. */
function supportOf(root: string, name: string, text: string, found = new Set<string>()): Set<string> {
  for (const [, imported = ''] of text.matchAll(IMPORTED)) {
    const file = path.join(path.dirname(name), imported);
    const full = path.join(root, file);
    // What a test only writes into a file of its own may import what is not here.
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
    // A folder of the house without tests is no mistake; a name that somebody typed is one.
    if (FOLDERS.includes(name)) return [];
    throw new Error(`${name}: no test file is there`);
  }
  return files.map((file) => path.normalize(file));
}
