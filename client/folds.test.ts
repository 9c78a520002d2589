import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Call } from '@offhook/contract/calls.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { SNAPSHOTS } from '@offhook/contract/snapshots.ts';
import { rfc3339 } from '../server/src/core/clock.ts';
import { wireCall, wireParked } from '../server/src/pbx/wire-call.ts';
import { contactOf } from '../server/src/features/contacts/contact.ts';
import { queueView } from '../server/src/features/queues/view.ts';
import { createModel } from '../server/src/pbx/model.ts';
import { MOVES, SimEngine } from '../server/test/support/simulated-engine.ts';
import { T0, node } from '../server/test/support/model-scene.ts';
import type { Person } from '../server/src/ports/directory.ts';
import type { SiteEvent } from '../server/src/ports/live.ts';
import type { StreamEvent } from './events.ts';
import { FOLDS } from './folds.ts';
import type { CallState, Fold, QueueState } from './folds.ts';

const PHONES = ['1001', '1002', '1003', '1004', '1005', '1006'];
const queue = { ring_seconds: 15, max_wait_seconds: 0, number: '', title: '', strategy: 'ringall' as const };
const QUEUES = [
  { ...queue, name: 'support', agents: ['1002', '1003'], wrap_up_seconds: 0 },
  { ...queue, name: 'sales', agents: ['1003', '1004'], wrap_up_seconds: 20 },
];
const SITE: SiteEvent = {
  type: 'site.changed',
  at: T0,
  extensions: PHONES.map((extension) => ({
    extension,
    name: `Person ${extension}`,
    endpoints: [{ kind: 'sip', name: extension }],
  })),
  queues: QUEUES,
  trunks: [],
  pause_reasons: [],
  services: [],
};
let seq = 0;
/** As it comes off the wire: a copy, so that nothing is shared with the model. */
const onWire = ({ at, ...event }: DomainEvent): StreamEvent =>
  structuredClone({ ...event, time: rfc3339(at), seq: (seq += 1) }) as unknown as StreamEvent;

/** Snapshot of each topic at this moment. */
function snapshots(view: ReturnType<typeof createModel>['view']) {
  return structuredClone({
    presence: {
      stale: false,
      extensions: PHONES.map((extension) => {
        const { presence } = contactOf({ extension } as Person, view.extension(extension), T0);
        return { extension, ...presence };
      }),
    },
    agents: {
      as_of: rfc3339(T0),
      stale: false,
      agents: view.agents().map(({ summary }) => ({ ...summary, stale: false, queues: [] })),
    },
    queues: {
      as_of: rfc3339(T0),
      stale: false,
      queues: QUEUES.map((settings) => ({ ...queueView(settings, view.queue(settings.name)), stats: null })),
    },
    calls: { as_of: rfc3339(T0), stale: false, calls: view.calls().map(wireCall) },
    parking: { as_of: rfc3339(T0), stale: false, parked: view.parked().map(wireParked) },
  });
}
/** In order of key, without what only the next event tells: whose number and name a leg shows. */
const shown = (records: Map<string, object>): unknown =>
  [...records]
    .map(([key, value]) => {
      if (!('dialled' in value)) return [key, value] as const;
      const { dialled, started_at, answered_at, customer, legs } = value as CallState;
      const shownLegs = legs.map(({ leg_id, extension, state, held, slot }) => ({
        leg_id,
        extension,
        state,
        held,
        slot,
      }));
      return [
        key,
        {
          dialled,
          started_at,
          answered_at,
          customer,
          legs: shownLegs.toSorted((a, b) => (a.leg_id < b.leg_id ? -1 : 1)),
        },
      ] as const;
    })
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
/** Of one call its customer becomes known, or unknown. */
function findCustomer(model: ReturnType<typeof createModel>, a: number, b: number): readonly DomainEvent[] {
  const calls = model.view.calls();
  if (a % 3 > 0 || calls.length === 0) return [];
  const id = a + 1;
  const known = { kind: 'person', name: `Customer ${id}`, company: null, owner: null } as const;
  const marks = { vip: false, blocked: false, source: 'manual', matches: 1 };
  const customer = b % 5 === 0 ? null : { id, ...known, ...marks };
  const { id: call } = calls[b % calls.length]!;
  return model.step({ type: 'call.customer', at: model.view.as_of, call, customer });
}
const topics = Object.keys(FOLDS) as (keyof typeof FOLDS)[];

test('folds - a snapshot and the events after it are the state itself, whatever happens and wherever they begin', () => {
  const move = fc.record({ do: fc.constantFrom(...MOVES), a: fc.nat(50), b: fc.nat(50) });
  const flow = fc.array(move, { minLength: 5, maxLength: 80, size: 'max' });
  fc.assert(
    fc.property(flow, fc.nat(40), fc.array(fc.nat(80), { maxLength: 3 }), (moves, begin, resyncs) => {
      const model = createModel();
      const sim = new SimEngine();
      model.step(SITE);
      model.step({ at: T0, type: 'engine.link', node, up: true, reason: '', boot_id: 'b' });
      model.step(sim.snapshotEvent());
      let states: Record<string, Map<string, object>> | null = null;
      const hear = (events: readonly DomainEvent[]): void => {
        for (const event of events.map(onWire)) {
          for (const topic of topics) {
            const records = states?.[topic];
            const before = JSON.stringify([...(records ?? [])]);
            const changes = records === undefined ? [] : (FOLDS[topic] as Fold<object>).after(records, event);
            assert.equal(JSON.stringify([...(records ?? [])]), before, 'nothing that is given is changed');
            for (const { key, value } of changes) {
              if (value === undefined) records?.delete(key);
              else records?.set(key, value);
            }
          }
        }
      };
      for (const [i, m] of moves.entries()) {
        sim.play(m);
        for (const event of sim.log.splice(0)) hear(model.step(event));
        hear(findCustomer(model, m.a, m.b));
        if (resyncs.includes(i)) hear(model.step(sim.snapshotEvent()));
        const now = snapshots(model.view);
        if (i === 0) for (const topic of topics) SNAPSHOTS[topic].parse(now[topic]);
        const fresh = Object.fromEntries(topics.map((topic) => [topic, FOLDS[topic].read(now[topic])]));
        if (i === begin) states = fresh as Record<string, Map<string, object>>;
        if (states === null) continue;
        for (const topic of topics) {
          assert.deepEqual(shown(states[topic]!), shown(fresh[topic] as Map<string, object>), topic);
        }
      }
    }),
    { numRuns: 60, endOnFailure: true },
  );
});
test('folds - calls/mine: each call with the own leg, also one into which another was merged', () => {
  const move = fc.record({ do: fc.constantFrom(...MOVES), a: fc.nat(50), b: fc.nat(50) });
  fc.assert(
    fc.property(fc.array(move, { minLength: 5, maxLength: 80, size: 'max' }), (moves) => {
      const model = createModel();
      const sim = new SimEngine();
      model.step(SITE);
      model.step({ at: T0, type: 'engine.link', node, up: true, reason: '', boot_id: 'b' });
      model.step(sim.snapshotEvent());
      const mine = new Map(PHONES.map((phone) => [phone, new Map<string, CallState>()]));
      for (const m of moves) {
        sim.play(m);
        const events = sim.log.splice(0).flatMap((event) => model.step(event));
        for (const event of [...events, ...findCustomer(model, m.a, m.b)].map(onWire)) {
          for (const [phone, records] of mine) {
            const heard = (event.data as { extensions?: readonly string[] }).extensions?.includes(phone);
            if (!event.type.startsWith('call.') || heard !== true) continue;
            for (const { key, value } of FOLDS.calls.after(records, event)) {
              if (value === undefined) records.delete(key);
              else records.set(key, value);
            }
          }
        }
        const own = (
          calls: Iterable<Pick<CallState, 'call_id' | 'customer' | 'legs'>>,
          phone: string,
        ): string[] =>
          [...calls]
            .flatMap(({ call_id, customer, legs }) =>
              legs
                .filter((leg) => leg.extension === phone)
                .map((leg) => `${call_id} ${leg.leg_id} ${customer?.name}`),
            )
            .toSorted();
        const live = FOLDS.calls.read(structuredClone({ calls: model.view.calls().map(wireCall) }));
        for (const [phone, records] of mine) {
          assert.deepEqual(own(records.values(), phone), own(live.values(), phone), phone);
        }
      }
    }),
    { numRuns: 60, endOnFailure: true },
  );
});

const at = '2026-03-02T09:15:04.250Z';
const tell = (type: string, data: object): StreamEvent =>
  ({ type, time: at, seq: 1, data }) as unknown as StreamEvent;
const start: QueueState = {
  ...queue,
  name: 'support',
  wrap_up_seconds: 5,
  stats: null,
  callers: ['a', 'b', 'c'].map((id, i) => ({
    id,
    call_id: `call-${id}`,
    position: i + 1,
    priority: 0,
    joined_at: at,
    caller: { number: id, name: '' },
  })),
  offers: [
    {
      offer_id: 'o1',
      extension: '1003',
      member: 'Zoë',
      call_id: 'call-a',
      caller_id: 'a',
      created_at: at,
      deadline: at,
    },
  ],
};
const after = (event: StreamEvent, records = new Map([['support', start]])): QueueState | undefined =>
  FOLDS.queues.after(records, event)[0]?.value;

test('folds - a caller with a new position or priority moves, and the others close up', () => {
  const ref = { queue: 'support', call_id: 'call-c', leg_id: 'c', caller: { number: 'c', name: '' } };
  const moved = after(tell('queue.caller_changed', { ...ref, position: 1, priority: 9 }));
  assert.deepEqual(
    moved?.callers.map(({ id, position, priority }) => [id, position, priority]),
    [
      ['c', 1, 9],
      ['a', 2, 0],
      ['b', 3, 0],
    ],
  );
  const party = { number: 'd', name: 'Dora' };
  const passedOn = { ...ref, call_id: 'call-d', caller: party, position: 3, priority: 0 };
  const [, , last] = after(tell('queue.caller_changed', passedOn))?.callers ?? [];
  assert.deepEqual([last?.id, last?.call_id, last?.caller], ['c', 'call-d', party]);
  const gone = after(tell('queue.caller_abandoned', { ...ref, leg_id: 'a', waited_seconds: 1, position: 1 }));
  assert.deepEqual(
    gone?.callers.map(({ id, position }) => [id, position]),
    [
      ['b', 1],
      ['c', 2],
    ],
  );
  assert.equal(
    after(tell('queue.caller_changed', { ...ref, leg_id: 'x', position: 1, priority: 9 })),
    undefined,
  );
});
test('folds - an offer rings until its deadline and ends in one of four ways', () => {
  const offer = { queue: 'support', extension: '1004', member: 'Ida', call_id: 'call-b' };
  const created = after(tell('offer.created', { ...offer, offer_id: 'o2' }));
  assert.deepEqual(
    created?.offers.map((o) => o.offer_id),
    ['o1', 'o2'],
  );
  assert.deepEqual(
    [created?.offers[1]?.caller_id, created?.offers[1]?.deadline],
    ['b', '2026-03-02T09:15:19.250Z'],
  );
  for (const type of ['offer.accepted', 'offer.timeout', 'offer.rejected', 'offer.canceled']) {
    assert.deepEqual(after(tell(type, { ...offer, offer_id: 'o1' }))?.offers, [], type);
  }
});
test('folds - the figures of a queue are those of its newest queue.stats, also of an unknown queue', () => {
  const stats = { queue: 'support', waiting: 3 };
  assert.equal(after(tell('queue.stats', stats))?.stats?.waiting, 3);
  const fresh = after(tell('queue.stats', { ...stats, queue: 'new' }), new Map());
  assert.deepEqual([fresh?.name, fresh?.stats?.waiting, fresh?.callers], ['new', 3, []]);
});
test('folds - a deleted queue leaves, and events of its last callers do not bring it back', () => {
  const { queues } = FOLDS;
  const removed = tell('queue.removed', { queue: 'support' });
  assert.deepEqual(queues.after(new Map([['support', start]]), removed), [
    { key: 'support', value: undefined },
  ]);
  const ref = { queue: 'support', call_id: 'call-a', leg_id: 'a', caller: { number: 'a', name: '' } };
  for (const type of ['queue.caller_left', 'queue.caller_abandoned', 'queue.caller_changed']) {
    assert.deepEqual(queues.after(new Map(), tell(type, { ...ref, waited_seconds: 1 })), [], type);
  }
  for (const type of ['created', 'accepted', 'timeout', 'rejected', 'canceled'])
    assert.deepEqual(queues.after(new Map(), tell(`offer.${type}`, { queue: 'support' })), [], type);
});
test('folds - a created queue appears with its settings, and changed settings keep its callers', () => {
  const settings = { number: '500', title: 'Support', strategy: 'ringall' };
  const seconds = { ring_seconds: 20, wrap_up_seconds: 5, max_wait_seconds: 0 };
  const changed = tell('queue.changed', { queue: 'support', ...settings, ...seconds });
  const state = { name: 'support', ...settings, ...seconds };
  assert.deepEqual(after(changed, new Map()), { ...state, callers: [], offers: [], stats: null });
  assert.deepEqual(after(changed), { ...start, ...state });
});
test('folds - a removed extension and agent leave', () => {
  const gone = [{ key: '1005', value: undefined }];
  assert.deepEqual(FOLDS.presence.after(new Map(), tell('presence.removed', { extension: '1005' })), gone);
  const agent = { extension: '1005', session: 'logged_out' };
  const removed = tell('agent.removed', { extension: '1005', queue: null, agent });
  assert.deepEqual(FOLDS.agents.after(new Map(), removed), gone);
});
test('folds - a call that another was joined into is as old as the older one', () => {
  const call = {
    direction: 'in' as const,
    dialled: '500',
    extensions: [],
    caller: { number: '', name: '' },
    legs: [],
  };
  const records = new Map<string, CallState>([
    ['a', { ...call, call_id: 'a', started_at: '2026-03-02T09:00:02.000Z', answered_at: null }],
    ['b', { ...call, call_id: 'b', started_at: '2026-03-02T09:00:01.000Z', answered_at: at }],
  ]);
  const ended = { call_id: 'b', direction: 'in', extensions: [], cause: null, cause_text: '' };
  const changes = FOLDS.calls.after(
    records,
    tell('call.ended', { ...ended, reason: 'merged', merged_into: 'a' }),
  );
  assert.deepEqual(changes, [
    { key: 'b', value: undefined },
    { key: 'a', value: { ...records.get('a'), started_at: '2026-03-02T09:00:01.000Z', answered_at: at } },
  ]);
});

test('folds - the legs of a placed call, from the first that rings to the last one left', () => {
  const ref = { call_id: 'a', direction: 'internal', extensions: ['1001', '1002'] };
  const leg = (leg_id: string) => ({
    leg: { leg_id, extension: `100${leg_id}`, endpoint: null, number: '', name: '' },
  });
  const records = new Map<string, CallState>();
  const states = (type: string, data: object): string[] => {
    for (const { key, value } of FOLDS.calls.after(records, tell(type, { ...ref, ...data }))) {
      if (value !== undefined) records.set(key, value);
    }
    return records.get('a')!.legs.map(({ leg_id, state }) => `${leg_id} ${state}`);
  };
  assert.deepEqual(states('call.started', { ...leg('1'), dialled: '300' }), ['1 calling']);
  assert.deepEqual(states('call.ringing', leg('1')), ['1 ringing']);
  assert.deepEqual(states('call.ringing', leg('2')), ['1 ringing', '2 ringing']);
  assert.deepEqual(states('call.ringing', leg('3')), ['1 ringing', '2 ringing', '3 ringing']);
  assert.deepEqual(states('call.answered', leg('3')), ['1 connected', '2 ringing', '3 connected']);
  assert.deepEqual(states('call.left', { ...leg('2'), cause: 26, reason: 'answered_elsewhere' }), [
    '1 connected',
    '3 connected',
  ]);
  assert.deepEqual(states('call.held', leg('3')), ['1 connected', '3 held']);
  assert.deepEqual(states('call.retrieved', leg('3')), ['1 connected', '3 connected']);
  assert.deepEqual(states('call.parked', { ...leg('1'), slot: '701' }), ['1 parked', '3 connected']);
  assert.deepEqual(states('call.left', { ...leg('3'), cause: 16, reason: 'hangup' }), ['1 parked']);
  assert.deepEqual(states('call.joined', leg('4')), ['1 connected', '4 connected']);
});

test('folds - calls/mine: a call appears when it rings, without its start', () => {
  const ref = { call_id: 'a', direction: 'internal', extensions: ['1001', '1002', '1003'] };
  const caller = { number: '1001', name: 'Ada' };
  const leg = (leg_id: string) => ({
    leg: { leg_id, extension: `100${leg_id}`, endpoint: null, number: `100${leg_id}`, name: '' },
  });
  const records = new Map<string, CallState>();
  const states = (type: string, data: object): string[] | undefined => {
    for (const { key, value } of FOLDS.calls.after(records, tell(type, { ...ref, ...data }))) {
      if (value !== undefined) records.set(key, value);
    }
    return records.get('a')?.legs.map((one) => `${one.leg_id} ${one.extension} ${one.state}`);
  };
  assert.equal(states('call.left', { ...leg('2'), cause: 16, reason: 'hangup' }), undefined);
  assert.deepEqual(states('call.ringing', { ...leg('2'), caller }), [' 1001 calling', '2 1002 ringing']);
  assert.deepEqual(records.get('a')?.caller, caller);
  assert.deepEqual(states('call.ringing', { ...leg('3'), caller }), [
    ' 1001 calling',
    '2 1002 ringing',
    '3 1003 ringing',
  ]);
  assert.deepEqual(states('call.answered', { ...leg('3'), caller }), [
    ' 1001 connected',
    '2 1002 ringing',
    '3 1003 connected',
  ]);
  assert.equal(records.get('a')?.answered_at, at);
  assert.deepEqual(states('call.held', leg('1')), ['1 1001 held', '2 1002 ringing', '3 1003 connected']);
});

test('folds - a leg of a snapshot that is only being dialled appears once it rings', () => {
  const leg = (leg_id: string, state: Call['state']) => ({
    leg_id,
    extension: `100${leg_id}`,
    endpoint: null,
    number: `100${leg_id}`,
    name: '',
    state,
    since: at,
    answered_at: null,
    held: false,
    queue: null,
    slot: null,
    recording: false,
    recording_paused: false,
  });
  const legs = (first: Call['state'], second: Call['state']): string[] => {
    const calls = [
      {
        call_id: 'a',
        state: first,
        direction: 'internal',
        dialled: '510',
        started_at: at,
        answered_at: null,
        extensions: ['1001', '1002'],
        parties: [],
        legs: [leg('1', first), leg('2', second)],
      },
    ];
    return FOLDS.calls
      .read({ calls })
      .get('a')!
      .legs.map((one) => `${one.leg_id} ${one.state}`);
  };
  assert.deepEqual(legs('queued', 'initiated'), ['1 calling']);
  assert.deepEqual(legs('queued', 'alerting'), ['1 calling', '2 ringing']);
  assert.deepEqual(
    legs('initiated', 'initiated'),
    ['1 calling'],
    'the own device of a placed call comes first',
  );
});

test('folds - the same slot of two engines holds one call of each', () => {
  const on = (node: string) => ({
    slot: '701',
    lot: 'default',
    node,
    call_id: `${node}:1`,
    leg_id: `${node}:1`,
    party: { number: '', name: '' },
    since: rfc3339(T0),
    parked_by: null,
  });
  const { parking } = FOLDS;
  const records = new Map(
    parking.read({ parked: [on('a')] } as unknown as Parameters<typeof parking.read>[0]),
  );
  const take = (type: string, data: object): string[] => {
    const event = { type, data } as unknown as StreamEvent;
    for (const { key, value } of parking.after(records, event))
      if (value === undefined) records.delete(key);
      else records.set(key, value);
    return [...records].map(([key, { node }]) => `${key} at ${node}`);
  };
  for (const again of [1, 2])
    assert.deepEqual(take('parking.slot_occupied', on('b')), ['701 at a', 'b:701 at b'], String(again));
  assert.deepEqual(take('parking.slot_freed', { ...on('a'), reason: 'picked_up' }), ['b:701 at b']);
  assert.deepEqual(take('parking.slot_freed', { ...on('b'), reason: 'picked_up' }), []);
});
