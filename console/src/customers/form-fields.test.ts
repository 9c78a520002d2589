import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { fieldsOf, hintOf, isFixed, mergedFields, mergedRows, rowsOf, wantedOf } from './form-fields.ts';
import type { FormFields } from './form-fields.ts';

const OF_SYSTEM = ['kind', 'name', 'company', 'numbers', 'emails', 'vip', 'blocked'];
const FIELDS: FormFields = {
  kind: 'person',
  name: 'Anna',
  company: ' ',
  emails: [],
  note: ' calls back ',
  owner: null,
  language: '',
  vip: false,
  blocked: false,
  shared: true,
};

test('customers - the form offers the language unless the system of the customer names languages', () => {
  const names = { source_fields: [...OF_SYSTEM, 'language'] };
  const silent = { source_fields: OF_SYSTEM };
  for (const field of OF_SYSTEM) assert.ok(isFixed(names, field) && isFixed(silent, field), field);
  for (const field of ['owner', 'note']) assert.ok(!isFixed(names, field), field);
  assert.deepEqual(
    [names, silent, { source_fields: [] }, null].map((customer) => [
      isFixed(customer, 'language'),
      hintOf(customer),
    ]),
    [
      [true, 'connected'],
      [false, 'connected_language'],
      [false, null],
      [false, null],
    ],
  );
});

test('customers - the request of the form has null for empty texts, and no empty numbers', () => {
  const numbers = [
    { key: 0, number: ' 030 901820 ', label: '' },
    { key: 1, number: ' ', label: 'Mobile' },
  ];
  const wanted = wantedOf(null, FIELDS, numbers);
  assert.deepEqual(
    [wanted.company, wanted.note, wanted.language, wanted.numbers],
    [null, 'calls back', null, [{ number: '030 901820', label: null }]],
  );
  const company = { ...FIELDS, kind: 'company', company: 'Holding' } as const;
  assert.equal(wantedOf(null, company, []).company, null);
  assert.equal(wantedOf({ kind: 'company' }, company, []).company, 'Holding', 'the form does not show it');
});

test('customers - what another person stored meanwhile is merged into the form, and what was changed here stays', () => {
  const base = {
    ...FIELDS,
    company: null,
    note: 'calls back',
    language: null,
    numbers: [{ number: '030 901820', label: null, e164: '+4930901820' }],
  } as unknown as Customer;
  const theirs = {
    ...base,
    name: 'Anna Berg',
    note: 'paid',
    vip: true,
    numbers: [...base.numbers, { number: '0171 1', label: 'Mobile', e164: null }],
  };
  const opened = { fields: fieldsOf(base), rows: rowsOf(base.numbers) };
  const mine = { ...opened.fields, note: 'wants an offer', blocked: true };
  assert.deepEqual(mergedFields(base, mine, theirs), {
    ...mine,
    name: 'Anna Berg',
    vip: true,
  });
  assert.deepEqual(mergedRows(base, opened.rows, theirs), rowsOf(theirs.numbers));
  const typed = [{ key: 4, number: '030 1', label: '' }];
  assert.deepEqual(mergedRows(base, typed, theirs), typed);
});
