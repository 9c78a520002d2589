import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endingOf, otherParty, vainEndOf } from './view.ts';

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

test('desk - an unanswered call is missed; one answered by a colleague was answered elsewhere', () => {
  assert.equal(endingOf([caller, leg('1003', 'no_answer')], '1003', undefined), 'missed');
  assert.equal(endingOf([caller, leg('1003', 'cancelled_by_caller')], '1003', 'ringing'), 'missed');
  const taken = [caller, leg('1003', 'answered_elsewhere'), leg('1004', 'answered')];
  assert.equal(endingOf(taken, '1003', 'ringing'), 'elsewhere');
  assert.equal(endingOf(taken, '1004', undefined), 'talked');
});

test('desk - a call placed, or answered on one of several devices, is not missed', () => {
  assert.equal(endingOf([leg('1003', 'no_answer', 'caller')], '1003', undefined), 'talked');
  const both = [caller, leg('1003', 'answered_elsewhere'), leg('1003', 'answered')];
  assert.equal(endingOf(both, '1003', undefined), 'talked');
});

test('desk - the state seen by the page counts while the record is late', () => {
  assert.equal(endingOf([], '1003', undefined), 'talked');
  assert.equal(endingOf([], '1003', 'ringing'), 'missed');
  assert.equal(endingOf([caller, leg('1003', 'no_answer')], '1003', 'talked'), 'talked');
});

test('desk - an unanswered outgoing call shows its result once it is over', () => {
  assert.equal(vainEndOf({ state: 'final', customer_disposition: 'busy' }), 'busy');
  assert.equal(vainEndOf({ state: 'open', customer_disposition: 'busy' }), null);
  assert.equal(vainEndOf({ state: 'final', customer_disposition: 'answered' }), null);
  assert.equal(vainEndOf({ state: 'final', customer_disposition: null }), null);
});

test('desk - an outside party has the name of its customer, whenever it becomes known, and a colleague the own one', () => {
  const [outside, own, colleague] = [null, '1003', '1004'].map((extension) => ({
    extension,
    number: extension ?? '+493012345',
    name: extension === null ? 'CARRIER' : `Colleague ${extension}`,
  }));
  const nameIn = (legs: readonly unknown[], customer?: object): string =>
    otherParty(
      { legs, dialled: '+493012345', caller: outside, customer } as unknown as Parameters<
        typeof otherParty
      >[0],
      '1003',
    ).name;
  const customer = { name: 'Greta' };
  assert.equal(nameIn([outside, own]), 'CARRIER');
  for (const legs of [[outside, own], [own, outside], [own], []])
    assert.equal(nameIn(legs, customer), 'Greta');
  assert.equal(nameIn([colleague, own, outside], customer), 'Colleague 1004');
});
