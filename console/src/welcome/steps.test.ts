import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallState, PresenceState, QueueState } from '@offhook/client';
import { doneSteps } from './steps.ts';
import type { Facts } from './steps.ts';

const at = (extension: string, reachability: PresenceState['reachability']): [string, PresenceState] => [
  extension,
  { extension, reachability } as PresenceState,
];
const nothing: Facts = {
  me: '1001',
  engineUp: false,
  presence: new Map([at('1001', 'offline')]),
  calls: [],
  queues: [{ callers: [], stats: null } as never],
  talkedBefore: false,
};
const done = (facts: Partial<Facts>): string[] =>
  Object.entries(doneSteps({ ...nothing, ...facts })).flatMap(([step, is]) => (is ? [step] : []));

test('welcome - a step is done by facts only', () => {
  assert.deepEqual(done({}), []);
  assert.deepEqual(done({ engineUp: true }), ['engine']);
  assert.deepEqual(done({ presence: new Map([at('1001', 'online')]) }), ['own_phone']);
  assert.deepEqual(done({ presence: new Map([at('1001', 'offline'), at('1002', 'push_only')]) }), ['people']);
  assert.deepEqual(done({ presence: new Map([at('1002', 'online')]) }), ['people', 'second_phone']);
  const call = { answered_at: null, extensions: ['1001', '1002'] } as unknown as CallState;
  assert.deepEqual(done({ calls: [call] }), []);
  assert.deepEqual(done({ calls: [{ ...call, answered_at: 'then', extensions: ['1001'] }] }), []);
  assert.deepEqual(done({ calls: [{ ...call, answered_at: 'then' }] }), ['call']);
  assert.deepEqual(done({ talkedBefore: true }), ['call']);
  assert.deepEqual(done({ queues: [{ callers: [{}], stats: null } as unknown as QueueState] }), [
    'wallboard',
  ]);
  assert.deepEqual(
    done({ queues: [{ callers: [], stats: { sums: { offered: 1 } } } as unknown as QueueState] }),
    ['wallboard'],
  );
});
