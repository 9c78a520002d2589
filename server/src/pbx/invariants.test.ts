import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { EngineEvent } from '../ports/engine-events.ts';
import { talksOn } from './agents.ts';
import { createModel } from './model.ts';
import type { PbxModel } from './model.ts';
import type { State } from './state.ts';
import { MOVES, SimEngine } from '../../test/support/simulated-engine.ts';
import type { Move } from '../../test/support/simulated-engine.ts';
import { T0, checkpointOf, node } from '../../test/support/model-scene.ts';
import type { SiteEvent } from '../ports/live.ts';

const RUNS = 250;
const PHONES = ['1001', '1002', '1003', '1004', '1005', '1006'];
const SITE: SiteEvent = {
  type: 'site.changed',
  at: T0,
  extensions: PHONES.map((extension) => ({
    extension,
    name: `Person ${extension}`,
    endpoints: [{ kind: 'sip', name: extension }],
  })),
  queues: [
    { name: 'support', agents: ['1002', '1003'], ring_seconds: 15, wrap_up_seconds: 0, max_wait_seconds: 0 },
    { name: 'sales', agents: ['1003', '1004'], ring_seconds: 15, wrap_up_seconds: 20, max_wait_seconds: 0 },
  ],
  trunks: [],
  pause_reasons: [],
  services: [],
};
const move: fc.Arbitrary<Move> = fc.record({
  do: fc.constantFrom(...MOVES),
  a: fc.nat(50),
  b: fc.nat(50),
});
const anyFlow = fc.array(move, { minLength: 5, maxLength: 80, size: 'max' });
/** Agents signed in from the start, with few calls outside the queues. */
const QUEUE_MOVES =
  'join_queue offer offer accept accept hangup release hold pause reject abandon blind attended device logout login dial answer'.split(
    ' ',
  ) as Move['do'][];
const queueFlow = fc
  .array(fc.record({ do: fc.constantFrom(...QUEUE_MOVES), a: fc.nat(50), b: fc.nat(50) }), {
    minLength: 5,
    maxLength: 60,
    size: 'max',
  })
  .map((moves): Move[] => [
    ...[1, 2, 3].flatMap((a): Move[] => [
      { do: 'login', a, b: 2 },
      { do: 'login', a, b: 1 },
    ]),
    ...moves,
  ]);
const flow = fc.oneof(anyFlow, queueFlow);

/** Damage to frames; the numbers are positions. */
const damage = fc.record({
  drop: fc.array(fc.nat(2000), { maxLength: 20 }),
  twice: fc.array(fc.nat(2000), { maxLength: 20 }),
  late: fc.array(fc.tuple(fc.nat(2000), fc.integer({ min: 1, max: 15 })), { maxLength: 20 }),
  snapshots: fc.array(fc.nat(80), { maxLength: 5 }),
});
type Damage = typeof damage extends fc.Arbitrary<infer T> ? T : never;

function begin(): {
  model: PbxModel;
  published: DomainEvent[];
  take: (e: EngineEvent) => readonly DomainEvent[];
} {
  const model = createModel();
  const published: DomainEvent[] = [];
  model.step(SITE);
  const take = (e: EngineEvent): readonly DomainEvent[] => {
    const out = model.step(e);
    published.push(...out);
    return out;
  };
  take({ at: T0, type: 'engine.link', node, up: true, reason: '', boot_id: 'b' });
  take(new SimEngine().snapshotEvent());
  return { model, published, take };
}

/** A whole flow with everything hung up at its end, its frames damaged, true snapshots at some moves. */
function stream(moves: readonly Move[], how: Damage): EngineEvent[] {
  const sim = new SimEngine();
  const out: { event: EngineEvent; place: number }[] = [];
  const drop = new Set(how.drop);
  const twice = new Set(how.twice);
  const late = new Map(how.late);
  let n = 0;
  const drain = (): void => {
    for (const event of sim.log.splice(0)) {
      n += 1;
      if (drop.has(n)) continue;
      out.push({ event, place: n + (late.get(n) ?? 0) + 0.5 * Number(late.has(n)) });
      if (twice.has(n)) out.push({ event, place: n + 0.1 });
    }
  };
  for (const [i, m] of moves.entries()) {
    sim.play(m);
    drain();
    if (how.snapshots.includes(i)) out.push({ event: sim.snapshotEvent(), place: n + 0.2 });
  }
  sim.hangupAll();
  drain();
  const ordered = out.toSorted((x, y) => x.place - y.place).map((x) => x.event);
  sim.at += 1000;
  return [...ordered, sim.snapshotEvent()];
}

/** A leg leaves only the call that it was last published in, and only while it is there. */
function assertLegs(legs: Map<string, string>, e: DomainEvent): void {
  if (e.type === 'call.left') {
    const { call_id, leg } = e.data;
    assert.equal(legs.get(leg.leg_id), call_id, `${leg.leg_id} left ${call_id}, where it was not`);
    legs.delete(leg.leg_id);
  } else if (e.type === 'call.ended') {
    for (const [leg, call] of legs) {
      if (call !== e.data.call_id) continue;
      if (e.data.merged_into === null) legs.delete(leg);
      else legs.set(leg, e.data.merged_into);
    }
  } else if (e.type.startsWith('call.') && 'leg' in e.data) {
    legs.set(e.data.leg.leg_id, e.subject.slice(6));
  }
}
function assertCallsClosed(published: readonly DomainEvent[]): void {
  const open = new Map<string, number>();
  const all = new Set<string>();
  const heard = new Map<string, readonly string[]>();
  const legs = new Map<string, string>();
  for (const e of published) {
    assertLegs(legs, e);
    if (
      e.type.startsWith('call.') &&
      'extensions' in e.data &&
      'call_id' in e.data &&
      e.data.call_id !== null
    ) {
      const { call_id, extensions } = e.data;
      assert.deepEqual(extensions, [...new Set(extensions)].toSorted());
      for (const before of heard.get(call_id) ?? []) {
        assert.ok(extensions.includes(before), `${e.type} of ${call_id} is no longer published to ${before}`);
      }
      heard.set(call_id, extensions);
      const own = 'leg' in e.data ? e.data.leg.extension : null;
      assert.ok(own === null || extensions.includes(own), `${e.type} is not published to ${own}`);
    }
    if (e.type === 'call.started') {
      assert.ok(!all.has(e.data.call_id), `${e.data.call_id} started twice`);
      all.add(e.data.call_id);
      open.set(e.data.call_id, 1);
    } else if (e.type === 'call.ended') {
      assert.ok(open.delete(e.data.call_id), `${e.data.call_id} ended without being open`);
    } else if (e.subject.startsWith('calls/')) {
      assert.ok(open.has(e.subject.slice(6)), `${e.type} of ${e.subject}, which is not open`);
    }
  }
  assert.deepEqual([...open.keys()], [], 'calls that never ended');
}
function assertQueuesClosed(published: readonly DomainEvent[]): void {
  const visits = new Set<string>();
  const offers = new Set<string>();
  for (const e of published) {
    switch (e.type) {
      case 'queue.caller_joined':
        assert.ok(!visits.has(`${e.data.queue} ${e.data.leg_id}`), 'joined twice');
        visits.add(`${e.data.queue} ${e.data.leg_id}`);
        break;
      case 'queue.caller_left':
      case 'queue.caller_abandoned':
        assert.ok(visits.delete(`${e.data.queue} ${e.data.leg_id}`), `${e.type} without a visit`);
        break;
      case 'offer.created':
        assert.ok(!offers.has(e.data.offer_id), 'offered twice');
        offers.add(e.data.offer_id);
        break;
      case 'offer.accepted':
      case 'offer.timeout':
      case 'offer.rejected':
      case 'offer.canceled':
        assert.ok(offers.delete(e.data.offer_id), `${e.type} without an open offer`);
        break;
      default:
    }
  }
  assert.deepEqual([...visits, ...offers], [], 'visits and offers without an outcome');
}
/** Logged in and out in turn; ready and not ready only in between. */
function assertAgentsSane(published: readonly DomainEvent[]): void {
  const members = new Map<string, string>();
  for (const e of published) {
    if (!e.type.startsWith('agent.') || !('agent' in e.data) || e.data.queue === null) continue;
    const key = `${e.data.extension} ${e.data.queue}`;
    if (e.type === 'agent.logged_in') {
      assert.ok(!members.has(key), `${key} logged in twice`);
      members.set(key, '');
    } else if (e.type === 'agent.logged_out') {
      assert.ok(members.delete(key), `${key} logged out without being in`);
    } else if (e.type === 'agent.ready' || e.type === 'agent.not_ready') {
      const now = e.type === 'agent.ready' ? 'ready' : `not ready ${e.data.reason}`;
      assert.ok(members.has(key) && members.get(key) !== now, `${key} ${now} again`);
      members.set(key, now);
    }
  }
}
function assertConsistent(s: State): void {
  const inBridge = new Map<string, string>();
  for (const [b, ids] of s.bridges) {
    assert.ok(ids.size > 0, 'an empty bridge is kept');
    for (const id of ids) {
      assert.ok(!inBridge.has(id), `${id} is in two bridges`);
      inBridge.set(id, b);
    }
  }
  for (const ch of s.channels.values()) {
    assert.equal(ch.bridge, inBridge.get(ch.id) ?? null);
    if (ch.call !== null)
      assert.ok(s.calls.get(ch.call)?.channels.includes(ch.id), `${ch.id} is not in its call`);
  }
  for (const call of s.calls.values()) {
    assert.equal(new Set(call.channels).size, call.channels.length);
    for (const id of call.channels) assert.equal(s.channels.get(id)?.call, call.id);
    for (const alias of call.aliases) assert.equal(s.aliases.get(alias), call.id);
  }
  for (const [id, visit] of s.visits) {
    assert.equal(s.channels.get(id)?.queued, visit.queue);
    assert.ok(s.queues.get(visit.queue)?.callers.includes(visit));
  }
}
/** State of a snapshot as the model holds it, without times, names of calls and open offers. */
function shown(model: PbxModel, offered: ReadonlySet<string | null>) {
  const { state: s, view } = model;
  return {
    channels: [...s.channels.values()]
      .map(({ id, name, kind, endpoint, extension, pair, state, bridge, holding, queued, held, leg }) => ({
        id,
        name,
        kind,
        endpoint,
        extension,
        pair,
        state,
        bridge,
        holding,
        queued,
        held,
        leg,
      }))
      .toSorted((a, b) => a.id.localeCompare(b.id)),
    calls: [...s.calls.values()].map((c) => c.channels.toSorted().join(' ')).toSorted(),
    queues: view
      .queues()
      .map((q) => ({
        name: q.name,
        strategy: q.strategy,
        members: q.members
          .map((m) => ({ ...m, paused_at: null, in_call: m.in_call && !offered.has(m.extension) }))
          .toSorted((a, b) => a.interface.localeCompare(b.interface)),
        callers: q.callers.map((c) => `${c.position} ${c.channel}`),
      }))
      .toSorted((a, b) => a.name.localeCompare(b.name)),
    extensions: PHONES.map((e) => {
      const { devices, reachability, activity, summary } = view.extension(e) ?? {};
      return { e, devices, reachability, activity, summary };
    }),
    // A wrap-up, and a talk that outlives a joined call, are not the engine's and hide its state.
    agents: PHONES.filter((e) => !offered.has(e)).map((e) => [e, view.agent(e)?.summary.engagement]),
  };
}

test('pbx invariants - on a clean stream the model is the truth: a snapshot at any moment finds no difference', () => {
  fc.assert(
    fc.property(flow, (moves) => {
      const sim = new SimEngine();
      const { model, published, take } = begin();
      for (const m of moves) {
        sim.play(m);
        for (const e of sim.log.splice(0)) take(e);
        assertConsistent(model.state);
        const differences = take(sim.snapshotEvent());
        assert.deepEqual(differences, [], `after ${m.do}`);
      }
      sim.hangupAll();
      for (const e of sim.log.splice(0)) take(e);
      assertCallsClosed(published);
      assertQueuesClosed(published);
      assertAgentsSane(published);
    }),
    { numRuns: RUNS },
  );
});

test('pbx invariants - frames lost, doubled and late: every call, visit and offer still has exactly one end', () => {
  fc.assert(
    fc.property(flow, damage, (moves, how) => {
      const { model, published, take } = begin();
      for (const e of stream(moves, how)) {
        take(e);
        assertConsistent(model.state);
      }
      assert.deepEqual(model.view.calls(), []);
      assertCallsClosed(published);
      assertQueuesClosed(published);
      assertAgentsSane(published);
    }),
    { numRuns: RUNS },
  );
});

test('pbx invariants - after a snapshot the state equals that of a model built from the snapshot alone', () => {
  fc.assert(
    fc.property(flow, damage, (moves, how) => {
      const { model, take } = begin();
      for (const published of stream(moves, how)) {
        // Holds are read from a snapshot only after the link was down.
        const e =
          published.type === 'engine.snapshot' ? { ...published, why: 'connect' as const } : published;
        take(e);
        if (e.type !== 'engine.snapshot') continue;
        const fresh = createModel();
        fresh.step(SITE);
        fresh.step(e);
        const offered = new Set(model.state.offers.values().map((o) => o.extension));
        for (const { extension, wrap } of model.state.agents.values())
          if (wrap !== null) offered.add(extension);
        for (const [extension, talk] of model.state.talks) if (talksOn(talk)) offered.add(extension);
        assert.deepEqual(shown(model, offered), shown(fresh, offered));
        // Nothing missing in a snapshot is kept, so a second one finds no difference.
        assert.deepEqual(take({ ...e, why: 'resync' }), []);
      }
    }),
    { numRuns: RUNS },
  );
});

/** State of each agent folded from events; an agent without events is logged out. */
function folded(published: readonly DomainEvent[]): Map<string, AgentSummary> {
  const agents = new Map<string, AgentSummary>();
  for (const e of published) if ('agent' in e.data) agents.set(e.data.extension, e.data.agent);
  return agents;
}
function assertAgentsPublished(published: readonly DomainEvent[], model: PbxModel): void {
  const known = folded(published);
  for (const { extension, summary } of model.view.agents()) {
    const read = known.get(extension);
    if (read !== undefined) assert.deepEqual(read, summary);
    else assert.equal(summary.session, 'logged_out', `${extension} has no event`);
  }
}
test('pbx invariants - folding agent events gives the agents as they are shown, at any moment', () => {
  fc.assert(
    fc.property(flow, damage, (moves, how) => {
      const { model, published, take } = begin();
      for (const [i, e] of stream(moves, how).entries()) {
        take(e);
        const { extension, wrap } = [...model.state.agents.values()][i % model.state.agents.size] ?? {};
        if (wrap != null && extension !== undefined && i % 3 === 0) {
          const deadline = i % 2 === 0 ? null : e.at + 60_000;
          published.push(...model.step({ type: 'agent.wrap_up', at: e.at, extension, deadline }));
        }
        assertAgentsPublished(published, model);
      }
    }),
    { numRuns: RUNS },
  );
});

test('pbx invariants - the same events give the same domain events', () => {
  fc.assert(
    fc.property(flow, damage, (moves, how) => {
      const events = stream(moves, how);
      const [one, two] = [begin(), begin()];
      for (const e of events) assert.deepEqual(one.take(e), two.take(e));
      assert.deepEqual(one.published, two.published);
    }),
    { numRuns: 50 },
  );
});

test('pbx invariants - restored from the journal at any moment, every end is still published once', () => {
  fc.assert(
    fc.property(flow, damage, fc.nat(400), fc.boolean(), (moves, how, kill, fromText) => {
      const events = stream(moves, how);
      const first = begin();
      const at = Math.min(kill, events.length - 1);
      for (const e of events.slice(0, at)) first.take(e);
      const second = createModel();
      if (fromText) {
        first.model.committed(first.published);
        second.restore(checkpointOf(first.model), []);
      } else second.restore(null, first.published);
      second.step(SITE);
      const published = [...first.published];
      // After a start the rest follows a snapshot.
      const last = events.at(-1);
      for (const e of [...events.slice(at).filter((x) => x.type === 'engine.snapshot'), last]) {
        if (e !== undefined) published.push(...second.step(e));
      }
      assertCallsClosed(published);
      assertQueuesClosed(published);
      assertAgentsSane(published);
    }),
    { numRuns: RUNS },
  );
});

test('pbx invariants - when all is over nothing is left but tombstones, and these are bounded', () => {
  fc.assert(
    fc.property(flow, damage, (moves, how) => {
      const { model, take } = begin();
      for (const e of stream(moves, how)) take(e);
      const s = model.state;
      const left = {
        channels: s.channels.size,
        pairs: s.pairs.size,
        bridges: s.bridges.size,
        legsOf: s.legsOf.size,
        calls: s.calls.size,
        callViews: s.callViews.size,
        aliases: s.aliases.size,
        publishedLegs: s.publishedLegs.size,
        leaving: s.leaving.size,
        peers: s.peers.size,
        visits: s.visits.size,
        offers: s.offers.size,
        offersOf: s.offersOf.size,
        talks: s.talks.size,
      };
      for (const [what, size] of Object.entries(left)) assert.equal(size, 0, what);
    }),
    { numRuns: 100 },
  );
});

test('pbx invariants - tombstones expire by event time, also without further hangups', () => {
  const { model, take } = begin();
  for (let i = 0; i < 200_000; i++) {
    take({ at: T0 + i * 10, type: 'channel.hungup', id: `ast1:${i}` as never, cause: 16, cause_text: '' });
  }
  assert.ok(
    model.state.gone.size <= 30_000,
    `${model.state.gone.size} tombstones of 2,000 s at 100 a second`,
  );
  for (let i = 0; i < 300_000; i++) {
    take({ at: T0, type: 'channel.hungup', id: `ast1:x${i}` as never, cause: 16, cause_text: '' });
  }
  assert.ok(model.state.gone.size <= 100_000, `${model.state.gone.size} tombstones of one moment`);
});
