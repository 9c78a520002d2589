import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { LiveView } from '../../ports/live.ts';
import type { TopicSource } from '../../ports/stream.ts';
import { contactOf } from './contact.ts';

/** The topic `presence`: every active extension with the fields of `presence.changed`. O(requested ones). */
export function presenceSource(deps: { directory: Directory; live: LiveView; clock: Clock }): TopicSource {
  const { directory, live, clock } = deps;
  const startedAt = clock.now();
  return {
    snapshot: (objects) => ({
      stale: !live.live,
      extensions: (objects === null
        ? directory.people()
        : objects.flatMap((extension) => directory.byExtension(extension) ?? [])
      )
        .filter(({ active, extension }) => active && extension !== '')
        .map((person) => {
          const { presence } = contactOf(person, live.extension(person.extension), startedAt);
          return { extension: person.extension, ...presence };
        }),
    }),
  };
}
