import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zoneOffset } from '../../src/core/zone.ts';
import { steadyZone } from './steady-zone.ts';

test('steady zone - at every minute of a year the next quarter of an hour ends no hour and no day', () => {
  const from = Date.UTC(2026, 0, 1);
  for (let ms = from; ms < from + 366 * 86_400_000; ms += 7 * 60_000) {
    const local = ms + zoneOffset(steadyZone(ms))(ms);
    assert.equal(Math.floor(local / 3_600_000), Math.floor((local + 15 * 60_000) / 3_600_000));
  }
});
