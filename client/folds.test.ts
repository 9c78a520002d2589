import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { SNAPSHOTS } from '@offhook/contract/snapshots.ts';
import { rfc3339 } from '../server/src/core/clock.ts';
import { callView } from '../server/src/features/calls/live.ts';
import { contactOf } from '../server/src/features/contacts/contact.ts';
import { queueView } from '../server/src/features/queues/view.ts';
import { createModel } from '../server/src/pbx/model.ts';
import { MOVES, SimEngine } from '../server/src/pbx/test-engine.ts';
import { T0, node } from '../server/src/pbx/test-events.ts';
import type { Person } from '../server/src/ports/directory.ts';
import type { SiteEvent } from '../server/src/ports/live.ts';
import type { StreamEvent } from './events.ts';
import { FOLDS } from './folds.ts';
import type { CallState, Fold } from './folds.ts';

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
  pause_reasons: [],
  services: [],
};
let seq = 0;
/** As it comes off the wire: a copy, so that nothing is shared with the model. */
const onWire = ({ at, ...event }: DomainEvent): StreamEvent =>
  structuredClone({ ...event, time: rfc3339(at), seq: (seq += 1) }) as unknown as StreamEvent;

/** What each topic's snapshot would be now. */
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
    calls: { as_of: rfc3339(T0), stale: false, calls: view.calls().map(callView) },
  });
}
/**
 * In order of key, without what only the next event tells: who is in a call, and that somebody who is in no queue is no
 * agent any more.
 */
const shown = (records: Map<string, object>): unknown =>
  [...records]
    .filter(([, value]) => !('session' in value) || value.session === 'logged_in')
    .map(([key, value]) => {
      const { dialled, started_at, answered_at } = value as CallState;
      return [key, 'dialled' in value ? { dialled, started_at, answered_at } : value] as const;
    })
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
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
