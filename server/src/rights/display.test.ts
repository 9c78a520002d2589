import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutEvent, cutState, lastDigits } from './display.ts';

test('display - the last digits of a number never reveal the rest', () => {
  assert.equal(lastDigits('+4915112345678'), '•••678');
  assert.equal(lastDigits('1007'), '•007');
  assert.equal(lastDigits('12'), '12');
  fc.assert(
    fc.property(fc.stringMatching(/^\+?\d{4,20}$/), (number) => {
      assert.ok(lastDigits(number).replaceAll('•', '').length <= 3);
    }),
  );
});

test('display - only one that shows callers in full shows their customers', () => {
  const caller = { number: '030901820', name: '' };
  const known = { kind: 'person', company: null, owner: null, vip: false, blocked: false } as const;
  const customer = { id: 7, name: 'Anna Müller', source: 'manual', matches: 1, ...known };
  const joined = { queue: 'support', call_id: 'c1', caller, customer };
  const settings = {
    number: '',
    title: '',
    strategy: '',
    ring_seconds: 0,
    wrap_up_seconds: 0,
    max_wait_seconds: 0,
  };
  const waits = { id: 'l1', call_id: 'c1', position: 1, priority: null, joined_at: '', caller, customer };
  const queue = { name: 'support', members: [], offers: [], ...settings, callers: [waits] };
  for (const [callers, expected] of [
    ['full', customer],
    ['last_digits', undefined],
    ['none', undefined],
  ] as const) {
    const cut = { queues: ['support'], callers };
    assert.deepEqual(cutEvent(cut, joined).customer, expected, callers);
    assert.deepEqual(cutState(cut, { queue }).queue.callers[0]?.customer, expected, callers);
  }
});
