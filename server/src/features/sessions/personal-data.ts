import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { SessionStore } from './store.ts';

/**
 * Sessions of the persons with an extension. An erasure deletes those of all its holders, which signs the present one out; an
 * export has those of the newest holder alone. No number occurs in one.
 */
export function personalDataOf(deps: {
  readonly store: Pick<SessionStore, 'countOf' | 'allOf' | 'erase'>;
  /** Ids of the persons who ever had the extension, the newest first. */
  readonly holdersOf: (extension: string) => Promise<readonly number[]>;
  /** Time of a session's last use, if memory is newer than the store. */
  readonly lastUsed: (sessionId: number) => number | undefined;
  /** Called with the sessions that an erasure ended. */
  readonly ended: (ids: readonly number[]) => void;
}): PersonalData {
  const { store } = deps;
  const about = async ({ kind, value }: Subject): Promise<readonly number[]> =>
    kind === 'extension' ? await deps.holdersOf(value) : [];
  const places = (n: number) => (n === 0 ? {} : { sessions: n });
  return {
    name: 'sessions',
    count: async (subject) => places(await store.countOf(await about(subject))),
    async erase(subject, _placeholder, signal) {
      const people = await about(subject);
      signal.throwIfAborted();
      const { erased, live } = await store.erase(people);
      deps.ended(live);
      return places(erased);
    },
    async *collect(subject) {
      for (const row of await store.allOf((await about(subject)).slice(0, 1))) {
        const { device_name, platform, address, created_at, last_used_at, ends_at, ended_at, ended_by } = row;
        const { company_sub, company_sid } = row;
        yield {
          kind: 'session',
          value: {
            device_name,
            platform,
            address,
            signed_in_at: rfc3339(created_at),
            last_used_at: rfc3339(Math.max(last_used_at, deps.lastUsed(row.id) ?? 0)),
            ends_at: rfc3339(ends_at),
            ended_at: rfc3339OrNull(ended_at),
            ended_by,
            company_sub,
            company_sid,
          },
        };
      }
    },
  };
}
