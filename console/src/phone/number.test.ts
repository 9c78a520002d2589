import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dialled, isName } from './number.ts';

test('phone number - typed, pasted or clicked text becomes a number to dial, or is refused', () => {
  for (const [text, number] of [
    ['1009', '1009'],
    [' 030 / 90 18-20 ', '030901820'],
    ['+49 (0)30 901820', '+4930901820'],
    ['tel:+1-800-FLOWERS', '+18003569377'],
    ['0800 FLOWERS', '08003569377'],
    ['sip:1009@pbx.example', '1009'],
    ['*97', '*97'],
    ['*22 3#', '*223#'],
    ['１２３', '123'],
    ['030\u2013901820', '030901820'],
  ] as const) {
    assert.equal(dialled(text), number, text);
  }
  for (const text of ['', '   ', '+', '++49', '1+2', 'ä', '<b>', '1'.repeat(33), 'müller']) {
    assert.equal(dialled(text), null, text);
  }
});
test('phone number - letters alone are a name, with digits they may be keypad letters', () => {
  for (const text of ['José', 'نور', 'van der Berg', '李']) assert.equal(isName(text), true, text);
  for (const text of ['0800 FLOWERS', 'sip:1009@pbx.example', '1009', '*97', '']) {
    assert.equal(isName(text), false, text);
  }
});
