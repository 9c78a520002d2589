import { isDeepStrictEqual } from 'node:util';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { QueueSettings } from './view.ts';

/** Publishes created, changed and deleted queues after each change of the directory, until the returned function is called. */
export function followQueues(deps: {
  readonly directory: Pick<Directory, 'onChange'>;
  readonly settings: () => readonly QueueSettings[];
  readonly publish: (events: readonly DomainEvent[]) => void;
  readonly clock: Clock;
}): () => void {
  const { directory, settings, publish, clock } = deps;
  const now = (): Map<string, ReturnType<typeof shown>> =>
    new Map(settings().map((queue) => [queue.name, shown(queue)]));
  let known = now();
  return directory.onChange(() => {
    const before = known;
    known = now();
    const at = clock.now();
    const event = (queue: string) => ({ subject: `queues/${queue}`, at, observed: 'live' as const });
    const events: DomainEvent[] = [];
    for (const queue of before.keys())
      if (!known.has(queue)) events.push({ type: 'queue.removed', ...event(queue), data: { queue } });
    for (const [queue, data] of known)
      if (!isDeepStrictEqual(data, before.get(queue)))
        events.push({ type: 'queue.changed', ...event(queue), data });
    if (events.length > 0) publish(events);
  });
}
const shown = (settings: QueueSettings) => {
  const { name, number, title, strategy, ring_seconds, wrap_up_seconds, max_wait_seconds } = settings;
  return { queue: name, number, title, strategy, ring_seconds, wrap_up_seconds, max_wait_seconds };
};
