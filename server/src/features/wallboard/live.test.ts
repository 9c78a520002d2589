import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import type { QueueStats } from '@offhook/contract/wallboard.ts';
import { silent } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveView } from '../../ports/live.ts';
import { createPublisher } from './live.ts';

const QUEUES = Array.from({ length: 9 }, (_, i) => `q${i}`);
/** Milliseconds that the figures of one queue take. */
const TAKES_MS = 3;
interface Part {
  /** Number of the event loop's round. */
  readonly round: number;
  readonly at: readonly number[];
  readonly queues: readonly string[];
}

/** Publishes the figures of nine queues, and of those that `onPart` adds, until there are `most`. */
async function partsOf(most: number, onPart: (add: (queue: string) => void) => void): Promise<Part[]> {
  let now = 0;
  const clock: Clock = {
    now: () => now,
    async sleep(ms, signal) {
      if (ms < 1_000) await immediate();
      else await once(signal!, 'abort');
      signal?.throwIfAborted();
      now += ms;
    },
  };
  let round = 0;
  const count = (): void => {
    round += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const names = [...QUEUES];
  const parts: Part[] = [];
  const all = Promise.withResolvers<void>();
  const publisher = createPublisher({
    clock,
    live: { live: true } as LiveView,
    log: silent,
    queues: () => names,
    stats: (queue) => {
      now += TAKES_MS;
      return { queue, occupancy: null, sums: {} } as QueueStats;
    },
    publish: (events) => {
      const queues = events.map(({ subject }) => subject.slice('queues/'.length));
      parts.push({ round, at: events.map(({ at }) => at), queues });
      onPart((queue) => {
        names.push(queue);
        publisher.touch(queue);
      });
      if (parts.flatMap((part) => part.queues).length === most) all.resolve();
    },
    nextDay: () => 86_400_000,
  });
  publisher.touch();
  await all.promise;
  await publisher.close();
  clearImmediate(counting);
  return parts;
}

test('wallboard - figures of many queues leave the event loop free in between, each with its own time', async () => {
  const parts = await partsOf(QUEUES.length, () => undefined);
  assert.deepEqual(
    parts.map(({ at }) => at),
    [[40, 43], [46, 49], [52, 55], [58, 61], [64]],
  );
  assert.equal(new Set(parts.map((part) => part.round)).size, parts.length, 'two parts share a round');
});
test('wallboard - a queue that is new while figures are published is gathered and published next', async () => {
  let added = false;
  const parts = await partsOf(QUEUES.length + 1, (add) => {
    if (!added) add('new');
    added = true;
  });
  assert.deepEqual(
    parts.map(({ queues }) => queues),
    [['q0', 'q1'], ['q2', 'q3'], ['q4', 'q5'], ['q6', 'q7'], ['q8'], ['new']],
  );
});
