import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
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

test('queues - created, changed and deleted queues are published, and nothing for other changes', () => {
  let queues = [queue('support'), queue('sales')];
  let changed = (): void => undefined;
  let stopped = false;
  const published: DomainEvent[] = [];
  const stop = followQueues({
    directory: {
      onChange(listener) {
        changed = listener;
        return () => (stopped = true);
      },
    },
    settings: () => queues,
    publish: (events) => published.push(...events),
    clock: createVirtualClock(),
  });
  changed();
  assert.deepEqual(published, []);
  queues = [queue('support', 'Help'), queue('billing')];
  changed();
  const { name: _support, ...help } = queue('support', 'Help');
  const { name: _billing, ...billing } = queue('billing');
  assert.deepEqual(
    published.map(({ type, subject, data }) => [type, subject, data]),
    [
      ['queue.removed', 'queues/sales', { queue: 'sales' }],
      ['queue.changed', 'queues/support', { queue: 'support', ...help }],
      ['queue.changed', 'queues/billing', { queue: 'billing', ...billing }],
    ],
  );
  stop();
  assert.ok(stopped);
});
