/** Printing, and the comparison with the kept baseline. */
import fs from 'node:fs';
import path from 'node:path';
import { digits } from './lib.ts';
import type { Figure, Gate, Row, Series } from './lib.ts';

const BASELINE = path.join(import.meta.dirname, 'baseline.json');
/** A figure is worse if its whole interval is worse by more than this share. */
const MOST_WORSE = 0.2;

export function readJson<T>(file: string, otherwise: T): T {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
}
export const writeJson = (file: string, value: unknown): void =>
  fs.writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

/** The interval; empty for a single observation. */
export const intervalOf = ({ median, low, high }: Omit<Series, 'values'>): string =>
  low === median && high === median ? '' : `${digits(low)} to ${digits(high)}`;
export const askedOf = ({ what, is, asked, unit }: Gate): string =>
  `${what} ${is === 'at least' ? '≥' : '≤'} ${digits(asked)}${unit}`;
export function measuredOf({ measured, unit }: Gate): string {
  const interval = intervalOf(measured);
  return `${digits(measured.median)}${unit}${interval === '' ? '' : ` (${interval})`}`;
}

export function print(row: Row, seconds: number): void {
  const lines = [`\n${row.id}  ${row.title}  (${Math.round(seconds)} s)`];
  for (const { role, name, unit, series } of row.figures)
    lines.push(
      `  ${role.padEnd(6)} ${name.padEnd(58)} ${`${digits(series.median)} ${unit}`.padStart(22)}  ${intervalOf(series)}`,
    );
  for (const gate of row.gates)
    lines.push(`  ${gate.verdict.toUpperCase().padEnd(9)} ${askedOf(gate)}: ${measuredOf(gate)}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

type Baseline = Record<string, { readonly value: number; readonly worse: 'higher' | 'lower' }>;
const watched = (rows: readonly Row[]): [string, Figure][] =>
  rows.flatMap((row) =>
    row.figures
      .filter((f) => f.worse !== undefined)
      .map((f): [string, Figure] => [`${row.id} ${f.name} [${f.unit}]`, f]),
  );
/** A line for every watched figure that is worse than the kept one, by its interval. */
export function compareWithBaseline(rows: readonly Row[]): string[] {
  const baseline = readJson<Baseline>(BASELINE, {});
  return watched(rows).flatMap(([key, { series }]) => {
    const kept = baseline[key];
    if (kept === undefined) return [];
    const isWorse =
      kept.worse === 'higher'
        ? series.low > kept.value * (1 + MOST_WORSE)
        : series.high < kept.value / (1 + MOST_WORSE);
    return isWorse
      ? [`${key}: ${digits(series.median)} (${intervalOf(series)}), was ${digits(kept.value)}`]
      : [];
  });
}
export function keepBaseline(rows: readonly Row[]): void {
  const baseline = { ...readJson<Baseline>(BASELINE, {}) };
  for (const [key, f] of watched(rows)) baseline[key] = { value: f.series.median, worse: f.worse! };
  writeJson(BASELINE, Object.fromEntries(Object.entries(baseline).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}
