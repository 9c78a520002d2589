import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

const SOURCES = path.join(import.meta.dirname, '..');
/** Ways to show the error of a query only while it has no data; `Read` and `isError` show it beside older data too. */
const SILENT: readonly RegExp[] = [
  /\bisLoadingError\b/,
  /\berror === null \?\s*\(?\s*<Loading/,
  /\berror !== null && [\w.]*\bdata === undefined/,
  /\bdata !== undefined\) return <(?!\/)/,
  /if \(!\w+\.isSuccess\b.*\) return null/,
  /\.isSuccess && \(\n/,
  /\berror !== null && \w+\.length === 0\)\s*return/,
  /\.isError\) return <Failure/,
  /\.isError \? \(\s*<Failure/,
];

test('console - a read that fails later is shown beside the data of the read before it', async () => {
  const found: string[] = [];
  let files = 0;
  for await (const file of glob('**/*.tsx', { cwd: SOURCES })) {
    const text = await readFile(path.join(SOURCES, file), 'utf8');
    files += 1;
    for (const way of SILENT) if (way.test(text)) found.push(`${file}: ${String(way)}`);
  }
  assert.ok(files > 100, `${files} files were read`);
  assert.deepEqual(found, []);
});
