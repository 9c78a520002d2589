import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merged } from './merge.ts';

test('merge - fields that were changed here stay, the others are those that were stored meanwhile', () => {
  const base = { name: 'A', ring: 1, numbers: ['5'] };
  const theirs = { name: 'B', ring: 2, numbers: ['5', '6'] };
  assert.deepEqual(merged(base, { ...base, ring: 3 }, theirs), { ...theirs, ring: 3 });
  assert.deepEqual(merged(base, { ...base, numbers: [] }, theirs), { ...theirs, numbers: [] });
  assert.deepEqual(merged<Partial<typeof base>>(base, { name: 'A', ring: 1 }, theirs).numbers, undefined);
  assert.deepEqual(merged(base, base, theirs), theirs);
});
