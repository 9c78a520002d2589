import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import type { QueueStats } from '@offhook/contract/wallboard.ts';
import { silent } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveView } from '../../ports/live.ts';
import { createPublisher } from './live.ts';

const QUEUES = Array.from({ length: 10 }, (_, i) => `q${i}`);
/** Milliseconds that the figures of one queue take. */
const TAKES_MS = 3;

test('wallboard - figures of many queues leave the event loop free in between, each with its own time', async () => {
  let now = 0;
  const clock: Clock = {
    now: () => now,
    async sleep(ms, signal) {
      if (ms < 1_000) await immediate();
      else await once(signal!, 'abort');
      signal?.throwIfAborted();
    },
  };
  let rounds = 0;
  const count = (): void => {
    rounds += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const told: { readonly round: number; readonly at: readonly number[] }[] = [];
  const all = Promise.withResolvers<void>();
  const publisher = createPublisher({
    clock,
    live: { live: true } as LiveView,
    log: silent,
    queues: () => QUEUES,
    stats: (queue) => {
      now += TAKES_MS;
      return { queue, occupancy: null, sums: {} } as QueueStats;
    },
    publish: (events) => {
      told.push({ round: rounds, at: events.map((event) => event.at) });
      if (told.flatMap(({ at }) => at).length === QUEUES.length) all.resolve();
    },
    nextDay: () => 86_400_000,
  });
  publisher.touch();
  await all.promise;
  await publisher.close();
  clearImmediate(counting);
  assert.deepEqual(
    told.map(({ at }) => at),
    [
      [0, 3],
      [6, 9],
      [12, 15],
      [18, 21],
      [24, 27],
    ],
  );
  assert.equal(
    new Set(told.map((one) => one.round)).size,
    told.length,
    'two parts share a round of the event loop',
  );
});
