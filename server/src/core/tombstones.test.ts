import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOMBSTONE_MS, Tombstones } from './tombstones.ts';

test('tombstones - an id stays known for the time of one generation, and for two at most', () => {
  const dead = new Tombstones<string>();
  dead.add('a', 1_000_000);
  dead.add('b', 1_000_000 + TOMBSTONE_MS);
  assert.ok(dead.has('a') && dead.has('b'));
  dead.add('c', 1_000_001 + TOMBSTONE_MS);
  assert.ok(dead.has('a') && dead.has('b') && dead.has('c'));
  dead.add('d', 1_000_002 + 2 * TOMBSTONE_MS);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((id) => dead.has(id)),
    [false, false, true, true],
  );
});

test('tombstones - the newest end of an id counts, in whichever generation it lies', () => {
  const dead = new Tombstones<string>();
  dead.add('a', 1_000_000);
  assert.equal(dead.diedWithin('a', 1_000_000, 1_000_001), true);
  assert.equal(dead.diedWithin('a', 999_999, 1_000_000), false);
  assert.equal(dead.diedWithin('b', 0, 2_000_000), false);
  const later = 1_000_001 + TOMBSTONE_MS;
  dead.add('a', later);
  assert.equal(dead.diedWithin('a', 1_000_000, later), false);
  assert.equal(dead.diedWithin('a', later, later + 1), true);
});

test('tombstones - what is deleted or cleared may come back', () => {
  const dead = new Tombstones<string>();
  dead.add('a', 0);
  dead.add('a', TOMBSTONE_MS + 1);
  dead.add('b', TOMBSTONE_MS + 1);
  dead.delete('a');
  assert.deepEqual([dead.has('a'), dead.has('b')], [false, true]);
  dead.clear();
  assert.equal(dead.size, 0);
});
