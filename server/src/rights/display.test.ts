import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { lastDigits } from './display.ts';

test('display - the last digits of a number never tell the rest', () => {
  assert.equal(lastDigits('+4915112345678'), '•••678');
  assert.equal(lastDigits('1007'), '•007');
  assert.equal(lastDigits('12'), '12');
  fc.assert(
    fc.property(fc.stringMatching(/^\+?\d{4,20}$/), (number) => {
      assert.ok(lastDigits(number).replaceAll('•', '').length <= 3);
    }),
  );
});
