import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toE164 } from './e164.ts';

test('e164 - a number is the same however it was received', () => {
  const berlin = '+4930901820';
  for (const number of [
    '+4930901820',
    '030901820',
    '4930901820',
    '0049 30 901820',
    '+49 (30) 90182-0',
    ' 030/901820 ',
  ])
    assert.equal(toE164(number, 'DE'), berlin, number);
  assert.equal(toE164('0532 123 45 67', 'TR'), '+905321234567');
  assert.equal(toE164('5321234567', 'TR'), '+905321234567');
  assert.equal(toE164('2125551234', 'US'), '+12125551234');
  // 00 is how most of the world dials abroad, and how trunks of a country that does not often write it.
  assert.equal(toE164('004930901820', 'US'), berlin);
});

test('e164 - without a country only a plus or 00 is understood', () => {
  assert.equal(toE164('+4930901820', ''), '+4930901820');
  assert.equal(toE164('004930901820', ''), '+4930901820');
  assert.equal(toE164('030901820', ''), null);
  assert.equal(toE164('4930901820', ''), null);
});

test('e164 - what is internal, no number, or given to nobody is null', () => {
  for (const number of ['1001', '7001', '112', '*22', '700', '200123', '+', '00', '++4930901820', ''])
    assert.equal(toE164(number, 'DE'), null, number);
  for (const number of [
    '+99912345678',
    '5551234',
    'anonymous',
    '1 OR 1=1',
    '+49309018 20;ext=5',
    '030901820x1',
  ])
    assert.equal(toE164(number, 'US'), null, number);
});

test('e164 - hostile input is null, and costs nothing', () => {
  const hostile = [
    '\u202e+4930901820',
    '٠٣٠٩٠١٨٢٠',
    '０３０９０１８２０',
    '+49\u000030901820',
    '<b>030901820</b>',
    '%',
  ];
  for (const number of [...hostile, '9'.repeat(33), '+49'.repeat(4_000), ' '.repeat(10_240)])
    assert.equal(toE164(number, 'DE'), null);
  for (const country of ['__proto__', 'constructor', 'XX', 'de', '999'])
    assert.equal(toE164('030901820', country), null, country);
});
