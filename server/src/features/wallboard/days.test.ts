import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rfc3339 } from '../../core/clock.ts';
import { zoneCalendar } from './days.ts';
import { SLOT_MS } from './sums.ts';

const HOUR = 3_600_000;
const spans = (zone: string, day: string, seconds: number): string[] => {
  const calendar = zoneCalendar(zone);
  return [...calendar.intervals(calendar.day(day), seconds)].map(
    ({ from, to }) => `${rfc3339(from).slice(11, 16)}+${(to - from) / 60_000}`,
  );
};

test('wallboard days - a day has as many hours as the clocks of its zone give it', () => {
  const cases: readonly [zone: string, day: string, from: string, hours: number][] = [
    ['Europe/Berlin', '2026-03-28', '2026-03-27T23:00:00.000Z', 24],
    ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00.000Z', 23],
    ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00:00.000Z', 25],
    ['America/New_York', '2026-03-08', '2026-03-08T05:00:00.000Z', 23],
    ['America/New_York', '2026-11-01', '2026-11-01T04:00:00.000Z', 25],
    ['Asia/Kathmandu', '2026-07-01', '2026-06-30T18:15:00.000Z', 24],
    ['Asia/Kolkata', '2026-07-01', '2026-06-30T18:30:00.000Z', 24],
    ['Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00:00.000Z', 24.5],
    ['Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30:00.000Z', 23.5],
    // Clocks that change at midnight: there is no 00:00, or there are two.
    ['America/Santiago', '2026-09-06', '2026-09-06T04:00:00.000Z', 23],
    ['America/Havana', '2026-11-01', '2026-11-01T04:00:00.000Z', 25],
    ['Pacific/Kiritimati', '2026-01-01', '2025-12-31T10:00:00.000Z', 24],
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z', 0],
    ['UTC', '2026-02-29', '2026-03-01T00:00:00.000Z', 24],
  ];
  for (const [zone, day, from, hours] of cases) {
    const span = zoneCalendar(zone).day(day);
    assert.equal(rfc3339(span.from), from, `${zone} ${day}`);
    assert.equal((span.to - span.from) / HOUR, hours, `${zone} ${day}`);
  }
});
test('wallboard days - every moment lies in its day', () => {
  for (const zone of [
    'Europe/Berlin',
    'America/New_York',
    'Asia/Kathmandu',
    'America/Havana',
    'Africa/Cairo',
  ]) {
    const calendar = zoneCalendar(zone);
    for (let ms = Date.UTC(2026, 0, 1); ms < Date.UTC(2027, 0, 1); ms += 131 * SLOT_MS) {
      const { from, to } = calendar.day(calendar.dayOf(ms));
      assert.ok(from <= ms && ms < to, `${zone} ${rfc3339(ms)}`);
    }
  }
});
test('wallboard days - slots fit the clock of every zone there is', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const calendar = zoneCalendar(zone);
    for (const at of [
      Date.UTC(2000, 0, 1),
      Date.UTC(2013, 6, 1),
      Date.UTC(2026, 0, 1),
      Date.UTC(2026, 6, 1),
    ]) {
      assert.equal(Math.abs(calendar.offsetAt(at)) % SLOT_MS, 0, zone);
    }
  }
});
test('wallboard days - intervals follow the clock on the wall, also when it changes', () => {
  assert.equal(spans('Europe/Berlin', '2026-03-29', 900).length, 92);
  assert.equal(spans('Europe/Berlin', '2026-10-25', 900).length, 100);
  assert.deepEqual(
    new Set(spans('Europe/Berlin', '2026-10-25', 3600).map((s) => s.slice(5))),
    new Set(['+60']),
  );
  assert.equal(spans('Europe/Berlin', '2026-10-25', 3600).length, 25);
  assert.equal(spans('America/New_York', '2026-03-08', 3600).length, 23);
  assert.equal(spans('America/New_York', '2026-11-01', 3600).length, 25);
  // Six parts of a day; the one in which an hour comes twice or never is longer or shorter.
  assert.deepEqual(spans('Europe/Berlin', '2026-10-25', 14_400), [
    '22:00+300',
    '03:00+240',
    '07:00+240',
    '11:00+240',
    '15:00+240',
    '19:00+240',
  ]);
  assert.deepEqual(spans('Europe/Berlin', '2026-03-29', 14_400)[0], '23:00+180');
  // Half an hour later or earlier.
  assert.equal(spans('Australia/Lord_Howe', '2026-04-05', 900).length, 98);
  assert.equal(spans('Australia/Lord_Howe', '2026-10-04', 900).length, 94);
  assert.deepEqual(spans('Asia/Kathmandu', '2026-07-01', 3600).slice(0, 2), ['18:15+60', '19:15+60']);
  assert.deepEqual(spans('Europe/Berlin', '2026-10-25', 86_400), ['22:00+1500']);
  assert.deepEqual(spans('America/Havana', '2026-11-01', 86_400), ['04:00+1500']);
});
test('wallboard days - intervals cover a span without hole or overlap', () => {
  for (const zone of ['Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu']) {
    const calendar = zoneCalendar(zone);
    const span = { from: Date.UTC(2026, 2, 1, 5, 15), to: Date.UTC(2026, 11, 1, 7, 45) };
    for (const seconds of [900, 3600, 21_600, 86_400]) {
      let at = span.from;
      for (const { from, to } of calendar.intervals(span, seconds)) {
        assert.equal(from, at);
        assert.ok(to > from);
        at = to;
      }
      assert.equal(at, span.to);
    }
  }
});
