import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FEATURE_CODES, featureCodesTable } from './feature-codes.ts';

test('feature-codes - no id, pattern or title stands twice', () => {
  for (const list of [
    FEATURE_CODES.map((c) => c.id),
    FEATURE_CODES.flatMap((c) => c.patterns),
    FEATURE_CODES.map((c) => c.title),
  ]) {
    assert.deepEqual(list, [...new Set(list)]);
  }
});

test('feature-codes - the table has one row for each code, with what people dial', () => {
  const rows = featureCodesTable().trim().split('\n');
  assert.deepEqual(rows.slice(0, 2), ['| Dial | Name | What it does | Id |', '|---|---|---|---|']);
  assert.equal(rows.length - 2, FEATURE_CODES.length);
  for (const start of [
    '| `*22`, `*22…` | Pause |',
    '| `*23` | Ready |',
    '| `*81`, `*81…` |',
    '| `*80`, `*80…` |',
    '| `*8` |',
    '| `**…` |',
  ]) {
    assert.ok(
      rows.some((row) => row.startsWith(start)),
      start,
    );
  }
  for (const row of rows) assert.equal(row.split('|').length, 6, row);
});
