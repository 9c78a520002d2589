/** The figures and the arithmetic of docs/sizing.md. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { REPOSITORY } from './support/sources.ts';

const read = (name: string): string => fs.readFileSync(path.join(REPOSITORY, 'docs', name), 'utf8');
const PER_SITE = 800;
const ROWS_PER_AGENT = 0.075;
const AGENTS_PER_DATABASE = 20_000;

test('sizing - each measured figure is the one of the pages of performance', () => {
  const measured = [
    ['performance/engine.md', '**Offhook, 1,000 extensions** |  | 4.75 µs CPU/event'],
    ['performance/stream.md', '**Offhook, 1,000 clients** |  | 427 µs CPU/event'],
    ['performance/stream.md', '**Offhook, 10,000 clients** |  | 973 µs CPU/event'],
    ['performance/engine.md', 'first time: connect, read and journal everything** |  | 1,263 ms'],
    ['performance/engine.md', '1,000 extensions: 2,705 ms'],
    ['performance/engine.md', '3,334 extensions: 12,343 ms'],
    ['performance/engine.md', 'memory of the idle service after 10 s (RSS)** |  | 156 MB'],
  ] as const;
  for (const [page, figure] of measured)
    assert.ok(read(page).includes(figure), `${page} no longer has "${figure}": correct docs/sizing.md`);
});
test('sizing - the table follows from its rule', () => {
  const rows = [
    ...read('sizing.md').matchAll(
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
