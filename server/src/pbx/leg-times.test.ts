import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createModel } from './model.ts';
import { Scene, bridge, chan, channel, checkpointOf } from '../../test/support/model-scene.ts';

const CALLER = { endpoint: 'trunk', state: 'up', of: '1' } as const;
const AGENT = { endpoint: '1002', state: 'up', of: '1' } as const;
const TALK = {
  channels: [channel('1', CALLER), channel('2', AGENT)],
  bridged: ['1', '2'].map((id) => ({ bridge: bridge('b'), channel: chan(id), holding: false })),
};
/** A caller waits in a queue, an agent answers. */
function talk(): Scene {
  const scene = new Scene();
  scene.created('1', CALLER);
  scene.send({
    type: 'queue.caller_joined',
    caller: { queue: 'support', channel: chan('1'), position: 1, joined_at: scene.at, priority: null },
  });
  scene.created('2', { ...AGENT, state: 'down' });
  scene.state('2', 'ringing');
  scene.state('2', 'up');
  scene.send({ type: 'queue.caller_left', queue: 'support', channel: chan('1') });
  scene.enter('b', '1');
  scene.enter('b', '2');
  return scene;
}
const timesIn = ({ view }: Scene) =>
  view
    .calls()
    .flatMap(({ legs }) => legs)
    .map(({ id, state, since, answered_at }) => ({ id, state, since, answered_at }));
/** The scene an hour after a restart of the service. */
function restarted(before: Scene, by: 'checkpoint' | 'events'): Scene {
  before.model.committed(before.published);
  const model = createModel();
  if (by === 'events') model.restore(null, before.published);
  else model.restore(checkpointOf(before.model), []);
  const scene = new Scene({ model, empty: true });
  scene.at = before.at + 3_600_000;
  return scene;
}

test('pbx leg times - a restart of the service keeps the times of legs whose state has not changed', () => {
  const before = talk();
  const times = timesIn(before);
  assert.deepEqual(
    times.map(({ state }) => state),
    ['connected', 'connected'],
  );
  const after = restarted(before, 'checkpoint');
  after.snapshot(TALK, 'connect');
  assert.deepEqual(timesIn(after), times);
  // A second snapshot and the next change go on from there.
  after.snapshot(TALK);
  assert.deepEqual(timesIn(after), times);
  after.send({ type: 'channel.held', id: chan('2'), held: true });
  assert.deepEqual(timesIn(after)[1], { ...times[1], state: 'held', since: after.at });
});

test('pbx leg times - the events alone give the time of each leg’s answer', () => {
  const before = talk();
  const answered = before.published.find(({ type }) => type === 'call.answered')?.at;
  const joined = before.published.find(({ type }) => type === 'queue.caller_joined')?.at;
  assert.ok(answered !== undefined && joined !== undefined);
  const after = restarted(before, 'events');
  after.snapshot(TALK, 'connect');
  const [caller, agent] = timesIn(after);
  assert.equal(agent?.since, answered);
  assert.equal(agent.answered_at, answered);
  assert.ok(caller !== undefined && caller.since > joined && caller.since <= answered, `${caller?.since}`);
});

test('pbx leg times - a leg that changed during the stop has its new state since the snapshot', () => {
  const before = talk();
  before.send({ type: 'channel.held', id: chan('2'), held: true });
  const [, agent] = timesIn(before);
  const after = restarted(before, 'checkpoint');
  after.snapshot(TALK, 'connect');
  assert.deepEqual(timesIn(after)[1], { ...agent, state: 'connected', since: after.at });
});

test('pbx leg times - a second restart before any snapshot loses none', () => {
  const before = talk();
  const times = timesIn(before);
  const after = restarted(restarted(before, 'checkpoint'), 'checkpoint');
  after.snapshot(TALK, 'connect');
  assert.deepEqual(timesIn(after), times);
});

test('pbx leg times - ended legs leave no times', () => {
  const before = talk();
  before.hangup('2');
  before.hangup('1');
  for (const by of ['checkpoint', 'events'] as const) {
    const { model } = restarted(before, by);
    const { legTimes } = JSON.parse(checkpointOf(model)) as { legTimes: unknown[] };
    assert.deepEqual(legTimes, [], by);
  }
});
