import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { CallState, LegState, QueueState } from '@offhook/client';
import type { QueueCaller } from '@offhook/contract/queues.ts';
import { callWord, canListen, holds, placeOf, queueOf, sidesOf, timeOf } from './supervise.ts';

const leg = (leg_id: string, extension: string | null, more: Partial<LegState> = {}): LegState => ({
  leg_id,
  extension,
  endpoint: extension,
  number: extension ?? '+4930123',
  name: extension === null ? '' : `Person ${extension}`,
  state: 'connected',
  held: false,
  slot: null,
  recording: false,
  recording_paused: false,
  since: '2026-11-22T10:00:00.000Z',
  answered_at: null,
  ...more,
});
const call = (legs: readonly LegState[], more: Partial<CallState> = {}): CallState => ({
  call_id: 'c',
  direction: 'in',
  dialled: '500',
  started_at: '2026-11-22T09:00:00.000Z',
  answered_at: '2026-11-22T09:00:05.000Z',
  extensions: [],
  caller: { number: '+4930123', name: '' },
  legs,
  ...more,
});

const queues = [
  { name: 'sales', callers: [] },
  { name: 'support', callers: [{ call_id: 'waits' }] },
] as unknown as QueueState[];

test('supervisor - a person is one side with any number of ringing devices, and the talking one counts', () => {
  const legs = [
    leg('1', null),
    leg('2', '1003', { state: 'ringing' }),
    leg('3', '1003'),
    leg('4', '1004', { state: 'ringing' }),
  ];
  assert.deepEqual(
    sidesOf(call(legs)).map(({ leg_id, extension, talks }) => [leg_id, extension, talks]),
    [
      ['1', null, true],
      ['3', '1003', true],
      ['4', '1004', false],
    ],
  );
});
test('supervisor - the outside party has the name of the customer', () => {
  const customer = {
    id: 7,
    kind: 'person',
    name: 'Anna Müller',
    company: null,
    owner: null,
    vip: false,
    blocked: false,
    source: 'manual',
    matches: 1,
  } as const;
  const legs = [leg('1', '1003'), leg('2', null), leg('3', null, { name: 'Carrier' })];
  assert.deepEqual(
    sidesOf(call(legs, { customer })).map(({ name }) => name),
    ['Person 1003', 'Anna Müller', 'Carrier'],
  );
});
test('supervisor - a call can be listened to if another person of the site talks in it', () => {
  const two = [leg('1', null), leg('2', '1003')];
  assert.equal(canListen(call(two), '1002'), true);
  assert.equal(canListen(call(two), '1003'), false, 'the own call');
  assert.equal(canListen(call([...two, leg('3', '1002')]), '1002'), false, 'an own call with another person');
  assert.equal(canListen(call(two, { answered_at: null }), '1002'), false, 'it rings');
  assert.equal(canListen(call([leg('1', null), leg('2', null)]), '1002'), false, 'nobody of the site');
});
test('supervisor - beside a call on hold is the time on hold', () => {
  const two = [leg('1', '1003'), leg('2', '1004')];
  assert.equal(timeOf(call(two)), '2026-11-22T09:00:05.000Z');
  assert.equal(timeOf(call(two, { answered_at: null })), '2026-11-22T09:00:00.000Z');
  const held = leg('2', '1004', { held: true, state: 'held', since: '2026-11-22T09:30:00.000Z' });
  assert.equal(timeOf(call([leg('1', '1003'), held])), held.since);
});
test('supervisor - the state of a call in plain words', () => {
  assert.equal(callWord(call([leg('1', '1003')], { answered_at: null }), []), 'ringing');
  assert.equal(callWord(call([leg('1', '1003'), leg('2', '1004')]), []), 'talking');
  assert.equal(
    callWord(call([leg('1', '1003', { held: true, state: 'held' }), leg('2', '1004')]), []),
    'on_hold',
  );
  assert.equal(callWord(call([leg('1', '1003', { slot: '701', state: 'parked' })]), []), 'parked');
  const listening = { answered_at: null, placed: 'listen' as const };
  assert.equal(callWord(call([leg('1', '1002', { state: 'ringing' })], listening), []), 'listening');
  const waits = { call_id: 'waits', answered_at: null };
  assert.equal(callWord(call([leg('1', '1003')], waits), queues), 'waiting');
  const offered = call([leg('1', '1003'), leg('2', '1004', { state: 'ringing' })], waits);
  assert.equal(callWord(offered, queues), 'ringing');
});
test('supervisor - a caller moves among those of the same priority only', () => {
  const caller = (id: string, position: number, priority: number | null): QueueCaller => ({
    id,
    call_id: id,
    position,
    priority,
    joined_at: '2026-11-22T09:00:00.000Z',
    caller: { number: '1', name: '' },
  });
  const callers = [caller('a', 1, 7), caller('b', 2, 0), caller('c', 3, null), caller('d', 4, 0)];
  const of = (i: number) => placeOf(callers, callers[i]!);
  assert.deepEqual(
    [of(0), of(1), of(2), of(3)],
    [
      { at: 1, of: 1 },
      { at: 1, of: 3 },
      { at: 2, of: 3 },
      { at: 3, of: 3 },
    ],
  );
});
test('supervisor - a search matches words of any of the texts', () => {
  assert.equal(holds('muller sup', ['Zoë Müller', 'support', null]), true);
  assert.equal(holds('', []), true);
  assert.equal(holds('x', ['y']), false);
});
test('supervisor - a call belongs to the queue in which it waits, or to that of its ringing or talking agent', () => {
  const agents = [
    { call_id: 'talks', queue: 'sales' },
    { call_id: 'own', queue: null },
  ] as AgentSummary[];
  const found = ['waits', 'talks', 'own', 'other'].map((id) => queueOf(id, queues, agents));
  assert.deepEqual(found, ['support', 'sales', null, null]);
});
