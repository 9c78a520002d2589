import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUnseen, readSeen, withSeen } from './unseen.ts';

const NOW = Date.parse('2026-03-10T12:00:00.000Z');
const call = (call_key: string, started_at = '2026-03-10T11:00:00.000Z') => ({ call_key, started_at });

test('history - a missed call is unseen until it was shown, for a week', () => {
  const none = readSeen(null);
  assert.equal(isUnseen(call('a'), none, NOW), true);
  assert.equal(isUnseen(call('a', '2026-03-03T11:59:59.000Z'), none, NOW), false);
  const seen = readSeen(JSON.stringify(withSeen(none, [call('a')])));
  assert.equal(isUnseen(call('a'), seen, NOW), false);
  assert.equal(isUnseen(call('b'), seen, NOW), true);
});

test('history - seen calls stay seen, and a browser stores 200 at most', () => {
  assert.deepEqual(withSeen(new Set(['a', 'b']), [call('c'), call('a')]), ['c', 'a', 'b']);
  const many = Array.from({ length: 500 }, (_, i) => call(`k${i}`));
  assert.equal(withSeen(new Set(['old']), many).length, 200);
});

test('history - an unreadable stored text means that nothing was seen', () => {
  for (const text of ['{', '{"a":1}', 'null', '7']) assert.equal(readSeen(text).size, 0, text);
  assert.deepEqual([...readSeen('["a",7,null]')], ['a']);
});
