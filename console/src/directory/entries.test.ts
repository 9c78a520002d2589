import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Contact, Presence } from '@offhook/contract/extensions.ts';
import { departmentsOf, entriesOf, rowsOf } from './entries.ts';
import type { Wanted } from './entries.ts';

const presence = (summary: string, more: Partial<Presence> = {}): Presence => ({
  reachability: 'online',
  activity: 'idle',
  personal: 'not_set',
  note: null,
  expires_at: null,
  summary,
  since: '2026-11-22T09:00:00.000Z',
  ...more,
});
const contact = (
  extension: string,
  name: string,
  department: string | null,
  mobile: string | null = null,
): Contact => ({
  extension,
  name,
  role: 'user',
  role_name: 'User',
  status: 'online',
  presence: presence('available'),
  sip_status: 'NOT_INUSE',
  webrtc_status: 'UNAVAILABLE',
  mob_webrtc_status: 'UNAVAILABLE',
  email: null,
  mobile,
  department,
});
const people = [
  contact('1004', 'Özge Çelik', 'Muhasebe'),
  contact('1001', 'Çağla Öz', 'Satış'),
  contact('1002', 'Iğdır Demir', 'Satış', '+90 555 123 45 67'),
  contact('1003', 'İpek Ak', null),
];
const wanted: Wanted = {
  q: '',
  department: null,
  group: null,
  grouped: false,
  favourites: new Set(),
  presenceOf: () => presence('available'),
};
const shown = (more: Partial<Wanted>, lang = 'tr'): string[] =>
  rowsOf(entriesOf(people, lang), { ...wanted, ...more }, lang).rows.map((row) =>
    row.kind === 'person'
      ? row.contact.extension
      : `${typeof row.section === 'string' ? row.section : row.section.department}:${row.count}`,
  );

test('directory - people are in the order of their language, without headings in a single list', () => {
  assert.deepEqual(shown({}), ['1001', '1002', '1003', '1004'], 'Ç, I, İ, Ö in Turkish');
  assert.deepEqual(departmentsOf(people, 'tr'), ['Muhasebe', 'Satış']);
});
test('directory - a search matches words of name, department and number in any order, dotted or not', () => {
  assert.deepEqual(shown({ q: 'satis oz' }), ['1001']);
  assert.deepEqual(shown({ q: 'DEMİR igdir' }), ['1002']);
  assert.deepEqual(shown({ q: 'ipek' }), ['1003']);
  assert.deepEqual(shown({ q: '555 123' }), ['1002']);
  assert.deepEqual(shown({ q: 'satis 1002' }), ['1002']);
  assert.deepEqual(shown({ q: 'nobody' }), []);
});
test('directory - favourites come first and once, departments under their names, none last', () => {
  const favourites = new Set(['1003']);
  assert.deepEqual(shown({ favourites }), ['favourites:1', '1003', 'everybody:3', '1001', '1002', '1004']);
  assert.deepEqual(shown({ grouped: true }), [
    'Muhasebe:1',
    '1004',
    'Satış:2',
    '1001',
    '1002',
    'none:1',
    '1003',
  ]);
  assert.deepEqual(shown({ department: 'Satış', grouped: true, favourites }), ['Satış:2', '1001', '1002']);
  assert.deepEqual(shown({ department: '' }), ['1003']);
});
test('directory - a status is the live one, a paused agent is away', () => {
  const words: Record<string, Presence> = {
    1001: presence('in_call', { activity: 'in_call' }),
    1002: presence('lunch'),
    1003: presence('offline', { reachability: 'offline' }),
  };
  const presenceOf = (extension: string): Presence | undefined => words[extension];
  assert.deepEqual(shown({ group: 'busy', presenceOf }), ['1001']);
  assert.deepEqual(shown({ group: 'away', presenceOf }), ['1002']);
  assert.deepEqual(shown({ group: 'offline', presenceOf }), ['1003', '1004'], 'and who is not known yet');
  assert.deepEqual(shown({ group: 'available', presenceOf }), []);
});
test('directory - a search of ten thousand people is quick', () => {
  const many = Array.from({ length: 10_000 }, (_, i) =>
    contact(String(10_000 + i), `Person ${i} Öz`, `Team ${i % 40}`),
  );
  const entries = entriesOf(many, 'en');
  const before = process.cpuUsage();
  const { people: n } = rowsOf(entries, { ...wanted, q: 'oz team 77', grouped: true }, 'en');
  // Of the processor, which others may have meanwhile.
  const ms = process.cpuUsage(before).user / 1000;
  assert.ok(n > 100 && n < 10_000, `${n}`);
  assert.ok(ms < 2_000, `${ms} ms`);
});
