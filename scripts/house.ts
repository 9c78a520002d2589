/** Prints the size of the code: files, lines, longest functions and import cycles, beside the aims of issue 14. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { cyclesOf, folderGraph, importGraph } from '../server/test/support/import-cycles.ts';
import { REPOSITORY, readSources } from '../server/test/support/sources.ts';
import type { Source } from '../server/test/support/sources.ts';

const AIMS: Readonly<Record<string, number>> = { 'server/src': 45_000, 'console/src': 27_000 };
const PARTS = ['server/src', 'console/src', 'client', 'contract'];
const LONGEST = 120;

const linesOf = ({ text }: Source): number => text.split('\n').length - 1;
const count = (value: number): string => value.toLocaleString('en').padStart(8);
function sizeRow(part: string, files: readonly Source[]): string {
  const lines = files.map(linesOf).toSorted((a, b) => a - b);
  const total = lines.reduce((sum, n) => sum + n, 0);
  const share = (most: number): string =>
    `${Math.round((100 * lines.filter((n) => n <= most).length) / Math.max(1, lines.length))} %`.padStart(8);
  const aim = AIMS[part];
  const median = lines[Math.floor(lines.length / 2)] ?? 0;
  return `${part.padEnd(12)}${count(files.length)}${count(total)}${share(100)}${share(30)}${count(median)}${aim === undefined ? '' : `   aim ${aim.toLocaleString('en')} lines`}`;
}

/** Functions over the limit with their location, longest first, as oxlint counts them. */
function longFunctions(): string[] {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-house-'));
  const config = path.join(folder, 'oxlintrc.json');
  const rules = { 'max-lines-per-function': ['warn', { max: LONGEST }] };
  fs.writeFileSync(config, JSON.stringify({ categories: { correctness: 'off' }, rules }));
  try {
    const oxlint = path.join(REPOSITORY, 'node_modules/.bin/oxlint');
    const ignored = ['--ignore-pattern', '**/*.test.ts', '--ignore-pattern', '**/*.test.tsx'];
    const out = execFileSync(oxlint, ['-c', config, '-f', 'json', ...ignored, ...PARTS], {
      cwd: REPOSITORY,
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    const { diagnostics } = JSON.parse(out) as {
      diagnostics: { message: string; filename: string; labels: { span: { line: number } }[] }[];
    };
    return diagnostics
      .map(({ message, filename, labels }) => {
        const [, name = 'a function'] = /`([^`]+)`/.exec(message) ?? [];
        const lines = Number(/\((\d+)\)/.exec(message)?.[1] ?? 0);
        return { lines, row: `${count(lines)}  ${name}  ${filename}:${labels[0]?.span.line ?? 1}` };
      })
      .toSorted((a, b) => b.lines - a.lines)
      .map(({ row }) => row);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

const sources = (await readSources(PARTS, /\.tsx?$/)).filter(({ path: file }) => !/\.test\.tsx?$/.test(file));
console.log('without tests   files   lines   ≤ 100    ≤ 30  median   (aim: median 80 to 200)');
for (const part of PARTS)
  console.log(
    sizeRow(
      part,
      sources.filter(({ path: file }) => file.startsWith(`${part}/`)),
    ),
  );
const functions = longFunctions();
console.log(`\nfunctions over ${LONGEST} lines: ${functions.length} (aim: none); the longest:`);
for (const row of functions.slice(0, 10)) console.log(row);
const graph = importGraph(sources);
for (const [what, cycles] of [
  ['files', cyclesOf(graph)],
  ['folders', cyclesOf(folderGraph(graph))],
] as const) {
  console.log(
    `\nimport cycles of ${what} at run time: ${cycles.length}${what === 'files' ? ' (aim: none)' : ''}`,
  );
  for (const cycle of cycles) console.log(`  ${cycle.join(' ')}`);
}
