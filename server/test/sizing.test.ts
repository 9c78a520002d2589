/** The figures and the arithmetic of docs/sizing.md. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { REPOSITORY } from './support/sources.ts';

const read = (...name: string[]): string => fs.readFileSync(path.join(REPOSITORY, ...name), 'utf8');
const PER_SITE = 800;
const ROWS_PER_AGENT = 0.075;
const AGENTS_PER_DATABASE = 20_000;
/** A measurement repeated moves within this share; the sizes follow only from larger changes. */
const REPEATED = 0.25;

interface Measured {
  readonly row: {
    readonly figures: readonly { readonly name: string; readonly series: { readonly median: number } }[];
    readonly gates: readonly { readonly what: string; readonly measured: { readonly median: number } }[];
  };
}

test('sizing - each measured figure is near that of the newest bench', () => {
  const results = JSON.parse(read('bench', 'results.json')) as Record<string, Measured>;
  const figure = (row: string, name: string): number =>
    results[row]!.row.figures.find((one) => one.name === name)!.series.median;
  const gate = (row: string, what: string): number =>
    results[row]!.row.gates.find((one) => one.what === what)!.measured.median;
  const measured: Record<string, readonly number[]> = {
    F1: [figure('P2', 'Offhook, 1,000 extensions')],
    F2: [figure('P4', 'Offhook, 10,000 clients'), figure('P4', 'Offhook, 1,000 clients')],
    F3: [figure('P15', 'Offhook, first time: connect, read and journal everything') / 1_000],
    F4: [
      gate('P20', 'one extension more on 1,000') / 1_000,
      figure('P20', 'Offhook, from the request to the end') / 1_000,
      gate('P20', 'of it the live engine is busy') / 1_000,
    ],
    F5: [figure('START', 'memory of the idle service after 10 s (RSS)')],
  };
  for (const [name, values] of Object.entries(measured)) {
    const line = new RegExp(`^\\| ${name} [^|]*\\| ([^|]*) \\|`, 'm').exec(read('docs', 'sizing.md'))![1]!;
    const written = [...line.matchAll(/(?<![\d,.])(\d+(?:\.\d+)?) (?:µs|ms|s|MB)(?!\w)/g)].map((found) =>
      Number(found[1]),
    );
    for (const value of values)
      assert.ok(
        written.some((one) => Math.abs(one - value) <= value * REPEATED),
        `docs/sizing.md has ${name} as "${line}", the bench measured ${value}: correct the page and what follows from it`,
      );
  }
});
test('sizing - the table follows from its rule', () => {
  const rows = [
    ...read('docs', 'sizing.md').matchAll(
      /^\| ([\d,]+) \| (\d+) \| (\d+)[^|]* \| (\d+)[^|]* \| (\d+) pairs?[^|]* \| ([\d,]+)[^|]* \| (?:.*= )?(\d+)/gm,
    ),
  ];
  assert.deepEqual(rows.length, 4);
  for (const row of rows) {
    const [agents = 0, sites, engines, webs, pairs, written, machines] = row
      .slice(1)
      .map((text) => Number(text.replaceAll(',', '')));
    const wanted = Math.ceil(agents / PER_SITE);
    const databases = Math.ceil(agents / AGENTS_PER_DATABASE);
    assert.deepEqual(
      [sites, engines, webs, pairs, written, machines],
      [wanted, wanted * 2, wanted * 3, databases, agents * ROWS_PER_AGENT, wanted * 7 + databases * 2],
    );
  }
});
