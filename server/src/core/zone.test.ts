import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { machineZone, zoneName, zoneOffset } from './zone.ts';

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

/** What a process in that zone prints. */
function inZone(TZ: string, code: string): string {
  const source = `import { machineZone, zoneName, zoneOffset } from ${JSON.stringify(new URL('zone.ts', import.meta.url).href)};\n${code}`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', source], {
    env: { ...process.env, TZ },
    encoding: 'utf8',
  });
  assert.equal(child.status, 0, child.stderr);
  return child.stdout;
}

test('zone - where it is the zone of the machine, the shown time is that of the platform too', () => {
  const differ = inZone(
    'UTC',
    `for (const timeZone of [...Intl.supportedValuesOf('timeZone'), 'UTC']) {
      process.env.TZ = timeZone;
      const offsetAt = zoneOffset(timeZone);
      const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
      // Every 36 days and some hours, so that all times of a day come, winter and summer.
      for (let ms = 0; ms < Date.UTC(2040, 0, 1); ms += 3_137_777_000) {
        const shown = new Date(ms + offsetAt(ms)).toISOString().slice(0, 19).replace('T', ' ');
        if (shown !== format.format(ms)) console.log(timeZone, ms, shown, format.format(ms));
      }
    }`,
  );
  assert.equal(differ, '');
});

test('zone - the zone of the machine needs no format of Intl', () => {
  for (const zone of ['Europe/Berlin', 'UTC']) {
    const printed = inZone(
      zone,
      `Intl.DateTimeFormat = () => { throw new Error('a format'); };
      console.log(machineZone(), zoneName(machineZone()), zoneOffset(machineZone())(0));`,
    );
    assert.equal(printed, `${zone} ${zone} ${zone === 'UTC' ? 0 : HOUR_MS}\n`);
  }
});

test('zone - names are those of the platform', () => {
  assert.equal(machineZone(), Intl.DateTimeFormat().resolvedOptions().timeZone);
  // Etc/GMT+5 and :Asia/Tokyo are none of the platform's list; the last is no zone.
  for (const TZ of ['Etc/UTC', 'Asia/Calcutta', 'Etc/GMT+5', ':Asia/Tokyo', '', 'Mars/Olympus']) {
    const [found, asked] = inZone(
      TZ,
      'console.log(machineZone()); console.log(Intl.DateTimeFormat().resolvedOptions().timeZone);',
    ).split('\n');
    assert.equal(found, asked, TZ);
  }
  for (const timeZone of [
    ...Intl.supportedValuesOf('timeZone'),
    'UTC',
    'Etc/UTC',
    'Asia/Calcutta',
    'europe/berlin',
  ])
    assert.equal(zoneName(timeZone), new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone);
  assert.equal(zoneName('Mars/Olympus'), null);
});
