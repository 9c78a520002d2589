import { isDeepStrictEqual } from 'node:util';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { QueueSettings } from './view.ts';

type Published = ReadonlyMap<string, EventData<'queue.changed'>>;

/**
 * Publishes created, changed and deleted queues, first those since the newest event in the journal, then after each change
 * of the directory until the returned function is called. `published`: settings of each queue in its newest event; null at
 * the first start after an update from a version that stored none: the service then adopts the present ones.
 */
export function followQueues(deps: {
  readonly directory: Pick<Directory, 'onChange'>;
  readonly settings: () => readonly QueueSettings[];
  readonly published: Published | null;
  readonly adopt: (queues: Published) => void;
  readonly publish: (events: readonly DomainEvent[]) => void;
  readonly clock: Clock;
}): () => void {
  const { directory, settings, publish, clock } = deps;
  const present = (): Published => new Map(settings().map((queue) => [queue.name, shown(queue)]));
  let known: Published = new Map(deps.published ?? present());
  if (deps.published === null) deps.adopt(known);
  const follow = (observed: 'live' | 'resync'): void => {
    const before = known;
    known = present();
    const at = clock.now();
    const event = (queue: string) => ({ subject: `queues/${queue}`, at, observed });
    const events: DomainEvent[] = [];
    for (const queue of before.keys())
      if (!known.has(queue)) events.push({ type: 'queue.removed', ...event(queue), data: { queue } });
    for (const [queue, data] of known)
      if (!isDeepStrictEqual(data, before.get(queue)))
        events.push({ type: 'queue.changed', ...event(queue), data });
    if (events.length > 0) publish(events);
  };
  follow('resync');
  return directory.onChange(() => follow('live'));
}
const shown = (settings: QueueSettings) => {
  const { name, number, title, strategy, ring_seconds, wrap_up_seconds, max_wait_seconds } = settings;
  return { queue: name, number, title, strategy, ring_seconds, wrap_up_seconds, max_wait_seconds };
};
