import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ToNumber } from './call-control.ts';
import { TimeConditionConfig } from './config-call-flow.ts';
import { FeaturesRequest } from './features.ts';
import { bareNumber } from './numbers.ts';

test('numbers - separators are removed, other characters stay and are rejected', () => {
  for (const [written, bare] of [
    ['+90 (532) 111-22-33', '+905321112233'],
    ['+90\u00a0532\u202f111\u201122\u201133', '+905321112233'],
    ['+49 (0)30 901820', '+4930901820'],
    ['(030) 90.18/20', '030901820'],
    ['0 800 (0) 12', '0800012'],
    [' 1008 ', '1008'],
    ['**12 34#', '**1234#'],
  ] as const) {
    assert.equal(bareNumber(written), bare);
    assert.equal(ToNumber.parse(written), bare);
  }
  for (const refused of [
    '1008,2',
    '1008;2',
    '1008&1009',
    '1008\n',
    '1008\r\nAction: Ping',
    '1008\0',
    '\t1008',
    '１００８',
    '${SHELL(x)}',
    '1008p2',
    '10+08',
    '--',
    '',
    `+${'9 '.repeat(40)}`,
    '9'.repeat(10_000),
  ]) {
    assert.equal(ToNumber.safeParse(refused).success, false, JSON.stringify(refused));
    const forward = FeaturesRequest.safeParse({ call_forward_number: refused });
    // An empty value removes the forward in every spelling.
    assert.equal(forward.success, bareNumber(refused) === '', JSON.stringify(refused));
  }
});

test('config - a time of day is taken without its leading nought, and kept with it', () => {
  const hours = (from: string, to: string) =>
    TimeConditionConfig.shape.hours.safeParse([{ days: ['mon'], from, to }]);
  const taken = hours('9:00', '17:30');
  assert.ok(taken.success, JSON.stringify(taken.error?.issues));
  assert.deepEqual([taken.data[0]!.from, taken.data[0]!.to], ['09:00', '17:30']);
  for (const wrong of ['9', '9:0', '24:30', '-9:00', '9:60'])
    assert.equal(hours(wrong, '17:30').success, false);
});
