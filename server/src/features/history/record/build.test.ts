import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordTold } from '../../../../test/support/record-told.ts';
import { recordedCall, recordedCalls } from '../../../../test/support/recorded-calls.ts';
import { buildRecord } from './build.ts';

/** Calls over trunks, as in recorded.test.ts; the last is what a carrier bills, in seconds. */
const TRUNKS: Readonly<Record<string, readonly string[]>> = {
  'trunk-in-passed-out': [
    'in answered by called · 2.5/0.0/4.5/0.0/0.0',
    '+4915112345678 caller answered by other_side · alerting 0.6 · connected 1.1 1001 · alerting 0.6 · connected 1.2 0044207946000',
    '1001 called answered by this_leg · alerting 0.6 · connected 1.1 +4915112345678',
    '0044207946000 transfer_target answered by this_leg · alerting 0.6 · connected 1.2 +4915112345678',
    'blind at 1.7: 1001 moved +4915112345678 to 0044207946000 (0044207946000), completed',
    'billed 2.9',
  ],
  'trunk-in-queue': [
    'in answered by caller · 0.6/0.6/2.1/0.0/0.0',
    '+4915112345678 caller answered by this_leg · queued:support 0.6 · connected 1.1 1003',
    '1003 offered answered by other_side · alerting 0.6 · connected 1.1 +4915112345678',
    '+4915112345678 in support 0.6 answered 1003 · 1003 0.6 answered',
    'billed 1.1',
  ],
  'trunk-in-unanswered': [
    'in missed by caller · 1.3/0.0/0.0/0.0/0.0',
    '+4915112345678 caller cancelled_by_caller by this_leg · alerting 0.6',
    '1001 called cancelled_by_caller by other_side · alerting 0.6',
    'billed 0.0',
  ],
  'trunk-in': [
    'in answered by caller · 1.3/0.0/4.2/2.8/0.0',
    '+4915112345678 caller answered by this_leg · alerting 0.6 · connected 1.1 1001 · held:other_side 1.4 1001 · connected 1.0 1001',
    '1001 called answered by other_side · alerting 0.6 · connected 1.1 +4915112345678 · held:this_leg 1.4 +4915112345678 · connected 1.0 +4915112345678',
    'billed 3.5',
  ],
  'trunk-out-busy': [
    'out missed by called · 0.1/0.0/0.0/0.0/0.0',
    '1001 caller busy by exchange',
    '0301234567 called busy by this_leg',
    'billed 0.0',
  ],
  'trunk-out': [
    'out answered by called · 1.3/0.0/2.1/0.0/0.0',
    '1001 caller answered by other_side · alerting 0.6 · connected 1.0 0301234567',
    '0301234567 called answered by this_leg · alerting 0.6 · connected 1.0 1001',
    'billed 1.0',
  ],
  'trunk-to-trunk': [
    'transit answered by caller · 1.3/0.0/2.1/0.0/0.0',
    '+4915112345678 caller answered by this_leg · alerting 0.6 · connected 1.1 +44207946000',
    '+44207946000 called answered by other_side · alerting 0.6 · connected 1.1 +4915112345678',
    'billed 1.1',
  ],
};

for (const [name, lines] of Object.entries(TRUNKS)) {
  test(`record - a call over a trunk: ${name}`, () => {
    const record = buildRecord(recordedCall(name), { e164: () => null })!;
    assert.deepEqual([...recordTold(record), `billed ${(record.billable_ms / 1000).toFixed(1)}`], lines);
  });
}
test('record - every call over a trunk has its expected record', () => {
  const names = recordedCalls.filter((n) => n.startsWith('trunk-'));
  assert.deepEqual(names.sort(), Object.keys(TRUNKS).sort());
});

test('record - the engine is killed: what is not over ends with the newest record, and nobody ended it', () => {
  const records = recordedCall('cut-off/engine-killed');
  const open = buildRecord(records, { e164: () => null })!;
  assert.deepEqual(
    [open.complete, open.ended_by, open.legs.map((l) => l.ended_by)],
    [false, null, [null, null]],
  );
  const lost = buildRecord(records, { e164: () => null, lost: true })!;
  assert.equal(lost.complete, true);
  assert.deepEqual(recordTold(lost), [
    'internal answered by engine_lost · 0.7/0.0/2.1/3.7/0.0',
    '1001 caller answered by engine_lost · alerting 0.4 · connected 1.0 1002 · held:other_side 1.9 1002',
    '1002 called answered by engine_lost · alerting 0.4 · connected 1.0 1001 · held:this_leg 1.9 1001',
  ]);
  const ringing = buildRecord(recordedCall('cut-off/engine-killed-while-ringing'), {
    e164: () => null,
    lost: true,
  })!;
  assert.deepEqual(recordTold(ringing), [
    'internal failed by engine_lost · 0.0/0.0/0.0/0.0/0.0',
    '1001 caller failed by engine_lost',
    '1002 called failed by engine_lost',
  ]);
});
