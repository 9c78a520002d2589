import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutEnvelope, cutEvent, cutOf, cutState, lastDigits } from './display.ts';
import { accessOf, hear } from './hearing.ts';
import type { Principal } from './rights.ts';

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

const keyOf = (queues: readonly string[] | null): Principal => ({
  extension: '',
  level: 'supervisor',
  key: { id: 1, name: 'crm', scopes: ['calls:read', 'agents:read'], queues, extensions: ['1003'] },
});
test('display - a key limited to queues receives agents without other queues, and calls of its extensions whole', () => {
  const cut = cutOf(keyOf(['sales']))!;
  const agent = { extension: '1003', queue: 'support', call_id: 'c1', offer_id: 'o1' };
  const data = { extension: '1003', queue: 'support', call_id: 'c1', offer_id: 'o1', agent };
  const offered = JSON.parse(cutEnvelope(cut, JSON.stringify({ type: 'agent.offered', seq: 1, data })));
  assert.deepEqual(offered, {
    type: 'agent.offered',
    seq: 1,
    data: {
      extension: '1003',
      queue: '',
      call_id: '',
      offer_id: '',
      agent: { extension: '1003', queue: null, call_id: null, offer_id: null },
    },
  });
  const call = JSON.stringify({ type: 'call.answered', seq: 2, data: { call_id: 'c1', queue: 'support' } });
  assert.equal(cutEnvelope(cut, call), call);
  assert.equal(cutOf(keyOf(null)), null);
});
test('display - `access` differs when the queues of a limited key differ', () => {
  const access = (queues: readonly string[] | null): string => {
    const who = keyOf(queues);
    return accessOf(who, [hear(who, 'agents', [])!]);
  };
  assert.notEqual(access(['sales']), access(['sales', 'support']));
  assert.notEqual(access(['sales']), access(null));
});
