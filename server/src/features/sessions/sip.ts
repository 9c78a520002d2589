import { createHmac } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Directory, Person } from '../../ports/directory.ts';
import type { SipCredentials, SipGrant } from '../../ports/sip.ts';
import type { SessionRow } from './store.ts';

type Known = Pick<SessionRow, 'id' | 'created_at'>;
type Opened = Known & Pick<SessionRow, 'person_id' | 'last_used_at' | 'ends_at'>;
interface Entry extends Known {
  readonly password: string;
  readonly ends_at: number;
  last_used_at: number;
}
export interface SessionSip extends Omit<SipCredentials, 'onSessionEnded'> {
  /** SIP password of a session; a refresh of the token does not change it. */
  passwordOf(session: Known): string;
  opened(session: Opened): void;
  ended(sessionId: number): void;
}

/**
 * SIP credentials of sessions, derived from the site's key, so that none is stored and a stolen one reveals
 * no other. The sessions of persons with registered devices are kept in memory.
 */
export function createSessionSip(deps: {
  readonly key: Buffer;
  readonly live: (personId: number, now: number) => Promise<SessionRow[]>;
  /** Time of a session's last use, if memory is newer than the store. */
  readonly lastUsed: (sessionId: number) => number | undefined;
  readonly touch: (sessionId: number, now: number) => void;
  readonly directory: Directory;
  readonly person: (id: number) => Person | undefined;
  /** True for a person who must set up a second factor first: until then no phone of the person registers. */
  readonly lacksFactor: (who: Person) => boolean;
  readonly idleMs: number;
  readonly clock: Clock;
}): SessionSip {
  const { key, directory, clock, idleMs } = deps;
  const held = new Map<number, Map<number, Entry>>();
  const ownerOf = new Map<number, number>();
  /** Increases with every change, so that a read that began before a change is repeated. */
  let generation = 0;

  const passwordOf = ({ id, created_at }: Known): string =>
    createHmac('sha256', key)
      .update(`sip ${id} ${created_at}`)
      .digest()
      .subarray(0, 24)
      .toString('base64url');

  const entryOf = ({ id, created_at, last_used_at, ends_at }: Opened): Entry => ({
    id,
    created_at,
    last_used_at,
    ends_at,
    password: passwordOf({ id, created_at }),
  });
  function forget(personId: number): void {
    for (const id of held.get(personId)?.keys() ?? []) ownerOf.delete(id);
    held.delete(personId);
  }
  async function read(personId: number): Promise<Map<number, Entry>> {
    for (;;) {
      const before = generation;
      const rows = await deps.live(personId, clock.now());
      if (before !== generation) continue;
      forget(personId);
      const entries = new Map(rows.map((row) => [row.id, entryOf(row)]));
      held.set(personId, entries);
      for (const id of entries.keys()) ownerOf.set(id, personId);
      return entries;
    }
  }
  /** Time when the session ends without further use; use over HTTP counts too. */
  function expiry(entry: Entry): number {
    entry.last_used_at = Math.max(entry.last_used_at, deps.lastUsed(entry.id) ?? 0);
    return Math.min(entry.last_used_at + idleMs, entry.ends_at);
  }
  function grant(
    who: Person,
    entries: ReadonlyMap<number, Entry>,
    matches: (password: string) => boolean,
  ): SipGrant | Entry | null {
    const now = clock.now();
    for (const entry of entries.values()) {
      if (!matches(entry.password)) continue;
      if (now >= entry.ends_at) return null;
      if (now >= expiry(entry)) return entry;
      entry.last_used_at = now;
      deps.touch(entry.id, now);
      return { session_id: entry.id, secret: directory.sipPassword(who.extension) };
    }
    return null;
  }

  return {
    passwordOf,
    opened(session) {
      generation += 1;
      if (!held.has(session.person_id)) return;
      held.get(session.person_id)?.set(session.id, entryOf(session));
      ownerOf.set(session.id, session.person_id);
    },
    ended(sessionId) {
      generation += 1;
      const owner = ownerOf.get(sessionId);
      if (owner === undefined) return;
      ownerOf.delete(sessionId);
      held.get(owner)?.delete(sessionId);
    },
    prove(device, matches) {
      const who = directory.byEndpoint(device);
      if (who === undefined || !who.active || deps.lacksFactor(who)) return null;
      const fresh = async (): Promise<SipGrant | null> => {
        const found = grant(who, await read(who.id), matches);
        return found !== null && 'secret' in found ? found : null;
      };
      const entries = held.get(who.id);
      if (entries === undefined) return fresh();
      const found = grant(who, entries, matches);
      // The session is idle in memory, but the store may have a later use.
      return found === null || 'secret' in found ? found : fresh();
    },
    endsAt(sessionId) {
      const owner = ownerOf.get(sessionId);
      const entry = owner === undefined ? undefined : held.get(owner)?.get(sessionId);
      const who = deps.person(owner ?? 0);
      if (entry === undefined || who?.active !== true || deps.lacksFactor(who)) return null;
      const at = expiry(entry);
      return clock.now() >= at ? null : at;
    },
  };
}
