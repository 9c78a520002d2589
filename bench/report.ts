/** Printing, the baseline and docs/performance.md. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { MOST_SPREAD, ROUNDS, digits, pinned } from './lib.ts';
import type { Figure, Row } from './lib.ts';

const folder = import.meta.dirname;
const DOCUMENT = path.join(folder, '../docs/performance.md');
const BASELINE = path.join(folder, 'baseline.json');
/** Last results of each row with their date, so that a run of some rows keeps the others. */
const RESULTS = path.join(folder, 'results.json');
const MOST_WORSE = 0.1;

interface Measured {
  readonly row: Row;
  readonly at: string;
  readonly machine: string;
}
const readJson = <T>(file: string, otherwise: T): T => {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
};
const writeJson = (file: string, value: unknown): void =>
  fs.writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

/** True if the repeats agree well enough. */
export const isPublished = (f: Figure): boolean => f.series.spread <= MOST_SPREAD;
const valueOf = (f: Figure): string => `${digits(f.series.median)} ${f.unit}`;
const spreadOf = (f: Figure): string =>
  f.series.values.length < 2 ? '' : `±${Math.round(f.series.spread * 50)} %`;

export function print(row: Row, seconds: number): void {
  const lines = [`\n${row.id}  ${row.title}  (${Math.round(seconds)} s)`];
  for (const f of row.figures) {
    const told = isPublished(f) ? '' : '  NOT PUBLISHED: the repeats lie too far apart';
    lines.push(
      `  ${f.role.padEnd(6)} ${f.name.padEnd(58)} ${valueOf(f).padStart(22)}  ${spreadOf(f)}${told}`,
    );
  }
  for (const g of row.gates) lines.push(`  ${g.held ? 'held  ' : 'BROKEN'} ${g.asked}: ${g.measured}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

type Baseline = Record<string, { readonly value: number; readonly worse: 'higher' | 'lower' }>;
const watched = (rows: readonly Row[]): [string, Figure][] =>
  rows.flatMap((row) =>
    row.figures
      .filter((f) => f.worse !== undefined)
      .map((f): [string, Figure] => [`${row.id} ${f.name} [${f.unit}]`, f]),
  );
/** One line for every watched figure more than 10 % worse than the committed one. */
export function compareWithBaseline(rows: readonly Row[]): string[] {
  const baseline = readJson<Baseline>(BASELINE, {});
  return watched(rows).flatMap(([key, f]) => {
    const kept = baseline[key];
    if (kept === undefined) return [];
    const change = f.series.median / kept.value - 1;
    const isWorse = kept.worse === 'higher' ? change > MOST_WORSE : change < -MOST_WORSE;
    return isWorse ? [`${key}: ${digits(f.series.median)}, was ${digits(kept.value)}`] : [];
  });
}
export function keepBaseline(rows: readonly Row[]): void {
  const baseline = { ...readJson<Baseline>(BASELINE, {}) };
  for (const [key, f] of watched(rows)) baseline[key] = { value: f.series.median, worse: f.worse! };
  writeJson(BASELINE, Object.fromEntries(Object.entries(baseline).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

const machine = (): string => {
  const cpus = os.cpus();
  return `${cpus.length} cores (${cpus[0]?.model.trim() ?? 'unknown'}), ${Math.round(os.totalmem() / 2 ** 30)} GiB, ${os.type()} ${os.release()}, Node ${process.version}, load ${os.loadavg()[0]!.toFixed(1)}`;
};
const commit = (): string => {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
};

/** Writes docs/performance.md from these rows and, for the others, from the last results. */
export function writeDocument(rows: readonly Row[]): void {
  const results = readJson<Record<string, Measured>>(RESULTS, {});
  const at = `${new Date().toISOString().slice(0, 10)}, commit ${commit()}`;
  for (const row of rows) results[row.id] = { row, at, machine: machine() };
  const sorted = Object.values(results).toSorted((a, b) =>
    a.row.id.localeCompare(b.row.id, 'en', { numeric: true }),
  );
  writeJson(RESULTS, Object.fromEntries(sorted.map((m) => [m.row.id, m])));
  fs.writeFileSync(DOCUMENT, documentOf(sorted));
}
function documentOf(all: readonly Measured[]): string {
  const gates = all.flatMap(({ row }) => row.gates.map((gate) => ({ row, gate })));
  const held = gates.filter(({ gate }) => gate.held).length;
  return `# Performance

Written by \`npm run bench\` (\`npm run bench -- P1 P7\` measures some rows); do not edit. What is measured is in [bench/](../bench).

Every row is taken beside its peer and beside its physical limit in the same run: ${ROUNDS} rounds, the subjects taking turns in each,
${pinned ? 'the subject on one core and the load on the other, ' : ''}medians shown with half the distance between the best and the worst round. A figure whose
rounds lie more than ${MOST_SPREAD * 100} % apart is not published. Speed of one machine says little about another: the ratios are what holds.

${held} of ${gates.length} gates are held.

| Row | Asked | Measured | |
|---|---|---|---|
${gates.map(({ row, gate }) => `| ${row.id} | ${gate.asked} | ${gate.measured} | ${gate.held ? 'held' : '**broken**'} |`).join('\n')}

${all.map(sectionOf).join('\n')}`;
}
function sectionOf({ row, at, machine: where }: Measured): string {
  const lines = row.figures.map((f) => {
    const value = isPublished(f) ? valueOf(f) : 'not published, too much spread';
    const name = f.role === 'ours' ? `**${f.name}**` : f.name;
    return `| ${name} | ${f.role === 'ours' ? '' : f.role} | ${value} | ${spreadOf(f)} |`;
  });
  return `## ${row.id}: ${row.title}

| | | | |
|---|---|---|---|
${lines.join('\n')}
${(row.notes ?? []).map((note) => `\n${note}\n`).join('')}
Measured ${at}; ${where}.
`;
}
