/** An agent in two queue calls at once, as in a queue that also rings agents in another call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scene, call, chan } from '../../test/support/model-scene.ts';

const iface = 'Local/1002@queue-agent';
const ids = (n: number) => ({ queue: 'sales', interface: iface, caller: chan(`${n}`), agent: chan(`l${n}`) });
/** 1002 answers two callers of sales, the second while it talks to the first; `first`: endpoint of that one. */
function twoTalks(scene: Scene, first = 'trunk'): void {
  scene.member('sales', '1002');
  for (const n of [1, 2]) {
    scene.created(`${n}`, { endpoint: n === 1 ? first : 'trunk', dialled: '510' });
    scene.state(`${n}`, 'up');
    const caller = {
      queue: 'sales',
      channel: chan(`${n}`),
      position: 1,
      joined_at: scene.at,
      priority: null,
    };
    scene.send({ type: 'queue.caller_joined', caller });
    scene.created(`l${n}`, { kind: 'local', pair: `l${n}`, of: `${n}` });
    scene.send({ type: 'offer.created', ...ids(n) });
    scene.created(`d${n}`, { endpoint: '1002', of: `${n}` });
    scene.state(`d${n}`, 'up');
    scene.send({ type: 'queue.caller_left', queue: 'sales', channel: chan(`${n}`) });
    scene.send({ type: 'offer.accepted', ...ids(n), hold_seconds: 1, ring_seconds: 1 });
    scene.enter(`b${n}`, `d${n}`);
    scene.enter(`b${n}`, `${n}`);
    scene.hangup(`l${n}`);
    scene.member('sales', '1002', { in_call: true });
  }
}
const release = (scene: Scene, n: number): void => {
  scene.send({ type: 'agent.released', ...ids(n), reason: 'caller', talk_seconds: 4 });
  scene.member('sales', '1002', { in_call: false, last_call_at: scene.at });
  for (const id of [`${n}`, `d${n}`]) scene.hangup(id);
};
const shown = (scene: Scene) => {
  const { state, call_id } = scene.view.agent('1002')!.summary;
  return [state, call_id];
};
const told = (scene: Scene) =>
  scene.published.flatMap((e) =>
    e.type === 'agent.talking' || e.type === 'agent.wrap_up' ? [[e.type, e.data.call_id]] : [],
  );

test('pbx agents - the first of two callers hangs up: the agent talks to the second, whose end begins the wrap-up', () => {
  const scene = new Scene();
  twoTalks(scene);
  assert.deepEqual(shown(scene), ['talking', call('2')]);
  release(scene, 1);
  assert.deepEqual(shown(scene), ['talking', call('2')]);
  release(scene, 2);
  assert.deepEqual(shown(scene), ['wrap_up', call('2')]);
  assert.deepEqual(told(scene), [
    ['agent.talking', call('1')],
    ['agent.talking', call('2')],
    ['agent.wrap_up', call('2')],
  ]);
});

test('pbx agents - the second of two callers hangs up: the agent goes on with the first, whose end begins the wrap-up', () => {
  const scene = new Scene();
  twoTalks(scene);
  release(scene, 2);
  assert.deepEqual(shown(scene), ['talking', call('1')]);
  release(scene, 1);
  assert.deepEqual(shown(scene), ['wrap_up', call('1')]);
  assert.deepEqual(told(scene), [
    ['agent.talking', call('1')],
    ['agent.talking', call('2')],
    ['agent.talking', call('1')],
    ['agent.wrap_up', call('1')],
  ]);
});

for (const order of ['transfer first', 'release first'] as const)
  test(`pbx agents - an agent joins its customer with the call of 1002 that waits behind another one, ${order}: 1002 goes on with it`, () => {
    const scene = new Scene();
    scene.created('c', { endpoint: 'trunk', state: 'up' });
    scene.created('a', { endpoint: '1001', state: 'up', of: 'c' });
    scene.enter('b', 'c');
    scene.enter('b', 'a');
    twoTalks(scene, '1001');
    const released = (): void => {
      scene.send({ type: 'agent.released', ...ids(1), reason: 'transfer', talk_seconds: 4 });
      scene.member('sales', '1002', { in_call: false, last_call_at: scene.at });
    };
    if (order === 'release first') released();
    const calls = { first_call: call('c'), second_call: call('1') };
    const legs = { first: chan('a'), second: chan('1') };
    scene.send({ type: 'transfer.attended', ...legs, ...calls, to: '1002', succeeded: true });
    if (order === 'transfer first') released();
    scene.enter('b1', 'c');
    for (const id of ['a', '1']) scene.hangup(id);
    assert.deepEqual(shown(scene), ['talking', call('2')]);
    release(scene, 2);
    assert.equal(shown(scene)[0], 'talking');
    scene.hangup('d1');
    assert.equal(shown(scene)[0], 'wrap_up');
    assert.equal(told(scene).filter(([type]) => type === 'agent.wrap_up').length, 1);
  });

test('pbx agents - an agent passes on the call that waits behind another one: only the other one is left', () => {
  for (const before of [true, false]) {
    const scene = new Scene();
    twoTalks(scene);
    const released = (): void =>
      void scene.send({ type: 'agent.released', ...ids(1), reason: 'transfer', talk_seconds: 4 });
    if (before) released();
    const moved = { by: chan('d1'), transferee: chan('1'), to: '1003', succeeded: true };
    scene.send({ type: 'transfer.blind', ...moved });
    if (!before) released();
    assert.deepEqual(shown(scene), ['talking', call('2')]);
    // The agent's own leg outlasts both, as while its phone plays a tone.
    release(scene, 2);
    assert.deepEqual(shown(scene), ['wrap_up', call('2')]);
  }
});
