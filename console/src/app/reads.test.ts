import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSources } from '../../../server/test/support/sources.ts';

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
  const files = await readSources(['console/src'], /\.tsx$/);
  for (const { path: file, text } of files)
    for (const way of SILENT) if (way.test(text)) found.push(`${file}: ${String(way)}`);
  assert.ok(files.length > 100, `${files.length} files were read`);
  assert.deepEqual(found, []);
});
