import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ERRORS } from '@offhook/contract/errors.ts';
import { readSources, REPOSITORY } from './support/sources.ts';

test('errors - docs/errors.md says exactly what the registry says', async () => {
  const text = await readFile(path.join(REPOSITORY, 'docs/errors.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\d+) \| (\w+) \| (.+) \|$/gm)].map((m) => [
    m[1],
    { status: Number(m[2]), retry: m[3], title: m[4] },
  ]);
  assert.deepEqual(Object.fromEntries(rows), ERRORS);
});

test('errors - every code of the registry is used, and every code that is used stands in the registry', async () => {
  const files = (await readSources(['server/src'], /\.ts$/)).filter((f) => !f.path.endsWith('.test.ts'));
  const all = files.map((f) => f.text).join('\n');
  const used = new Set([...all.matchAll(/'([a-z_]+)'/g)].map((m) => m[1]!));
  const unused = Object.keys(ERRORS).filter((code) => !used.has(code));
  assert.deepEqual(unused, [], 'nothing ever answers with these codes');
  const thrown = [...all.matchAll(/new ServiceError\(\s*'([^']+)'/g)].map((m) => m[1]!);
  assert.ok(thrown.length > 5, 'no use of ServiceError was found: the test looks in the wrong place');
  assert.deepEqual(
    thrown.filter((code) => !(code in ERRORS)),
    [],
  );
});

test('errors - a status has one meaning of retry per code and stays a client or server error', () => {
  for (const [code, row] of Object.entries(ERRORS)) {
    assert.ok(row.status >= 400 && row.status < 600, `${code} has status ${row.status}`);
    assert.match(row.title, /^[A-Z].*[^.]$/, `the title of ${code} is a short sentence without a full stop`);
    if (row.status >= 500 && code !== 'engine_refused')
      assert.equal(row.retry, 'later', `${code} can be tried later`);
  }
});
