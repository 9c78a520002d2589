import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallState } from '@offhook/client';
import { matchLegs } from './match-legs.ts';
import type { PhoneCall } from './phone-state.ts';

type Leg = CallState['legs'][number];
const leg = (nth: number, endpoint: string, over: Partial<Leg> = {}): Leg => ({
  leg_id: `ast1:${1_000 + Math.floor(nth / 10)}.${nth}`,
  extension: endpoint.slice(0, 4),
  endpoint,
  number: endpoint.slice(0, 4),
  name: `Person ${endpoint.slice(0, 4)}`,
  state: 'connected',
  held: false,
  slot: null,
  ...over,
});
const mine = (id: string, began: number): PhoneCall =>
  ({ id, began: began * 1000, state: 'talking', number: '', name: '' }) as PhoneCall;
const call = (call_id: string, ...legs: Leg[]) => ({ call_id, legs });

test('phone calls - are those of the exchange that began with them, in order', () => {
  const there = [
    call('b', leg(12, '1001-web'), leg(13, '1003-web')),
    call('a', leg(10, '1001-web', { state: 'held' }), leg(11, '1002')),
    call('phone on the desk', leg(14, '1001'), leg(15, '1004')),
    call('rings', leg(16, '1001-web', { state: 'ringing' }), leg(17, '1005')),
  ];
  const found = matchLegs([mine('second', 1_001.8), mine('first', 1_001.2)], there, '1001-web');
  assert.deepEqual(
    ['first', 'second'].map((id) => found.get(id)),
    [
      { call_id: 'a', leg_id: 'ast1:1001.10', name: 'Person 1002', number: '1002' },
      { call_id: 'b', leg_id: 'ast1:1001.12', name: 'Person 1003', number: '1003' },
    ],
  );
});
test('phone calls - a leg that a dead page left behind is nobody’s', () => {
  const there = [
    call('dead', leg(10, '1001-web'), leg(11, '1002-web')),
    call('now', leg(900, '1001-web'), leg(901, '1002-web'), leg(902, '1003-web')),
  ];
  const found = matchLegs([mine('x', 1_090.1)], there, '1001-web');
  assert.deepEqual(
    found.get('x'),
    { call_id: 'now', leg_id: 'ast1:1090.900', name: '', number: '' },
    'with two others it has no name',
  );
  assert.equal(matchLegs([mine('x', 1_050)], there, '1001-web').size, 0);
});
