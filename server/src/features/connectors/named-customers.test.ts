import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NamedCustomers } from './named-customers.ts';

test('connectors - a sync counts each customer once, with and without a row in the phonebook', () => {
  const named = new NamedCustomers();
  const rows = [1, 7, 8, 32_767, 32_768, 5_000_000_000];
  for (const row of [...rows, ...rows]) named.add(`c${row}`, row);
  for (const id of ['nameless', 'nameless', 'other']) named.add(id, null);
  assert.equal(named.size, rows.length + 2);
  assert.deepEqual(
    rows.map((row) => named.has(row)),
    rows.map(() => true),
  );
  for (const row of [0, 2, 6, 9, 32_766, 32_769, 5_000_000_001, 4_999_999_999])
    assert.equal(named.has(row), false, `${row}`);
});
