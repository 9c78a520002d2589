import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromLocal, toLocal } from './local-time.ts';

test('local time - a shown time is sent as the same minute; empty stays empty, invalid text is sent unchanged', () => {
  for (const time of ['2026-11-22T14:05:00.000Z', '2026-03-29T00:59:00.000Z', '2027-01-01T00:00:00.000Z']) {
    assert.equal(fromLocal(toLocal(time)), time);
  }
  process.env['TZ'] = 'Europe/Berlin';
  for (const typed of ['0002-11-22T14:05', '0020-11-22T14:05', '0202-11-22T14:05', '2026-11-22T14:05'])
    assert.equal(toLocal(fromLocal(typed)), typed);
  assert.match(toLocal('2026-11-22T14:05:00Z'), /^2026-11-2\dT\d\d:\d5$/);
  assert.equal(toLocal(null), '');
  assert.equal(toLocal('nonsense'), '');
  assert.equal(fromLocal(''), null);
  assert.equal(fromLocal('20x'), '20x');
});
