import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extensionSubject, numberSubject } from './subject.ts';

test('subject - a number is found in every spelling and in no other number', () => {
  const subject = numberSubject('030 / 901820', 'DE')!;
  assert.equal(subject.value, '+4930901820');
  for (const text of [
    '030901820',
    '+4930901820',
    '+49 (0)30 901820',
    '004930901820',
    '4930901820',
    '030/90 18-20',
    'Dial(SIP/030901820@carrier,30)',
    'call back 030 901 820, urgent',
    '30901820',
  ]) {
    assert.ok(subject.isIn(text), text);
    assert.doesNotMatch(subject.without(text, 'erased-7'), /901/, text);
  }
  for (const text of [
    '0309018200',
    '+30901820',
    '1030901820',
    '+440309018201',
    'ast1:1763762400.901820',
    '',
  ]) {
    assert.ok(!subject.isIn(text), text);
    assert.equal(subject.without(text, 'x'), text);
  }
});

test('subject - what has no E.164 is found as its digits; what is no number is none', () => {
  const subject = numberSubject('12345', '')!;
  assert.ok(subject.isIn('12345') && subject.isIn('12 345') && !subject.isIn('123456'));
  for (const text of ['', 'ab', '12', "1' or 1=1", '9'.repeat(40)])
    assert.equal(numberSubject(text, 'DE'), null, text);
});

test('subject - an extension stands alone', () => {
  const subject = extensionSubject('1001');
  for (const text of [
    '1001',
    'PJSIP/1001-web-00000012',
    '1001@default,u',
    'Please call 1001.',
    '1001. Urgent',
  ])
    assert.ok(subject.isIn(text), text);
  for (const text of ['11001', '10011', 'ast1:1763762400.1001', '+1001', '1001.7', '1001.wav'])
    assert.ok(!subject.isIn(text), text);
  assert.equal(subject.without('PJSIP/1001-web-01', 'erased-3'), 'PJSIP/erased-3-web-01');
});

test('subject - no number is found in a time, an address or an argument of the engine, nor in what an erasure left', () => {
  const texts = [
    'PJSIP/1002/sip:1002@127.0.0.1:52832&&,30,tT',
    '500,t,,,300',
    'erased-300',
    'b(watch^s^1(x;1',
  ];
  const subjects = ['30', '127', '52832', '300', '12'].map(extensionSubject);
  for (const number of ['001', '127001', '52832', '300']) subjects.push(numberSubject(number, 'DE')!);
  for (const subject of subjects)
    for (const text of texts) assert.ok(!subject.isIn(text), `${subject.value}: ${text}`);
});
