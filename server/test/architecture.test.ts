import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cyclesOf, folderGraph, importGraph } from './support/import-cycles.ts';
import { lineOf, readSources } from './support/sources.ts';
import type { Source } from './support/sources.ts';

/** Permitted imports (ARCHITECTURE.md). `self` is the same feature or adapter; a file with a row of its own has only that. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  client: ['contract'],
  console: ['contract', 'client'],
  core: ['contract'],
  rights: ['core', 'contract'],
  numbers: ['core', 'contract'],
  websocket: ['core', 'contract'],
  ports: ['rights', 'numbers', 'core', 'contract'],
  routing: ['ports', 'core', 'contract'],
  pbx: ['ports', 'core', 'contract'],
  journal: ['ports', 'rights', 'core', 'contract'],
  commands: ['ports', 'core', 'contract'],
  outbound: ['ports', 'core', 'contract'],
  features: [
    'self',
    'commands',
    'outbound',
    'ports',
    'pbx',
    'routing',
    'rights',
    'numbers',
    'core',
    'contract',
  ],
  delivery: ['journal', 'ports', 'websocket', 'rights', 'core', 'contract'],
  http: ['journal', 'ports', 'websocket', 'rights', 'core', 'contract'],
  adapters: ['self', 'ports', 'routing', 'core', 'contract'],
  boot: [
    'features',
    'delivery',
    'http',
    'adapters',
    'journal',
    'pbx',
    'routing',
    'ports',
    'numbers',
    'core',
    'contract',
  ],
  'boot/config.ts': ['numbers', 'core', 'contract'],
  'boot/settings.ts': ['numbers', 'core', 'contract'],
  'boot/setting-values.ts': ['numbers', 'core', 'contract'],
  simulator: ['boot', 'features', 'adapters', 'journal', 'ports', 'core', 'contract'],
  programs: [
    'boot',
    'features',
    'outbound',
    'adapters',
    'pbx',
    'ports',
    'numbers',
    'core',
    'client',
    'contract',
  ],
  'programs/main.ts': ['boot', 'core', 'contract'],
  'programs/simulator.ts': ['simulator', 'core'],
};
/** Texts that only some places may contain. `in` says which files of server/src the rule looks at. */
const WORDS: readonly { rule: string; pattern: RegExp; in: (path: string) => boolean }[] = [
  {
    rule: 'a vendor word stays in adapters/asterisk',
    pattern: /pjsip|uniqueid|linkedid|pausequeuemember|gotoif|gosub|\$\{exten[:}]/i,
    in: (p) => !p.startsWith('server/src/adapters/asterisk/'),
  },
  {
    rule: 'Fastify stays in http/, delivery/ and routes.ts',
    pattern: /from '(@fastify\/[^']*|fastify)'/,
    in: (p) => !/^server\/src\/(http|delivery)\/|\/routes\.ts$|^server\/src\/ports\/http\.ts$/.test(p),
  },
  {
    rule: 'ports hold types only',
    pattern: /^import (?!type )/m,
    in: (p) => p.startsWith('server/src/ports/'),
  },
  {
    rule: 'the live model and the call plan are pure: no clock, timer, chance or node module',
    pattern:
      /Date\.now|new Date\(\)|performance\.now|setTimeout|setInterval|setImmediate|Math\.random|'node:/,
    in: (p) => /^server\/src\/(pbx|routing)\//.test(p),
  },
  { rule: 'exports are named', pattern: /^export default/m, in: () => true },
  {
    rule: 'nothing cuts the process short: set process.exitCode',
    pattern: /process\.exit\(/,
    in: () => true,
  },
];

const isTest = (path: string): boolean => path.endsWith('.test.ts');
/** The row of the table a file belongs to, and its name where `self` matters. */
function placeOf(path: string): { area: string; self: string } {
  const parts = path.split('/');
  if (parts[0] !== 'server') return { area: parts[0]!, self: parts[0]! };
  const area = parts[2] ?? '';
  return { area, self: area === 'features' || area === 'adapters' ? `${area}/${parts[3]}` : area };
}
/** The file an import names, from the root of the checkout; undefined for a package or a node module. */
function targetOf(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('@offhook/')) return specifier.slice('@offhook/'.length);
  if (!specifier.startsWith('.')) return undefined;
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

/** Every import the table does not allow, in words. */
function importViolations(files: readonly Source[]): string[] {
  const found: string[] = [];
  for (const { path, text } of files) {
    if (isTest(path)) continue;
    const { area, self } = placeOf(path);
    const row = path.replace('server/src/', '');
    const allowed = MAY_IMPORT[row] ?? MAY_IMPORT[area];
    if (!allowed) {
      found.push(`${path}: ${area} has no row in the import table`);
      continue;
    }
    for (const m of text.matchAll(/(?:^|[\s;}])(?:from|import\(?)\s*'([^']+)'/g)) {
      const target = targetOf(path, m[1]!);
      if (target === undefined) continue;
      const other = placeOf(target);
      const ok =
        other.self === self
          ? area !== 'features' && area !== 'adapters'
            ? true
            : allowed.includes('self')
          : allowed.includes(other.area);
      if (ok) continue;
      found.push(
        `${path}:${lineOf(text, m.index)} imports ${target}; ${self} may import: ${allowed.join(', ') || 'nothing of ours'}`,
      );
    }
  }
  return found;
}
/** Every forbidden word, with its line. */
const wordViolations = (files: readonly Source[]): string[] =>
  files
    .filter(({ path }) => path.startsWith('server/src/') && !isTest(path))
    .flatMap(({ path, text }) =>
      WORDS.filter((w) => w.in(path)).flatMap((w) => {
        const m = w.pattern.exec(text);
        return m ? [`${path}:${lineOf(text, m.index)} has ${JSON.stringify(m[0].trim())}: ${w.rule}`] : [];
      }),
    );

const readHouse = () => readSources(['contract', 'client', 'console/src', 'server/src'], /\.tsx?$/);

test('architecture - every import is one the table allows', async () => {
  const files = await readHouse();
  assert.ok(files.length > 30, `only ${files.length} files were found: the test looks in the wrong place`);
  assert.deepEqual(importViolations(files), []);
});

test('architecture - vendor words, Fastify, clocks and process exits stay where they belong', async () => {
  assert.deepEqual(wordViolations(await readHouse()), []);
});

/** Goes when the REST calls of the client are derived from the operations. */
const CLIENT_REST = /^client\/(?:[a-z]+-)?rest\.ts$/;
/** Groups of files that load one another at run time: each of them is whole only once the others are. */
const cycles = (files: readonly Source[]): string[] =>
  cyclesOf(importGraph(files.filter(({ path }) => !isTest(path))))
    .filter((group) => !group.every((path) => CLIENT_REST.test(path)))
    .map((group) => group.join(' '));

test('architecture - no files load one another in a cycle', async () => {
  assert.deepEqual(cycles(await readHouse()), []);
});

test('architecture - no folders load one another in a cycle', async () => {
  const files = (await readHouse()).filter(({ path }) => !isTest(path));
  assert.deepEqual(cyclesOf(folderGraph(importGraph(files))), []);
});

test('architecture - a cycle is found by its run-time imports, not by those of types', () => {
  const house = (back: string): Source[] => [
    { path: 'server/src/pbx/a.ts', text: "import {\n  b,\n} from './b.ts';\n" },
    { path: 'server/src/pbx/b.ts', text: "export { c } from '@offhook/contract/c.ts';\n" },
    { path: 'contract/c.ts', text: `${back} '../server/src/pbx/a.ts';\n` },
  ];
  const whole = 'contract/c.ts server/src/pbx/a.ts server/src/pbx/b.ts';
  assert.deepEqual(cycles(house('import { a } from')), [whole]);
  assert.deepEqual(cycles(house('import')), [whole]);
  assert.deepEqual(cycles(house('import type { A } from')), []);
});

test('architecture - the rules see what they forbid', () => {
  const wrong = (path: string, text: string): string[] => {
    const files = [{ path, text }];
    return [...importViolations(files), ...wordViolations(files)];
  };
  const cases: readonly [path: string, text: string, says: RegExp][] = [
    [
      'contract/a.ts',
      "import { x } from '../server/src/core/log.ts';",
      /contract may import: nothing of ours/,
    ],
    ['server/src/core/a.ts', "export { x } from '../ports/clock.ts';", /core may import: contract/],
    ['server/src/features/a/b.ts', "import type { x } from '../c/d.ts';", /features\/a may import/],
    ['server/src/adapters/a/b.ts', "import { x } from '../c/d.ts';", /adapters\/a may import/],
    ['server/src/adapters/a/b.ts', "const x = await import('../../pbx/d.ts');", /adapters\/a may import/],
    ['server/src/http/a.ts', "import { x } from '../features/a/b.ts';", /http may import/],
    ['server/src/pbx/a.ts', 'const now = Date.now();', /the live model and the call plan are pure/],
    ['server/src/pbx/a.ts', "import fs from 'node:fs';", /the live model and the call plan are pure/],
    ['server/src/routing/a.ts', 'const now = Date.now();', /the live model and the call plan are pure/],
    ['server/src/features/a/store.ts', "import type { X } from 'fastify';", /Fastify stays/],
    ['server/src/features/a/store.ts', "const key = 'Linkedid';", /vendor word/],
    ['server/src/ports/a.ts', '/** `Gosub(pickup-group,1)` */', /vendor word/],
    ['server/src/features/a/b.ts', "const data = '${EXTEN:3}';", /vendor word/],
    ['server/src/ports/a.ts', "import { z } from 'zod';", /types only/],
    ['server/src/programs/replay.ts', 'process.exit(1)', /process\.exitCode/],
    ['server/src/attic/a.ts', '', /no row in the import table/],
    ['server/src/loose.ts', '', /no row in the import table/],
    [
      'server/src/boot/config.ts',
      "import { x } from '../http/a.ts';",
      /boot may import: numbers, core, contract/,
    ],
    ['server/src/boot/service.ts', "import { x } from '../programs/a.ts';", /boot may import/],
    ['server/src/http/a.ts', "import { x } from '../boot/config.ts';", /http may import/],
  ];
  for (const [path, text, says] of cases)
    assert.match(wrong(path, text).join('\n'), says, `${path}: ${text}`);
  assert.deepEqual(
    wrong('server/src/features/a/b.ts', "import { x } from './c.ts';\nimport { y } from 'zod';"),
    [],
  );
  assert.deepEqual(wrong('server/src/boot/service.ts', "import { x } from '../features/a/b.ts';"), []);
});
