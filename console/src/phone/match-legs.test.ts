import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallState } from '@offhook/client';
import { isTaken, matchLegs } from './match-legs.ts';
import type { LiveCall } from './match-legs.ts';
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
  recording: false,
  recording_paused: false,
  since: '2026-11-22T10:00:00.000Z',
  answered_at: null,
  ...over,
});
const mine = (id: string, began: number): PhoneCall =>
  ({ id, began: began * 1000, state: 'talking', number: '', name: '' }) as PhoneCall;
const call = (call_id: string, ...legs: Leg[]) => ({ call_id, dialled: '1002', answered_at: 'then', legs });

test('phone calls - each is matched to the call of the exchange that began with it, in order', () => {
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
      {
        call_id: 'a',
        leg_id: 'ast1:1001.10',
        name: 'Person 1002',
        number: '1002',
        placed: null,
        there: 'up',
        held_there: false,
        held_since: null,
        connected_at: null,
      },
      {
        call_id: 'b',
        leg_id: 'ast1:1001.12',
        name: 'Person 1003',
        number: '1003',
        placed: null,
        there: 'up',
        held_there: false,
        held_since: null,
        connected_at: null,
      },
    ],
  );
});
test('phone calls - a leg left by a dead page is not matched', () => {
  const there = [
    call('dead', leg(10, '1001-web'), leg(11, '1002-web')),
    call('now', leg(900, '1001-web'), leg(901, '1002-web'), leg(902, '1003-web')),
  ];
  const found = matchLegs([mine('x', 1_090.1)], there, '1001-web');
  assert.deepEqual(
    found.get('x'),
    {
      call_id: 'now',
      leg_id: 'ast1:1090.900',
      name: '',
      number: '',
      placed: null,
      there: 'up',
      held_there: false,
      held_since: null,
      connected_at: null,
    },
    'with two others it has no name',
  );
  assert.equal(matchLegs([mine('x', 1_050)], there, '1001-web').size, 0);
});
test('phone calls - a placed call shows the called party from the first ring on, and is not matched to an incoming one', () => {
  const incoming: PhoneCall = { ...mine('x', 1_001.2), direction: 'in', state: 'incoming' };
  const own = leg(10, '1001-web', { state: 'ringing' });
  const placed: LiveCall = { ...call('a', own), answered_at: null, placed: 'call' };
  const found = (state: PhoneCall['state'], there: LiveCall): unknown[] => {
    const one = matchLegs([{ ...incoming, state }], [there], '1001-web').get('x');
    return [one?.placed, one?.there, one?.number];
  };
  assert.deepEqual(found('incoming', placed), ['call', null, '1002']);
  const other = leg(11, '1002', { state: 'ringing' });
  assert.deepEqual(found('talking', { ...placed, legs: [own, other] }), ['call', 'rings', '1002']);
  const desk = leg(12, '1001', { state: 'ringing' });
  assert.deepEqual(
    found('incoming', { ...placed, legs: [own, desk] }),
    ['call', null, '1002'],
    'the own desk',
  );
  const met = [own, other].map((one) => ({ ...one, state: 'connected' as const }));
  assert.deepEqual(found('talking', { ...placed, answered_at: 'now', legs: met }), ['call', 'up', '1002']);
  const { placed: _none, ...usual } = placed;
  const rung = { ...usual, legs: [leg(9, '1002', { state: 'calling' }), own] };
  assert.deepEqual(
    ['incoming', 'talking'].map(
      (state) => matchLegs([{ ...incoming, state } as PhoneCall], [rung], '1001-web').get('x')?.number,
    ),
    ['', undefined],
    'a usual call keeps the name it came with',
  );
});
test('phone calls - a cancelled ring is answered elsewhere if two others talk', () => {
  const caller = leg(10, '1005');
  const ours = leg(12, '1001-web');
  assert.equal(isTaken(call('a', caller), '1001-web'), false, 'it waits on');
  assert.equal(isTaken(call('a', caller, ours), '1001-web'), false, 'answered here');
  assert.equal(isTaken(call('a', caller, leg(11, '1003', { state: 'ringing' })), '1001-web'), false);
  assert.equal(isTaken(call('a', caller, leg(11, '1003')), '1001-web'), true);
  assert.equal(isTaken(call('a', caller, leg(11, '1001')), '1001-web'), true, 'by the own desk phone');
});
test('phone calls - a call on hold has the start of the hold', () => {
  const since = '2026-11-22T10:00:00.000Z';
  const own = leg(10, '1001-web', { state: 'held', held: true, since });
  const found = matchLegs([mine('x', 1_001.2)], [call('a', own, leg(11, '1002-web'))], '1001-web');
  assert.equal(found.get('x')?.held_since, Date.parse(since));
});
