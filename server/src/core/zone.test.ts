import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { zoneOffset } from './zone.ts';

const HOUR_MS = 3_600_000;

test('zone - the offset is that of the moment on a day in which clocks change', () => {
  const berlin = zoneOffset('Europe/Berlin');
  assert.equal(berlin(Date.parse('2026-10-25T00:59:59.999Z')), 2 * HOUR_MS);
  assert.equal(berlin(Date.parse('2026-10-25T01:00:00Z')), HOUR_MS);
  assert.equal(berlin(Date.parse('2026-07-01T12:00:00Z')), 2 * HOUR_MS);
  assert.equal(zoneOffset('Asia/Kathmandu')(0), 5.5 * HOUR_MS, 'before 1986 it was 15 minutes less');
});

test('zone - the shown time is that of the platform in every zone', () => {
  const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC');
  const moment = fc.integer({ min: 0, max: Date.UTC(2040, 0, 1) });
  fc.assert(
    fc.property(zone, moment, (timeZone, ms) => {
      const shown = new Date(ms + zoneOffset(timeZone)(ms)).toISOString().slice(0, 19).replace('T', ' ');
      assert.equal(shown, new Date(ms).toLocaleString('sv-SE', { timeZone }));
    }),
    { numRuns: 300 },
  );
});

test('zone - an unknown zone is refused', () => {
  assert.throws(() => zoneOffset('Mars/Olympus'), RangeError);
});
