import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeNumber } from './free-number.ts';

test('free number - the next number that neither an extension nor another object has', () => {
  assert.equal(freeNumber(['1001', '1002', '1003'], new Set(['500'])), '1004');
  assert.equal(freeNumber(['1001', '1002', '1010'], new Set(['1003', '1004'])), '1005');
});
test('free number - none without a number to continue from, or without a free one', () => {
  assert.equal(freeNumber([], new Set()), null);
  assert.equal(freeNumber(['99'], new Set()), null);
});
