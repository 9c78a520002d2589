import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { Stories } from './stories.ts';
import { talkOfStory } from './story-records.ts';

const leg = (extension: string, id = extension) => ({
  leg_id: `ast1:${id}`,
  extension,
  endpoint: extension,
  number: extension,
  name: '',
});
/** Each line: second, type, extension of the leg, more of its data. */
type Line = readonly [at: number, type: string, of?: string | undefined, more?: object];
/** Seconds of talk of the call, with holds and without. */
function talks(lines: readonly Line[]): readonly [number, number] {
  const stories = new Stories();
  for (const [i, [at, type, of, more]] of lines.entries()) {
    const data = { call_id: 'ast1:1', ...(of === undefined ? {} : { leg: leg(of) }), ...more };
    stories.take({ type, at: at * 1000, observed: 'live', data } as unknown as DomainEvent, i + 1);
  }
  const [story] = stories.ended();
  return [talkOfStory(story!, 'held too') / 1000, talkOfStory(story!, 'not held') / 1000];
}
const ended: object = { cause: 16, cause_text: '', reason: 'hangup', merged_into: null };
const answered: readonly Line[] = [
  [0, 'call.started', '1', { dialled: '2' }],
  [0, 'call.ringing', '2'],
  [2, 'call.answered', '2'],
];
/** `2` talks to `1` for 10 seconds, and parks it. */
const parked: readonly Line[] = [
  ...answered,
  [12, 'call.parked', '1', { slot: '701' }],
  [12, 'call.transferred', undefined, { kind: 'blind', by: '2', to: '700' }],
];
const freed = (at: number, reason: string): Line => [
  at,
  'parking.slot_freed',
  undefined,
  { slot: '701', leg_id: 'ast1:1', reason },
];

test('proof - a parked call talks again from its retrieval on, by whom it may be', () => {
  const taken: readonly Line[] = [
    ...parked,
    [14, 'call.left', '2', { cause: 16, reason: 'transferred' }],
    [20, 'call.started', '3', { call_id: 'ast1:3', dialled: '701' }],
    freed(21, 'picked_up'),
    [21, 'call.ended', undefined, { ...ended, call_id: 'ast1:3', reason: 'merged', merged_into: 'ast1:1' }],
    [21, 'call.party_changed', '1', { party: leg('3') }],
  ];
  assert.deepEqual(talks([...taken, [26, 'call.ended', undefined, ended]]), [15, 15]);
  const again: readonly Line[] = [
    ...taken,
    [26, 'call.transferred', undefined, { kind: 'blind', by: '3', to: '4' }],
    [26, 'call.ringing', '4'],
    [26, 'call.left', '3', { cause: 16, reason: 'transferred' }],
    [29, 'call.joined', '4'],
    [29, 'call.party_changed', '1', { party: leg('4') }],
    [33, 'call.ended', undefined, ended],
  ];
  assert.deepEqual(talks(again), [19, 19], 'transferred afterwards');
});

test('proof - a parked call that nobody takes talks no more, and the ring of who parked it is no talk', () => {
  assert.deepEqual(talks([...parked, freed(20, 'hung_up'), [20, 'call.ended', undefined, ended]]), [10, 10]);
  const back: readonly Line[] = [
    ...parked,
    [14, 'call.left', '2', { cause: 16, reason: 'transferred' }],
    freed(40, 'timed_out'),
    [40, 'call.ringing', '2', { leg: leg('2', '2b') }],
    [45, 'call.joined', '2', { leg: leg('2', '2b') }],
    [45, 'call.party_changed', '1', { party: leg('2', '2b') }],
    [50, 'call.ended', undefined, ended],
  ];
  assert.deepEqual(talks(back), [15, 15]);
});

test('proof - of a placed call both sides talk, on whichever own device it was taken', () => {
  const placed: readonly Line[] = [
    [0, 'call.started', '1', { dialled: '2' }],
    [0, 'call.ringing', '1'],
    [0, 'call.ringing', '1', { leg: leg('1', '1b') }],
    [3, 'call.left', '1', { cause: 26, reason: 'answered_elsewhere' }],
    [3, 'call.ringing', '2'],
    [5, 'call.answered', '2'],
    [9, 'call.ended', undefined, ended],
  ];
  assert.deepEqual(talks(placed), [4, 4]);
  const one = placed.filter(
    ([, type, , more]) => type !== 'call.left' && more?.['leg' as never] === undefined,
  );
  assert.deepEqual(talks(one), [4, 4]);
});

test('proof - a held party whose holder rings somebody else talks to nobody', () => {
  const consulted: readonly Line[] = [
    ...answered,
    [12, 'call.held', '2'],
    [12, 'call.ringing', '3'],
    [22, 'call.joined', '3'],
    [22, 'call.party_changed', '2', { party: leg('3') }],
    [25, 'call.party_changed', '1', { party: leg('3') }],
    [25, 'call.left', '2', { cause: 16, reason: 'transferred' }],
    [30, 'call.ended', undefined, ended],
  ];
  assert.equal(talks(consulted)[1], 18);
});

test('proof - a call whose end was observed by a resync is not compared by its times', () => {
  const stories = new Stories();
  const data = { call_id: 'ast1:1', leg: leg('1'), dialled: '2' };
  const take = (type: string, at: number, observed: string, more: object = {}): void =>
    stories.take({ type, at, observed, data: { ...data, ...more } } as unknown as DomainEvent, at);
  take('call.started', 1, 'live');
  take('call.ended', 2, 'resync', { ...ended, reason: 'engine_lost' });
  assert.deepEqual(
    stories.ended().map(({ partial }) => partial),
    [true],
  );
});
