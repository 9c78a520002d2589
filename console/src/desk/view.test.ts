import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endingOf, vainEndOf } from './view.ts';

type Legs = Parameters<typeof endingOf>[0];
const leg = (
  extension: string | null,
  disposition: Legs[number]['disposition'],
  role: Legs[number]['role'] = 'offered',
): Legs[number] => ({
  role,
  disposition,
  participant: { extension, number: extension ?? '', number_e164: null, name: '', trunk: null },
});
const caller = leg(null, 'answered', 'caller');

test('desk - a call that rang here and nobody took is missed; one that a colleague took was answered elsewhere', () => {
  assert.equal(endingOf([caller, leg('1003', 'no_answer')], '1003', undefined), 'missed');
  assert.equal(endingOf([caller, leg('1003', 'cancelled_by_caller')], '1003', 'ringing'), 'missed');
  const taken = [caller, leg('1003', 'answered_elsewhere'), leg('1004', 'answered')];
  assert.equal(endingOf(taken, '1003', 'ringing'), 'elsewhere');
  assert.equal(endingOf(taken, '1004', undefined), 'talked');
});

test('desk - who placed a call, or answered it with one of several devices, missed nothing', () => {
  assert.equal(endingOf([leg('1003', 'no_answer', 'caller')], '1003', undefined), 'talked');
  const both = [caller, leg('1003', 'answered_elsewhere'), leg('1003', 'answered')];
  assert.equal(endingOf(both, '1003', undefined), 'talked');
});

test('desk - what the page saw counts where the record is late', () => {
  assert.equal(endingOf([], '1003', undefined), 'talked');
  assert.equal(endingOf([], '1003', 'ringing'), 'missed');
  assert.equal(endingOf([caller, leg('1003', 'no_answer')], '1003', 'talked'), 'talked');
});

test('desk - how the customer took a call is shown once it is over, and only where that was no answer', () => {
  assert.equal(vainEndOf({ state: 'final', customer_disposition: 'busy' }), 'busy');
  assert.equal(vainEndOf({ state: 'open', customer_disposition: 'busy' }), null);
  assert.equal(vainEndOf({ state: 'final', customer_disposition: 'answered' }), null);
  assert.equal(vainEndOf({ state: 'final', customer_disposition: null }), null);
});
