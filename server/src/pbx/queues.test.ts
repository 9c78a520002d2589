import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { QueueCaller } from '../ports/engine-state.ts';
import { Scene, call, chan, channel, snapshot, types } from '../../test/support/model-scene.ts';

const iface = (extension: string) => `Local/${extension}@queue-agent`;
/** A caller from outside waits in support; 1002 and 1003 are its members. */
function waiting(scene: Scene): void {
  scene.member('support', '1002');
  scene.member('support', '1003');
  scene.created('1', { endpoint: 'trunk', caller: { number: '0305550', name: 'Ann' }, dialled: '500' });
  scene.state('1', 'up');
  join(scene, '1');
}
const join = (scene: Scene, id: string, position = 1, queue = 'support'): readonly DomainEvent[] =>
  scene.send({
    type: 'queue.caller_joined',
    caller: { queue, channel: chan(id), position, joined_at: scene.at + 1000, priority: null },
  });
const left = (scene: Scene, id: string) =>
  scene.send({ type: 'queue.caller_left', queue: 'support', channel: chan(id) });
const unserved = (scene: Scene, id: string) =>
  scene.send({
    type: 'queue.caller_abandoned',
    queue: 'support',
    channel: chan(id),
    hold_seconds: 1,
    position: 1,
  });
const abandoned = (scene: Scene, id: string): void => {
  scene.send({ type: 'channel.ending', id: chan(id) });
  unserved(scene, id);
};
/** Rings an agent over an internal pair, as a member `Local/…` is rung. */
function ring(scene: Scene, extension: string, caller = '1'): void {
  const half = `l${extension}`;
  scene.created(half, { kind: 'local', pair: half, of: caller });
  scene.created(`${half}b`, { kind: 'local', pair: half, of: caller });
  scene.send({ type: 'offer.created', ...offer(extension, caller) });
  scene.created(`d${extension}`, { endpoint: extension, of: caller });
  scene.state(`d${extension}`, 'ringing');
}
const offer = (extension: string, caller = '1') => ({
  queue: 'support',
  interface: iface(extension),
  caller: chan(caller),
  agent: chan(`l${extension}`),
});
const accepted = (scene: Scene, extension: string) =>
  scene.send({ type: 'offer.accepted', ...offer(extension), hold_seconds: 7, ring_seconds: 3 });
const dialEnded = (scene: Scene, extension: string, status: string) =>
  scene.send({ type: 'dial.ended', from: chan('1'), to: chan(`l${extension}`), status });
const only = (events: readonly DomainEvent[], ...prefixes: string[]) =>
  events.filter((e) => prefixes.some((p) => e.type.startsWith(p)));
const reason = (scene: Scene) => (last(scene, 'queue.caller_left') as { reason: string } | undefined)?.reason;
const last = (scene: Scene, type: DomainEvent['type']) =>
  scene.published.findLast((e) => e.type === type)?.data;

test('pbx queues - an answered call: joined, offered, left as answered, accepted, talking', () => {
  const scene = new Scene();
  waiting(scene);
  assert.deepEqual(
    scene.view.queue('support')?.callers.map((c) => [c.channel, c.position]),
    [[chan('1'), 1]],
  );
  assert.equal(scene.view.calls()[0]?.legs[0]?.state, 'queued');
  ring(scene, '1002');
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'offered');
  scene.state('d1002', 'up');
  dialEnded(scene, '1002', 'ANSWER');
  left(scene, '1');
  accepted(scene, '1002');
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'talking');
  assert.deepEqual(scene.view.queue('support')?.callers, []);
  assert.deepEqual(types(only(scene.published, 'queue', 'offer', 'agent.talking')), [
    'queue.caller_joined',
    'offer.created',
    'queue.caller_left',
    'offer.accepted',
    'agent.talking',
  ]);
  assert.deepEqual(last(scene, 'queue.caller_left'), {
    call_id: call('1'),
    queue: 'support',
    leg_id: chan('1'),
    caller: { number: '0305550', name: 'Ann' },
    waited_seconds: 8,
    waited_ms: 8_000,
    reason: 'answered',
  });
  const { waited_seconds, ring_seconds, extension, member } = last(scene, 'offer.accepted') as Record<
    string,
    unknown
  >;
  assert.deepEqual([waited_seconds, ring_seconds, extension, member], [8, 3, '1002', '1002']);
});

test('pbx queues - an accepted offer has the wait of its caller’s end, whatever the engine counts', () => {
  const waits = (scene: Scene) =>
    ['queue.caller_left', 'offer.accepted'].map(
      (type) => (last(scene, type as DomainEvent['type']) as { waited_seconds?: number })?.waited_seconds,
    );
  for (const reported of [true, false]) {
    const scene = new Scene();
    waiting(scene);
    const joined = scene.at;
    ring(scene, '1002');
    dialEnded(scene, '1002', 'ANSWER');
    const at = joined + 9_386;
    if (reported) scene.send({ type: 'queue.caller_left', queue: 'support', channel: chan('1') }, at);
    // The agent is reported later than the end of the wait, here in the next second.
    const accept = { ...offer('1002'), hold_seconds: 11, ring_seconds: 3 };
    scene.send({ type: 'offer.accepted', ...accept }, reported ? at + 700 : at);
    assert.deepEqual(waits(scene), [9, 9]);
  }

  // Without a known join there is no end of a wait either, and the engine's count is all there is.
  const scene = new Scene();
  scene.member('support', '1002');
  scene.created('1', { endpoint: 'trunk', dialled: '500', state: 'up' });
  ring(scene, '1002');
  accepted(scene, '1002');
  assert.deepEqual(waits(scene), [undefined, 7]);

  // The wait of an earlier visit is not that of a later one whose join was missed.
  const again = new Scene();
  waiting(again);
  ring(again, '1002');
  accepted(again, '1002');
  ring(again, '1003');
  accepted(again, '1003');
  assert.equal(waits(again)[1], 7);
});

test('pbx queues - ring all: the answered offer is accepted, the other one canceled', () => {
  const scene = new Scene();
  waiting(scene);
  ring(scene, '1002');
  ring(scene, '1003');
  scene.state('d1003', 'up');
  dialEnded(scene, '1003', 'ANSWER');
  dialEnded(scene, '1002', 'CANCEL');
  scene.hangup('d1002', 26);
  scene.hangup('l1002', 26);
  left(scene, '1');
  accepted(scene, '1003');
  assert.deepEqual(
    only(scene.published, 'offer').map((e) => [e.type, (e.data as { extension: string }).extension]),
    [
      ['offer.created', '1002'],
      ['offer.created', '1003'],
      ['offer.canceled', '1002'],
      ['offer.accepted', '1003'],
    ],
  );
  assert.equal(scene.view.agent('1002')?.summary.engagement, 'idle');
});

test('pbx queues - an offer that is still open when another is accepted is canceled', () => {
  const scene = new Scene();
  waiting(scene);
  ring(scene, '1002');
  ring(scene, '1003');
  accepted(scene, '1003');
  assert.deepEqual(types(only(scene.published, 'offer')).slice(2), ['offer.accepted', 'offer.canceled']);
  assert.equal((last(scene, 'queue.caller_left') as { reason: string }).reason, 'answered');
});

test('pbx queues - no answer: the offer times out once, and the caller that leaves was not answered', () => {
  const scene = new Scene();
  waiting(scene);
  ring(scene, '1002');
  scene.send({ type: 'offer.timeout', ...offer('1002'), ring_seconds: 15 });
  dialEnded(scene, '1002', 'CANCEL');
  scene.hangup('l1002', 0);
  unserved(scene, '1');
  left(scene, '1');
  assert.deepEqual(types(only(scene.published, 'offer', 'queue')), [
    'queue.caller_joined',
    'offer.created',
    'offer.timeout',
    'queue.caller_left',
  ]);
  assert.equal(reason(scene), 'other');
  assert.equal(scene.view.calls().length, 1);
});

test('pbx queues - a busy agent rejects; the engine’s later report of it changes nothing', () => {
  const scene = new Scene();
  waiting(scene);
  ring(scene, '1002');
  dialEnded(scene, '1002', 'BUSY');
  scene.hangup('l1002', 17);
  scene.send({ type: 'offer.timeout', ...offer('1002'), ring_seconds: 0 });
  assert.deepEqual(types(only(scene.published, 'offer')), ['offer.created', 'offer.rejected']);
});

test('pbx queues - the caller gives up: abandoned once, the ringing canceled, no other outcome', () => {
  const scene = new Scene();
  waiting(scene);
  ring(scene, '1002');
  dialEnded(scene, '1002', 'CANCEL');
  scene.hangup('l1002', 26);
  abandoned(scene, '1');
  left(scene, '1');
  scene.hangup('1');
  assert.deepEqual(types(only(scene.published, 'offer', 'queue')), [
    'queue.caller_joined',
    'offer.created',
    'offer.canceled',
    'queue.caller_abandoned',
  ]);
});

test('pbx queues - if the frames of leaving were lost, the hangup is an abandon', () => {
  const scene = new Scene();
  waiting(scene);
  scene.hangup('1');
  abandoned(scene, '1');
  assert.deepEqual(types(only(scene.published, 'queue')), ['queue.caller_joined', 'queue.caller_abandoned']);
  assert.deepEqual(scene.view.queue('support')?.callers, []);
});

test('pbx queues - the caller hangs up after an agent answered and before the engine reports it: not an abandon', () => {
  const scene = new Scene();
  waiting(scene);
  ring(scene, '1002');
  dialEnded(scene, '1002', 'ANSWER');
  scene.hangup('1');
  assert.equal((last(scene, 'queue.caller_left') as { reason: string }).reason, 'answered');
  assert.equal(last(scene, 'queue.caller_abandoned'), undefined);
});

test('pbx queues - an agent that hangs up during its announcement answered nobody: the caller leaves by key', () => {
  const scene = new Scene();
  waiting(scene);
  ring(scene, '1002');
  dialEnded(scene, '1002', 'ANSWER');
  scene.hangup('l1002');
  left(scene, '1');
  assert.equal(reason(scene), 'key');
});

test('pbx queues - positions follow callers that leave and callers that enter before', () => {
  const scene = new Scene();
  for (const id of ['1', '2', '3']) scene.created(id, { endpoint: 'trunk' });
  join(scene, '1', 1);
  join(scene, '2', 2);
  join(scene, '3', 1);
  join(scene, '3', 1);
  const order = () => scene.view.queue('support')?.callers.map((c) => `${c.channel}=${c.position}`);
  assert.deepEqual(order(), [`${chan('3')}=1`, `${chan('1')}=2`, `${chan('2')}=3`]);
  left(scene, '3');
  assert.deepEqual(order(), [`${chan('1')}=1`, `${chan('2')}=2`]);
  join(scene, '1', 1, 'sales');
  assert.deepEqual(order(), [`${chan('2')}=1`]);
  assert.equal(scene.view.queue('sales')?.callers.length, 1);
  assert.equal(types(only(scene.published, 'queue')).filter((t) => t === 'queue.caller_left').length, 2);
});

test('pbx queues - a missed offer is published when it is accepted; a repetition once', () => {
  const scene = new Scene();
  waiting(scene);
  accepted(scene, '1002');
  accepted(scene, '1002');
  scene.send({ type: 'offer.created', ...offer('1002') });
  assert.deepEqual(types(only(scene.published, 'offer')), ['offer.created', 'offer.accepted']);
});

const taken = (scene: Scene, id: string, why: 'moved' | 'placed' | 'withdrawn' | null): unknown =>
  scene.model.step({ type: 'caller.taken', at: scene.at, channel: chan(id), why });

test('pbx queues - without an answer and a hangup it is no abandon, and the outcome has the reason', () => {
  const outcome = (
    before: (scene: Scene) => void,
    how: (scene: Scene, id: string) => unknown = unserved,
  ): string | undefined => {
    const scene = new Scene();
    waiting(scene);
    before(scene);
    how(scene, '1');
    left(scene, '1');
    const ends = only(scene.published, 'queue.caller_left', 'queue.caller_abandoned');
    assert.equal(ends.length, 1);
    return reason(scene) ?? ends[0]?.type;
  };
  assert.equal(
    outcome((scene) => void (scene.at += 57_501)),
    'timeout',
    'the queue lets wait for 60 s',
  );
  assert.equal(
    outcome((scene) => void (scene.at += 57_500)),
    'other',
  );
  assert.equal(
    outcome((scene) => void (scene.at += 300_000), abandoned),
    'queue.caller_abandoned',
    'who hangs up late gave up all the same',
  );
  assert.equal(
    outcome((scene) => void taken(scene, '1', 'moved')),
    'moved',
  );
  assert.equal(
    outcome((scene) => void taken(scene, '1', 'withdrawn')),
    'withdrawn',
  );
  assert.equal(
    outcome((scene) => {
      taken(scene, '1', 'moved');
      taken(scene, '1', null);
    }),
    'other',
    'it did not come to that',
  );
  assert.equal(
    outcome((scene) => void taken(scene, '1', 'withdrawn'), abandoned),
    'queue.caller_abandoned',
    'it hung up before it could be taken',
  );
  assert.equal(
    outcome(
      () => {},
      () => {},
    ),
    'key',
    'the engine calls nobody abandoned who leaves by a digit',
  );
});

test('pbx queues - a long wait is no timeout in a queue without a limit', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: 'trunk' });
  join(scene, '1', 1, 'sales');
  scene.at += 3_600_000;
  scene.send({
    type: 'queue.caller_abandoned',
    queue: 'sales',
    channel: chan('1'),
    hold_seconds: 1,
    position: 1,
  });
  assert.equal(reason(scene), 'other');
});

test('pbx queues - a caller answered without a known offer left as answered', () => {
  const scene = new Scene();
  waiting(scene);
  dialEnded(scene, '1002', 'ANSWER');
  left(scene, '1');
  assert.equal(reason(scene), 'answered');
});

test('pbx queues - a moved caller has two visits, each with one outcome', () => {
  const scene = new Scene();
  waiting(scene);
  taken(scene, '1', 'moved');
  unserved(scene, '1');
  left(scene, '1');
  join(scene, '1', 1, 'sales');
  scene.send({ type: 'channel.ending', id: chan('1') });
  scene.hangup('1');
  assert.deepEqual(
    only(scene.published, 'queue').map((e) => [e.type, (e.data as { queue: string }).queue]),
    [
      ['queue.caller_joined', 'support'],
      ['queue.caller_left', 'support'],
      ['queue.caller_joined', 'sales'],
      ['queue.caller_abandoned', 'sales'],
    ],
  );
});

test('pbx queues - a queue shows its callers with call, party and priority, and its open offers', () => {
  const scene = new Scene();
  waiting(scene);
  ring(scene, '1002');
  const shown = scene.view.queue('support');
  assert.deepEqual(shown?.callers[0], {
    queue: 'support',
    channel: chan('1'),
    position: 1,
    joined_at: scene.view.queue('support')?.callers[0]?.joined_at,
    priority: null,
    leg: chan('1'),
    call: call('1'),
    party: { number: '0305550', name: 'Ann' },
    moves: 0,
  });
  assert.deepEqual(
    shown?.offers.map((o) => [o.id, o.extension, o.call]),
    [[`support:${chan('1')}:${chan('l1002')}`, '1002', call('1')]],
  );
  scene.created('0', { endpoint: '1004' });
  scene.send({ type: 'channel.linked', id: chan('1'), call: call('0') });
  assert.equal(scene.view.queue('support')?.callers[0]?.call, call('0'), 'joined into another call');
  dialEnded(scene, '1002', 'CANCEL');
  assert.deepEqual(scene.view.queue('support')?.offers, []);
});

test('pbx queues - a snapshot shows priorities and the resulting positions, each change published once', () => {
  const scene = new Scene();
  for (const id of ['1', '2', '3']) {
    scene.created(id, { endpoint: 'trunk' });
    join(scene, id, Number(id));
  }
  const shown = (...order: [string, number][]) => ({
    channels: ['1', '2', '3'].map((id) => channel(id, { endpoint: 'trunk' })),
    queues: [
      {
        name: 'support',
        strategy: 'ringall',
        members: [],
        callers: order.map(([id, priority], i) => ({
          queue: 'support',
          channel: chan(id),
          position: i + 1,
          joined_at: scene.at,
          priority,
        })),
      },
    ],
  });
  const changes = (events: readonly DomainEvent[]) =>
    events.flatMap((e) =>
      e.type === 'queue.caller_changed' ? [[e.data.leg_id, e.data.position, e.data.priority]] : [],
    );
  assert.deepEqual(scene.snapshot(shown(['1', 0], ['2', 0], ['3', 0])), [], 'no priority is no news');
  assert.deepEqual(changes(scene.snapshot(shown(['3', 10], ['1', 0], ['2', 0]))), [[chan('3'), 1, 10]]);
  assert.deepEqual(
    scene.view.queue('support')?.callers.map((c) => [c.channel, c.position, c.priority]),
    [
      [chan('3'), 1, 10],
      [chan('1'), 2, 0],
      [chan('2'), 3, 0],
    ],
  );
  assert.deepEqual(changes(scene.snapshot(shown(['2', 20], ['3', 10], ['1', 5]))), [
    [chan('2'), 1, 20],
    [chan('1'), 3, 5],
  ]);
  assert.deepEqual(changes(scene.snapshot(shown(['3', 10], ['2', 20], ['1', 5]))), [[chan('3'), 1, 10]]);
  assert.deepEqual(scene.snapshot(shown(['3', 10], ['2', 20], ['1', 5])), []);
});

test('pbx queues - another position in its queue is the same visit: one event, and the wait counts from the join', () => {
  const scene = new Scene();
  waiting(scene);
  scene.created('2', { endpoint: 'trunk' });
  join(scene, '2', 2);
  const since = scene.view.queue('support')?.callers[1]?.joined_at;
  scene.published.length = 0;
  scene.at += 40_000;
  taken(scene, '2', 'placed');
  unserved(scene, '2');
  left(scene, '2');
  assert.equal(scene.view.queue('support')?.callers.length, 2, 'it is on its way');
  join(scene, '2', 1);
  assert.deepEqual(types(only(scene.published, 'queue')), ['queue.caller_changed']);
  assert.deepEqual(
    scene.view.queue('support')?.callers.map((c) => [c.channel, c.position, c.moves]),
    [
      [chan('2'), 1, 1],
      [chan('1'), 2, 0],
    ],
  );
  assert.equal(scene.view.queue('support')?.callers[0]?.joined_at, since);
  scene.at += 30_000;
  unserved(scene, '2');
  assert.equal(reason(scene), 'other', 'the engine counts the longest wait from the new place on');
});

test('pbx queues - during a change of position: hung up is abandoned, not joined again is left, a snapshot brings it back', () => {
  const away = (): Scene => {
    const scene = new Scene();
    waiting(scene);
    taken(scene, '1', 'placed');
    unserved(scene, '1');
    left(scene, '1');
    scene.published.length = 0;
    return scene;
  };
  const ends = (scene: Scene) => types(only(scene.published, 'queue'));
  let scene = away();
  scene.send({ type: 'channel.ending', id: chan('1') });
  scene.hangup('1');
  assert.deepEqual(ends(scene), ['queue.caller_abandoned']);

  scene = away();
  const out = taken(scene, '1', null) as {
    readonly type: string;
    readonly data: { readonly reason: string };
  }[];
  assert.deepEqual(
    out.filter(({ type }) => type.startsWith('queue')).map(({ type, data }) => [type, data.reason]),
    [['queue.caller_left', 'other']],
  );
  assert.deepEqual(scene.view.queue('support')?.callers, []);

  scene = away();
  join(scene, '1', 1, 'sales');
  assert.deepEqual(ends(scene), ['queue.caller_left', 'queue.caller_joined']);
  assert.equal(reason(scene), 'other');

  scene = away();
  const see = (callers: QueueCaller[]) =>
    scene.send({
      type: 'engine.snapshot',
      why: 'resync',
      snapshot: snapshot({
        channels: [channel('1', { endpoint: 'trunk', state: 'up' })],
        queues: [{ name: 'support', strategy: '', members: [], callers }],
      }),
    });
  see([]);
  assert.deepEqual(
    ends(scene).filter((type) => type.startsWith('queue.caller')),
    [],
  );
  see([{ queue: 'support', channel: chan('1'), position: 1, joined_at: scene.at, priority: 4 }]);
  assert.deepEqual(
    ends(scene).filter((type) => type.startsWith('queue.caller')),
    ['queue.caller_changed'],
  );
  assert.equal(scene.view.queue('support')?.callers[0]?.moves, 1);
});
