import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { checkpointOf } from '../../../test/support/model-scene.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { createModel } from '../../pbx/model.ts';
import { followQueues } from './changes.ts';
import type { QueueSettings } from './view.ts';

const queue = (name: string, title = name): QueueSettings => ({
  name,
  number: '500',
  title,
  strategy: 'ringall',
  ring_seconds: 20,
  wrap_up_seconds: 0,
  max_wait_seconds: 0,
});
const dataOf = (settings: QueueSettings): EventData<'queue.changed'> => {
  const { name, ...rest } = settings;
  return { queue: name, ...rest };
};

/** A site whose queues are `begin` at the start of the service. */
function rig(
  begin: readonly QueueSettings[],
  published: ReadonlyMap<string, EventData<'queue.changed'>> | null,
  adopt: (queues: ReadonlyMap<string, EventData<'queue.changed'>>) => void = () => assert.fail('adopted'),
) {
  let queues = begin;
  let changed = (): void => undefined;
  let stopped = false;
  const events: DomainEvent[] = [];
  const stop = followQueues({
    directory: {
      onChange(listener) {
        changed = listener;
        return () => (stopped = true);
      },
    },
    settings: () => queues,
    published,
    adopt,
    publish: (some) => events.push(...some),
    clock: createVirtualClock(),
  });
  return {
    events,
    seen: () => events.splice(0).map(({ type, subject, observed, data }) => [type, subject, observed, data]),
    change(next: readonly QueueSettings[]) {
      queues = next;
      changed();
    },
    stop() {
      stop();
      return stopped;
    },
  };
}

test('queues - created, changed and deleted queues are published, and nothing for other changes', () => {
  const begin = [queue('support'), queue('sales')];
  const site = rig(begin, new Map(begin.map((one) => [one.name, dataOf(one)])));
  site.change(begin);
  assert.deepEqual(site.seen(), []);
  site.change([queue('support', 'Help'), queue('billing')]);
  assert.deepEqual(site.seen(), [
    ['queue.removed', 'queues/sales', 'live', { queue: 'sales' }],
    ['queue.changed', 'queues/support', 'live', dataOf(queue('support', 'Help'))],
    ['queue.changed', 'queues/billing', 'live', dataOf(queue('billing'))],
  ]);
  assert.ok(site.stop());
});

test('queues - a change while the service was stopped is published at its start, once', () => {
  const model = createModel();
  const before = rig([queue('support'), queue('sales')], model.publishedQueues);
  before.change([queue('support'), queue('billing')]);
  model.committed(before.events);
  const start = (queues: readonly QueueSettings[], events: readonly DomainEvent[]) => {
    const next = createModel();
    next.restore(checkpointOf(model), events);
    return rig(queues, next.publishedQueues);
  };
  const queues = [queue('support', 'Help')];
  const { events } = start(queues, []);
  assert.deepEqual(
    events.map(({ type, subject, observed, data }) => [type, subject, observed, data]),
    [
      ['queue.removed', 'queues/billing', 'resync', { queue: 'billing' }],
      ['queue.changed', 'queues/support', 'resync', dataOf(queue('support', 'Help'))],
    ],
  );
  assert.deepEqual(start(queues, events).events, []);
});

test('queues - the first start with the checkpoint of an earlier version publishes nothing, the second one what changed since', () => {
  const { queues: _, ...earlier } = JSON.parse(checkpointOf(createModel())) as Record<string, unknown>;
  const first = createModel();
  first.restore(JSON.stringify(earlier), []);
  const site = rig([queue('support'), queue('sales')], first.publishedQueues, first.adoptQueues);
  assert.deepEqual(site.events, []);
  const second = createModel();
  second.restore(checkpointOf(first), []);
  const after = rig([queue('support', 'Help')], second.publishedQueues);
  assert.deepEqual(
    after.seen().map(([type, subject]) => [type, subject]),
    [
      ['queue.removed', 'queues/sales'],
      ['queue.changed', 'queues/support'],
    ],
  );
});
