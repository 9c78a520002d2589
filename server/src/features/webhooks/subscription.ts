import { cutEnvelope, cutOf } from '../../rights/display.ts';
import type { KeyRights, Principal } from '../../rights/rights.ts';
import { EVERYONE } from '../../rights/topics.ts';
import type { Directory } from '../../ports/directory.ts';
import { NO_BOUNDS, boundsOf, hear } from '../../rights/hearing.ts';
import type { Bounds, Heard } from '../../rights/hearing.ts';

/** Current owner of a webhook; the same object while unchanged. */
export interface Owner {
  readonly principal: Principal;
  /** Queues of the person. */
  readonly queues: readonly string[];
}
/** The person with this id, or the API key for a negative one; null if it is gone. */
export type FindOwner = (id: number) => Owner | null;

/** Owners from the directory and the API keys; an inactive person counts as gone. */
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

/** True for an owner who may receive none of the topics. */
export const isDeaf = (owner: Owner, topics: readonly string[]): boolean =>
  hearingsOf(owner, topics).every((one) => one.names.length === 0);
const hearingsOf = ({ principal, queues }: Owner, topics: readonly string[]): readonly Heard[] =>
  topics.flatMap((topic) => hear(principal, topic, queues) ?? []);

/** Events that a webhook receives. */
export interface Hearing {
  /** Names in a row's `topics`; empty if it may receive none. */
  readonly names: ReadonlySet<string>;
  /** As `Reader.bounds`. */
  readonly bounds: Bounds;
  /** The JSON of an envelope as its owner may see it. */
  readonly shown: (json: string) => string;
}
/** Events for this owner's webhook, computed again when the owner or the topics change; null if the owner is gone. */
export function createSubscription(find: FindOwner) {
  let owner: Owner | null = null;
  let topics: readonly string[] = [];
  let heard: Hearing = { names: new Set(), bounds: NO_BOUNDS, shown: (json) => json };
  return (of: { readonly owner: number; readonly topics: readonly string[] }): Hearing | null => {
    const now = find(of.owner);
    if (now === null) return null;
    if (now !== owner || topics !== of.topics) {
      owner = now;
      ({ topics } = of);
      const each = hearingsOf(now, topics);
      const names = each.flatMap((one) => one.names);
      const cut = cutOf(now.principal);
      // A webhook without any topic does not receive the engine's events either.
      heard = {
        names: new Set(names.length === 0 ? [] : [...names, EVERYONE]),
        bounds: boundsOf(each),
        shown: (json) => (cut === null ? json : cutEnvelope(cut, json)),
      };
    }
    return heard;
  };
}
