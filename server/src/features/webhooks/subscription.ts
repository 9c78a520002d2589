import type { KeyRights, Principal } from '../../rights/rights.ts';
import { EVERYONE } from '../../rights/topics.ts';
import type { Directory } from '../../ports/directory.ts';
import { NO_BOUNDS, boundsOf, hear } from '../../rights/hearing.ts';
import type { Bounds, Heard } from '../../rights/hearing.ts';

/** Who a webhook belongs to, as it is now; the same object while nothing changed. */
export interface Owner {
  readonly principal: Principal;
  /** The queues the person works in. */
  readonly queues: readonly string[];
}
/** The person with this id, or the API key with its negative; null where it is gone. */
export type FindOwner = (id: number) => Owner | null;

/** Owners as the directory and the API keys have them; an inactive person is gone. */
export function createOwners(directory: Directory, rights: (keyId: number) => KeyRights | null): FindOwner {
  let version = -1;
  let people = new Map<number, Owner>();
  const keys = new Map<number, Owner>();
  return (id) => {
    if (id < 0) {
      const key = rights(-id);
      const known = keys.get(id);
      if (key === null || known?.principal.key === key) return key === null ? null : known!;
      const owner: Owner = { principal: { extension: '', level: 'supervisor', key }, queues: [] };
      keys.set(id, owner);
      return owner;
    }
    if (version !== directory.version) {
      ({ version } = directory);
      people = new Map(
        directory
          .people()
          .filter((person) => person.active)
          .map(({ id: person, extension, level }) => [
            person,
            {
              principal: {
                extension,
                level,
                key: null,
                since_ms: directory.heldSince?.(extension) ?? 0,
                known_ms: directory.knownSince?.(person) ?? 0,
              },
              queues: directory.queuesOf(extension).map((queue) => queue.name),
            },
          ]),
      );
    }
    return people.get(id) ?? null;
  };
}

/** True for an owner who may hear none of the topics. */
export const isDeaf = (owner: Owner, topics: readonly string[]): boolean =>
  hearingsOf(owner, topics).every((one) => one.names.length === 0);
const hearingsOf = ({ principal, queues }: Owner, topics: readonly string[]): readonly Heard[] =>
  topics.flatMap((topic) => hear(principal, topic, queues) ?? []);

/** What a webhook hears. */
export interface Hearing {
  /** The names in a row's `topics`; empty where it may hear none of its own. */
  readonly names: ReadonlySet<string>;
  /** As `Reader.bounds`. */
  readonly bounds: Bounds;
}
/** What this owner's webhook hears, computed anew when the owner or the topics change; null where the owner is gone. */
export function createSubscription(find: FindOwner) {
  let owner: Owner | null = null;
  let topics: readonly string[] = [];
  let heard: Hearing = { names: new Set(), bounds: NO_BOUNDS };
  return (of: { readonly owner: number; readonly topics: readonly string[] }): Hearing | null => {
    const now = find(of.owner);
    if (now === null) return null;
    if (now !== owner || topics !== of.topics) {
      owner = now;
      ({ topics } = of);
      const each = hearingsOf(now, topics);
      const names = each.flatMap((one) => one.names);
      // A webhook that may hear nothing is not told of the engine either.
      heard = {
        names: new Set(names.length === 0 ? [] : [...names, EVERYONE]),
        bounds: boundsOf(each),
      };
    }
    return heard;
  };
}
