import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import { rfc3339 } from '../core/clock.ts';
import type { QueueMember } from '../ports/engine-state.ts';
import { createModel } from './model.ts';
import { Scene, bridge, chan, channel, member, snapshot } from '../../test/support/model-scene.ts';

const WHO = '1002';
const iface = `Local/${WHO}@queue-agent`;
const paused = (reason: string): Partial<QueueMember> => ({ paused: true, paused_reason: reason });
const agent = (scene: Scene): AgentSummary => scene.view.agent(WHO)!.summary;
/** Agent events since the last call: type, queue, and the state in each. */
function news(scene: Scene): string[] {
  const published = scene.published.splice(0).filter((e) => e.type.startsWith('agent.'));
  return published.map((e) => {
    const { queue, agent: shown } = e.data as { queue: string | null; agent: AgentSummary };
    return `${e.type.slice(6)}${queue === null ? '' : ` ${queue}`} = ${shown.state}`;
  });
}
/** 1002 is in both queues; sales gives it 30 s of wrap-up, support none. */
function scene(): Scene {
  const made = new Scene();
  for (const e of [WHO, `${WHO}-web`, `${WHO}-mobile`]) made.device(e, 'NOT_INUSE');
  made.member('support', WHO);
  made.member('sales', WHO);
  news(made);
  return made;
}
/** A queue rings 1002; the call is named after its caller. */
function offer(s: Scene, queue: string, id = 'c') {
  const ids = { queue, interface: iface, caller: chan(id), agent: chan(`${id}l`) };
  s.created(id, { endpoint: 'trunk', state: 'up', dialled: '500' });
  s.created(`${id}l`, { kind: 'local', pair: id, of: id });
  s.created(`${id}d`, { endpoint: WHO, state: 'ringing', of: id });
  s.send({ type: 'offer.created', ...ids });
  return {
    ids,
    answer() {
      s.state(`${id}d`, 'up');
      s.send({ type: 'offer.accepted', ...ids, hold_seconds: 1, ring_seconds: 1 });
      s.hangup(`${id}l`);
    },
    timeout: () => s.send({ type: 'offer.timeout', ...ids, ring_seconds: 15 }),
    rejected: () => s.send({ type: 'dial.ended', from: ids.caller, to: ids.agent, status: 'BUSY' }),
    hold: (held: boolean) => s.send({ type: 'channel.held', id: chan(`${id}d`), held }),
    release(reason: 'agent' | 'caller' | 'transfer' = 'caller') {
      const passed = { by: chan(`${id}d`), transferee: chan(id), to: '1004', succeeded: true };
      if (reason === 'transfer') s.send({ type: 'transfer.blind', ...passed });
      s.send({ type: 'agent.released', ...ids, reason, talk_seconds: 1 });
      s.hangup(`${id}d`);
      s.hangup(id);
    },
  };
}
/** Pauses 1002 for its wrap-up in both queues, or ends that pause. */
const held = (s: Scene, on: boolean): void => {
  for (const queue of ['support', 'sales']) s.member(queue, WHO, on ? paused('wrapup') : {});
};
/** A model restored from published events. */
function restarted(s: Scene, published: Scene['published']): Scene {
  const model = createModel();
  model.restore(null, published);
  const next = new Scene({ model, empty: true });
  next.at = s.at;
  return next;
}

test('pbx agent - login, ready and pause: each event carries the state after it', () => {
  const s = new Scene();
  s.member('support', WHO, paused('login'));
  assert.deepEqual(news(s), ['logged_in support = not_ready', 'not_ready support = not_ready']);
  assert.deepEqual(agent(s).readiness.source, 'system');
  s.member('support', WHO);
  assert.deepEqual(news(s), ['ready support = available']);
  s.member('support', WHO, paused('break'));
  assert.deepEqual(news(s), ['not_ready support = not_ready']);
  const { since, readiness } = agent(s);
  assert.equal(since, rfc3339(s.at));
  assert.deepEqual(readiness, {
    ready: false,
    reason: 'break',
    since: rfc3339(s.at),
    source: 'agent',
    until: rfc3339(s.at + 900_000),
  });
  s.send({ type: 'queue.member_removed', queue: 'support', interface: iface });
  assert.deepEqual(news(s), ['logged_out support = logged_out']);
});

test('pbx agent - offered with its deadline, then answered, not answered, rejected or given up', () => {
  const s = scene();
  const first = offer(s, 'support');
  const { engagement, queue, call_id, offer_id, deadline } = agent(s);
  assert.deepEqual([engagement, queue, call_id], ['offered', 'support', 'ast1:c']);
  assert.equal(offer_id, 'support:ast1:c:ast1:cl');
  assert.equal(deadline, rfc3339(s.at + 15_000));
  first.timeout();
  assert.deepEqual(news(s), ['offered support = offered', 'ready = available']);
  s.hangup('c');
  const second = offer(s, 'support', 'e');
  second.rejected();
  assert.deepEqual(news(s), ['offered support = offered', 'ready = available']);
  offer(s, 'support', 'f');
  s.hangup('f');
  assert.deepEqual(news(s), ['offered support = offered', 'ready = available']);
  const last = offer(s, 'support', 'g');
  last.answer();
  assert.deepEqual(news(s), ['offered support = offered', 'talking support = talking']);
  assert.equal(agent(s).deadline, null);
});

test('pbx agent - a ringing that the agent’s side ends early is rejected, though the queue reports no answer', () => {
  const outcomes = (ms: number, said?: number): string[] => {
    const s = scene();
    const ringing = offer(s, 'support');
    s.published.splice(0);
    s.at += ms - 1000;
    const { caller: from, agent: to } = ringing.ids;
    if (said === undefined) s.send({ type: 'dial.ended', from, to, status: 'NOANSWER' });
    s.send({ type: 'offer.timeout', ...ringing.ids, ring_seconds: said ?? 15 });
    return s.published.filter((e) => e.type.startsWith('offer')).map((e) => e.type);
  };
  assert.deepEqual(outcomes(2_000), ['offer.rejected']);
  assert.deepEqual(outcomes(13_900), ['offer.rejected']);
  assert.deepEqual(outcomes(14_900), ['offer.timeout'], 'the queue rings for 15 s');
  assert.deepEqual(outcomes(2_000, 3), ['offer.rejected']);
  assert.deepEqual(outcomes(2_000, 15), ['offer.timeout']);
});

test('pbx agent - held and retrieved; without wrap-up the agent is ready at the release, once', () => {
  const s = scene();
  const call = offer(s, 'support');
  call.answer();
  news(s);
  call.hold(true);
  assert.deepEqual(news(s), ['held support = held']);
  call.hold(false);
  assert.deepEqual(news(s), ['retrieved support = talking']);
  call.release();
  assert.deepEqual(news(s), ['ready = available']);
});

for (const reason of ['agent', 'caller', 'transfer'] as const) {
  test(`pbx agent - released by ${reason}: wrap-up until the queue's own time from then, published once`, () => {
    const s = scene();
    const call = offer(s, 'sales');
    call.answer();
    const began = s.at - 1000;
    s.at += 60_000;
    news(s);
    call.release(reason);
    const released = s.at - 2000;
    assert.equal(agent(s).since, rfc3339(released));
    assert.equal(agent(s).deadline, rfc3339(released + 30_000));
    s.published.splice(0);
    assert.deepEqual([agent(s).queue, agent(s).call_id], ['sales', 'ast1:c']);
    held(s, true);
    assert.deepEqual(news(s), [], 'a wrap-up pause is no pause of the agent');
    assert.equal(s.view.extension(WHO)?.summary, 'available');
    held(s, false);
    assert.deepEqual(news(s), ['ready = available'], 'let go in every queue is the end of it');
    assert.ok(began < released);
  });
}

test('pbx agent - the wrap-up carries the time connected; a hang-up counts like a release', () => {
  const s = scene();
  const call = offer(s, 'sales');
  call.answer();
  const answered = s.at - 1000;
  s.at += 75_000;
  s.published.splice(0);
  s.hangup('cd');
  const published = s.published.find((e) => e.type === 'agent.wrap_up');
  assert.equal(published?.data.talk_seconds, (s.at - answered) / 1000);
  s.send({ type: 'agent.released', ...call.ids, reason: 'agent', talk_seconds: 75 });
  assert.equal(s.published.filter((e) => e.type === 'agent.wrap_up').length, 1);
});

test('pbx agent - a decision extends or ends the wrap-up', () => {
  const s = scene();
  const call = offer(s, 'sales');
  call.answer();
  call.release();
  news(s);
  const deadline = s.at + 120_000;
  s.decide({ type: 'agent.wrap_up', extension: WHO, deadline });
  assert.deepEqual(news(s), ['wrap_up_extended sales = wrap_up']);
  assert.equal(agent(s).deadline, rfc3339(deadline));
  s.decide({ type: 'agent.wrap_up', extension: WHO, deadline: null });
  assert.deepEqual(news(s), ['ready = available']);
  s.decide({ type: 'agent.wrap_up', extension: WHO, deadline });
  assert.deepEqual(news(s), [], 'there is none to extend');
});

test('pbx agent - a pause during a call takes effect after call and wrap-up; a newer choice replaces it', () => {
  const s = scene();
  const call = offer(s, 'sales');
  call.answer();
  news(s);
  s.decide({
    type: 'agent.intended',
    extension: WHO,
    queues: ['support', 'sales'],
    reason: 'lunch',
    source: 'supervisor',
    since: null,
  });
  s.member('support', WHO, paused('lunch'));
  s.member('sales', WHO, paused('lunch'));
  s.decide({
    type: 'agent.intended',
    extension: WHO,
    queues: ['support', 'sales'],
    reason: '',
    source: null,
    since: null,
  });
  assert.deepEqual(news(s), [
    'not_ready support = talking',
    'pending_changed = talking',
    'not_ready sales = talking',
  ]);
  assert.deepEqual(
    [agent(s).pending, agent(s).pending_reason, agent(s).readiness.ready],
    ['not_ready', 'lunch', true],
  );
  s.member('support', WHO, paused('break'));
  s.member('sales', WHO, paused('break'));
  assert.equal(agent(s).pending_reason, 'break');
  s.member('support', WHO, paused('lunch'));
  s.member('sales', WHO, paused('lunch'));
  news(s);
  call.release();
  assert.deepEqual(news(s), ['wrap_up sales = wrap_up']);
  assert.equal(agent(s).pending, 'not_ready');
  s.decide({ type: 'agent.wrap_up', extension: WHO, deadline: null });
  assert.deepEqual(news(s), ['not_ready = not_ready']);
  assert.deepEqual([agent(s).pending, agent(s).readiness.since], [null, rfc3339(s.at)]);
  s.member('support', WHO);
  s.member('sales', WHO);
  assert.equal(agent(s).state, 'available');
});

test('pbx agent - ready again in the same call: no change is pending', () => {
  const s = scene();
  const call = offer(s, 'support');
  call.answer();
  s.member('support', WHO, paused('lunch'));
  news(s);
  s.member('support', WHO);
  assert.deepEqual(news(s), ['ready support = talking', 'pending_changed = talking']);
  assert.equal(agent(s).pending, null);
});

test('pbx agent - leaving in a call waits; out of every queue is logged out at once', () => {
  const s = scene();
  const call = offer(s, 'support');
  call.answer();
  news(s);
  for (const queue of ['support', 'sales']) s.member(queue, WHO, paused('logout'));
  assert.deepEqual([agent(s).pending, agent(s).state], ['logged_out', 'talking']);
  call.release();
  news(s);
  for (const queue of ['support', 'sales']) s.send({ type: 'queue.member_removed', queue, interface: iface });
  assert.deepEqual(news(s), ['logged_out support = not_ready', 'logged_out sales = logged_out']);

  const other = scene();
  offer(other, 'sales').answer();
  news(other);
  for (const queue of ['support', 'sales'])
    other.send({ type: 'queue.member_removed', queue, interface: iface });
  assert.deepEqual(news(other), ['logged_out support = talking', 'logged_out sales = logged_out']);
});

test('pbx agent - a new offer ends the wrap-up, and the wrap-up after it begins anew', () => {
  const s = scene();
  const call = offer(s, 'sales');
  call.answer();
  call.release();
  news(s);
  const next = offer(s, 'support', 'n');
  next.answer();
  next.release();
  assert.deepEqual(news(s), ['offered support = offered', 'talking support = talking', 'ready = available']);
});

test('pbx agent - a call of its own: busy, with its direction; a wrap-up goes before it, a feature code is none', () => {
  const s = scene();
  s.created('o', { endpoint: WHO, state: 'dialing', dialled: '1001' });
  assert.equal(agent(s).direction, 'out');
  s.hangup('o');
  s.created('i', { endpoint: '1001', state: 'dialing', dialled: WHO });
  s.created('a', { endpoint: WHO, state: 'ringing', of: 'i' });
  assert.equal(agent(s).state, 'available', 'it only rings');
  s.state('a', 'up');
  assert.equal(agent(s).direction, 'in');
  s.hangup('a');
  s.created('x', { endpoint: WHO, state: 'dialing', dialled: '*22' });
  s.hangup('x');
  assert.deepEqual(news(s), [
    'busy_other = busy_other',
    'ready = available',
    'busy_other = busy_other',
    'ready = available',
  ]);
  const call = offer(s, 'sales');
  call.answer();
  call.release();
  s.created('p', { endpoint: WHO, state: 'dialing', dialled: '1001' });
  assert.equal(agent(s).state, 'wrap_up');
  news(s);
  s.decide({ type: 'agent.wrap_up', extension: WHO, deadline: null });
  assert.deepEqual(news(s), ['busy_other = busy_other']);
});

test('pbx agent - not responding until the agent is ready or signs out', () => {
  const s = scene();
  s.decide({ type: 'agent.not_responding', extension: WHO, missed: 3 });
  assert.deepEqual(news(s), ['not_responding = not_responding']);
  for (const queue of ['support', 'sales']) s.member(queue, WHO, paused('no_answer'));
  assert.deepEqual(news(s), ['not_ready support = not_responding', 'not_ready sales = not_responding']);
  assert.deepEqual([agent(s).readiness.reason, agent(s).readiness.source], ['no_answer', 'system']);
  s.member('support', WHO);
  s.member('sales', WHO);
  assert.deepEqual(news(s), ['ready support = not_responding', 'ready sales = available']);

  s.decide({ type: 'agent.not_responding', extension: WHO, missed: 3 });
  for (const queue of ['support', 'sales']) s.member(queue, WHO, paused('no_answer'));
  for (const queue of ['support', 'sales']) s.member(queue, WHO, paused('lunch'));
  assert.deepEqual([agent(s).state, agent(s).readiness.reason], ['not_ready', 'lunch']);
});

test('pbx agent - unreachable outranks all but a call, and a wrap-up goes on after it', () => {
  const s = scene();
  const call = offer(s, 'sales');
  call.answer();
  call.release();
  held(s, true);
  for (const e of [WHO, `${WHO}-web`, `${WHO}-mobile`]) s.device(e, 'UNAVAILABLE');
  news(s);
  s.decide({ type: 'agent.absent', extension: WHO });
  assert.deepEqual(news(s), ['unreachable = unreachable']);
  s.device(WHO, 'NOT_INUSE');
  assert.deepEqual(news(s), ['wrap_up_extended sales = wrap_up']);
});

test('pbx agent - a lost link that returns changes no agent and publishes nothing', () => {
  const s = scene();
  s.member('support', WHO, paused('lunch'));
  const before = agent(s);
  news(s);
  s.send({ type: 'engine.link', node: snapshot().node, up: false, reason: 'cut', boot_id: '' });
  assert.equal(agent(s), before);
  s.send({ type: 'engine.link', node: snapshot().node, up: true, reason: '', boot_id: 'boot-1' });
  s.snapshot({
    queues: ['support', 'sales'].map((name) => ({
      name,
      strategy: '',
      callers: [],
      members: [member(name, WHO, name === 'support' ? { ...paused('lunch'), paused_at: 5 } : {})],
    })),
    devices: [WHO, `${WHO}-web`, `${WHO}-mobile`].map((endpoint) => ({ endpoint, state: 'NOT_INUSE' })),
  });
  assert.deepEqual(news(s), []);
  assert.deepEqual(agent(s), before);
});

/** Queue rows of 1002 in the engine's snapshot, idle, with its devices. */
const queuesOf = (fields: Partial<QueueMember> = {}) => ({
  queues: ['support', 'sales'].map((name) => ({
    name,
    strategy: '',
    callers: [],
    members: [member(name, WHO, fields)],
  })),
  devices: [WHO, `${WHO}-web`, `${WHO}-mobile`].map((endpoint) => ({
    endpoint,
    state: 'NOT_INUSE' as const,
  })),
});

test('pbx agent - restored in a wrap-up: the deadline stays, and no event is repeated', () => {
  const s = new Scene({ empty: true });
  s.send({ type: 'engine.snapshot', why: 'connect', snapshot: snapshot(queuesOf()) });
  const call = offer(s, 'sales');
  call.answer();
  call.release();
  held(s, true);
  const published = [...s.published];
  const before = agent(s);
  const next = restarted(s, published);
  assert.deepEqual(agent(next), before, 'known before the engine is');
  next.snapshot(queuesOf(paused('wrapup')));
  assert.deepEqual(news(next), []);
  assert.deepEqual(agent(next), before);

  const freed = restarted(s, published);
  freed.snapshot(queuesOf());
  assert.deepEqual(news(freed), ['ready = available'], 'let go while we were away');

  const lost = restarted(s, published);
  lost.snapshot(queuesOf(paused('wrapup')));
  lost.send({
    type: 'engine.snapshot',
    why: 'connect',
    snapshot: snapshot({ ...queuesOf(), boot_id: 'boot-2', restarted: true }),
  });
  assert.deepEqual(news(lost), [], 'an engine that was restarted forgot to hold, which is not an end');
  assert.equal(agent(lost).state, 'wrap_up');
});

test('pbx agent - found paused in two queues, it is absent since the first pause', () => {
  for (const [support, sales] of [
    [5_000, 7_000],
    [7_000, 5_000],
  ] as const) {
    const s = new Scene({ empty: true });
    const { queues, ...rest } = queuesOf(paused('lunch'));
    const begun = queues.map((queue) => ({
      ...queue,
      members: queue.members.map((m) => ({ ...m, paused_at: queue.name === 'support' ? support : sales })),
    }));
    s.send({ type: 'engine.snapshot', why: 'connect', snapshot: snapshot({ ...rest, queues: begun }) });
    assert.equal(agent(s).readiness.since, new Date(5_000).toISOString());
  }
});

test('pbx agent - restored in a call: it is the same call; one that ended meanwhile leaves the rest of its wrap-up', () => {
  const s = new Scene({ empty: true });
  s.send({ type: 'engine.snapshot', why: 'connect', snapshot: snapshot(queuesOf()) });
  offer(s, 'sales').answer();
  for (const queue of ['support', 'sales']) s.member(queue, WHO, paused('lunch'));
  const published = [...s.published];
  const before = agent(s);
  assert.equal(before.pending, 'not_ready');
  const legs = {
    channels: [
      channel('c', { endpoint: 'trunk', state: 'up' }),
      channel('cd', { endpoint: WHO, state: 'up', of: 'c' }),
    ],
    bridged: ['c', 'cd'].map((id) => ({ bridge: bridge('b'), channel: chan(id), holding: false })),
  };
  const next = restarted(s, published);
  const talking = queuesOf({ ...paused('lunch'), paused_at: 7 });
  const [support, sales] = talking.queues;
  const inCall = { ...sales!, members: sales!.members.map((m) => ({ ...m, in_call: true })) };
  next.snapshot({ ...talking, ...legs, queues: [support!, inCall] });
  assert.deepEqual(agent(next), before);
  assert.deepEqual(news(next), []);
  assert.deepEqual(agent(next), before);

  const over = restarted(s, published);
  const ended = s.at - 10_000;
  over.at = s.at + 5_000;
  over.snapshot(queuesOf({ ...paused('lunch'), last_call_at: ended }));
  assert.equal(agent(over).state, 'wrap_up', 'the engine’s time is before the talk: it ends now');
  const rest = restarted(s, published);
  rest.at = s.at + 20_000;
  rest.snapshot(queuesOf({ ...paused('lunch'), last_call_at: s.at + 5_000 }));
  assert.equal(agent(rest).deadline, rfc3339(s.at + 35_000), 'from when the engine saw the end');
  const long = restarted(s, published);
  long.at = s.at + 200_000;
  long.snapshot(queuesOf({ ...paused('lunch'), last_call_at: s.at + 5_000 }));
  assert.deepEqual([agent(long).state, agent(long).pending], ['not_ready', null]);
});

test('pbx agent - unreachable and not responding survive a restart', () => {
  const s = new Scene({ empty: true });
  const away = {
    ...queuesOf(paused('no_answer')),
    devices: [WHO, `${WHO}-web`, `${WHO}-mobile`].map((endpoint) => ({
      endpoint,
      state: 'UNAVAILABLE' as const,
    })),
  };
  s.send({ type: 'engine.snapshot', why: 'connect', snapshot: snapshot(away) });
  s.decide({ type: 'agent.not_responding', extension: WHO, missed: 3 });
  s.decide({ type: 'agent.absent', extension: WHO });
  const next = restarted(s, [...s.published]);
  next.snapshot(away);
  assert.deepEqual(news(next), []);
  assert.deepEqual([agent(next).state, agent(next).not_responding], ['unreachable', true]);
  next.device(WHO, 'NOT_INUSE');
  assert.deepEqual(news(next), ['not_ready = not_responding']);
});
