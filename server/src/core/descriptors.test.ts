import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { connectionsFor, descriptors, enough } from './descriptors.ts';

test('descriptors - what is open is counted', () => {
  const before = descriptors();
  assert.ok(before !== null && before.limit > before.used);
  const opened = Array.from({ length: 20 }, () => openSync('/dev/null', 'r'));
  assert.equal(descriptors()!.used, before.used + 20);
  for (const one of opened) closeSync(one);
});
test('descriptors - connections leave a quarter, and 64 at least', () => {
  assert.deepEqual(
    [64, 256, 1024, 20_000, 65_536].map((limit) => connectionsFor({ limit }, 20_000)),
    [1, 192, 768, 15_000, 20_000],
  );
});
test('descriptors - few left are too few', () => {
  assert.ok(enough({ limit: 256, used: 200 }));
  assert.ok(!enough({ limit: 256, used: 245 }));
  assert.ok(enough({ limit: 20_000, used: 15_100 }));
  assert.ok(!enough({ limit: 20_000, used: 19_950 }));
});
