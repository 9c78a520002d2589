import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedCall, recordedCalls } from '../../../../test/support/recorded-calls.ts';
import { buildRecord } from './build.ts';
import { timelineEntries } from './entries.ts';

const linesOf = (name: string): readonly string[] => {
  const record = buildRecord(recordedCall(name), { e164: () => null })!;
  return timelineEntries(record).map((e) => `${e.what}: ${e.text}`);
};

test('timeline - entries of a call are in order and readable', () => {
  assert.deepEqual(linesOf('hold'), [
    'leg_started: Ada (1001) dialled 1002',
    'leg_started: Sam (1002) was called',
    'answered: Sam (1002) answered',
    'held: Sam (1002) put Ada (1001) on hold',
    'retrieved: Sam (1002) took Ada (1001) back from hold',
    'leg_ended: Ada (1001) hung up',
    'leg_ended: Sam (1002) was left by the other side',
  ]);
  assert.deepEqual(linesOf('queue-blind-transfer'), [
    'leg_started: Ada (1001) dialled 500',
    'queue_joined: Ada (1001) joined queue support',
    'leg_started: Bea (1003) was offered the call',
    'queue_left: Ada (1001) was answered in queue support by Bea (1003)',
    'answered: Bea (1003) answered',
    'transferred: Bea (1003) passed Ada (1001) on to 1005 without speaking first',
    'leg_ended: Bea (1003) hung up',
    'leg_started: The call was passed on to Dan (1005)',
    'answered: Dan (1005) answered',
    'leg_ended: Ada (1001) hung up',
    'leg_ended: Dan (1005) was left by the other side',
  ]);
  assert.deepEqual(
    ['forward', 'forward-code'].flatMap((name) => linesOf(name).filter((line) => line.startsWith('forward'))),
    [
      'forward: The device of Sam (1002) sent Ada (1001) on to 1003',
      'forward: The forward of 1002 sent Ada (1001) on to 1003',
    ],
  );
  assert.deepEqual(linesOf('park-timeout').slice(3, 6), [
    'parked: Ada (1001) was parked',
    'service: Sam (1002) reached the exchange: announcement',
    'park: Sam (1002) parked Ada (1001) on 700: nobody answered',
  ]);
});

test('timeline - every entry of every recorded call is in order and names its leg', () => {
  for (const name of recordedCalls.filter((n) => n !== 'listen')) {
    const record = buildRecord(recordedCall(name), { e164: () => null })!;
    const ids = new Set(record.legs.map((l) => l.leg_id));
    const entries = timelineEntries(record);
    assert.deepEqual(
      entries,
      entries.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
    );
    for (const e of entries) assert.ok(e.text !== '' && (e.leg_id === null || ids.has(e.leg_id)), name);
    assert.equal(entries.filter((e) => e.what === 'leg_ended').length, record.legs.length);
  }
});
