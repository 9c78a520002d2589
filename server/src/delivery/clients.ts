import { CLOSE_CODES } from '@offhook/contract/stream.ts';
import { rfc3339 } from '../core/clock.ts';
import { ServiceError } from '../core/errors.ts';
import type { Said } from '../core/said.ts';
import { say } from '../core/said.ts';
import type { Clock } from '../ports/clock.ts';
import type { Directory, Person } from '../ports/directory.ts';
import type { Caller } from '../ports/http.ts';
import type { Credentials } from '../ports/stream.ts';
import type { Client } from './client.ts';
import type { Hub } from './hub.ts';
import { historySince, scopeOf } from '../rights/rights.ts';
import { hear } from '../rights/hearing.ts';
import type { Heard } from '../rights/hearing.ts';

/** Ticks in one heartbeat interval. */
export const TICKS = 15;
const HURRY_MS = 1_000;
/** Ticks without a sign of the client after which it counts as gone. */
const DEAD = 2 * TICKS;

export interface Clients {
  readonly size: number;
  /** Ticks since the start. */
  readonly now: number;
  /** Throws `too_many_requests` where this person or key has reached its limit of streams. */
  admit(caller: Caller): void;
  /** The caller with its current rights; null where the person no longer exists. */
  fresh(caller: Caller): Caller | null;
  /** Throws `forbidden` for the first topic without any access. */
  hearAll(caller: Caller, topics: readonly string[]): Heard[];
  add(client: Client): void;
  remove(client: Client): void;
  /** All open clients. */
  all(): Iterable<Client>;
  /** Disconnects a closed client that still does not read, after `ms`; `hurry` shortens that to a second. */
  cutOff(cut: () => void, ms: number): void;
  hurry(): void;
  close(): void;
}
export interface ClientsOptions {
  readonly hub: Hub;
  readonly directory: Directory;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  readonly perPerson: number;
}

/** All clients: their number per person, heartbeats, the end of sessions and changes of rights. */
export function createClients(options: ClientsOptions): Clients {
  const { hub, directory, credentials, clock, heartbeatMs, perPerson } = options;
  const clients = new Set<Client>();
  /** By `person_id`, which is negative for API keys. */
  const byPerson = new Map<number, Set<Client>>();
  const leaving = new Map<() => void, NodeJS.Timeout>();
  let now = 0;
  let slots = 0;
  let known = new Map<number, Person>();
  let knownAt = -1;

  const person = (id: number): Person | undefined => {
    if (knownAt !== directory.version) {
      knownAt = directory.version;
      known = new Map(directory.people().map((one) => [one.id, one]));
    }
    return known.get(id);
  };
  const fresh = (caller: Caller): Caller | null => {
    if (caller.key !== null) return caller;
    const who = person(caller.person_id);
    if (who === undefined || !who.active) return null;
    const { extension, level, username } = who;
    const since_ms = directory.heldSince?.(extension) ?? 0;
    return extension === caller.extension && level === caller.level && since_ms === (caller.since_ms ?? 0)
      ? caller
      : { ...caller, extension, level, username, since_ms };
  };
  const ownQueues = (caller: Caller): string[] =>
    caller.extension === '' ? [] : directory.queuesOf(caller.extension).map((queue) => queue.name);

  /** Everything a person's rights are computed from; most directory changes leave it equal. */
  const basisOf = (caller: Caller): string =>
    `${caller.level} ${caller.extension} ${historySince(caller)} ${ownQueues(caller).join(' ')}`;
  function refreshAll(): void {
    const bases = new Map<number, string>();
    for (const client of clients) {
      const { caller } = client;
      if (caller.key !== null) continue;
      const current = fresh(caller);
      if (current === null) {
        client.end(CLOSE_CODES.session_ended, 'the session ended');
        continue;
      }
      let basis = bases.get(caller.person_id);
      if (basis === undefined) bases.set(caller.person_id, (basis = basisOf(current)));
      if (basis !== client.basis) refresh(client, current, basis);
    }
  }
  function refresh(client: Client, caller: Caller, basis: string): void {
    client.caller = caller;
    client.basis = basis;
    const own = ownQueues(caller);
    const changed: Heard[] = [];
    const heard: Heard[] = [];
    for (const was of client.heard) {
      const is = hear(caller, was.topic, own);
      if (is === null) return client.end(CLOSE_CODES.not_allowed, `no longer allowed: ${was.topic}`);
      const same = is.names.join(' ') === was.names.join(' ') && is.since_ms === was.since_ms;
      heard.push(same ? was : is);
      if (!same) changed.push(is);
    }
    if (changed.length === 0) return;
    client.heard = heard;
    client.rightsChanged(changed);
  }
  function endAll(id: (caller: Caller) => boolean): void {
    for (const client of clients) {
      if (id(client.caller)) client.end(CLOSE_CODES.session_ended, 'the session ended');
    }
  }
  async function lapse(client: Client): Promise<void> {
    const until = await credentials.use(client.caller).catch(() => clock.now() + heartbeatMs);
    if (!clients.has(client)) return;
    if (until === null || until <= clock.now()) {
      client.end(CLOSE_CODES.not_authenticated, 'the session has lapsed');
    } else client.caller = { ...client.caller, expires_at: until };
  }
  function tick(): void {
    now += 1;
    const at = clock.now();
    const time = rfc3339(at);
    for (const client of clients) {
      const { unsent } = client;
      if (unsent === 0 || unsent < client.waiting) client.movedAt = now;
      client.waiting = unsent;
      if (now - client.movedAt > DEAD) client.tooSlow();
      else if (client.talks && now - client.heardAt > DEAD) client.vanish();
      else if (at >= client.caller.expires_at) void lapse(client);
      else if (client.slot === now % TICKS && !client.full) client.heartbeat(hub.safeCursorOf(client), time);
    }
  }
  function cutOff(cut: () => void, ms: number): void {
    clearTimeout(leaving.get(cut));
    const off = (): void => {
      leaving.delete(cut);
      cut();
    };
    leaving.set(cut, setTimeout(off, ms).unref());
  }
  const timer = setInterval(tick, heartbeatMs / TICKS);
  timer.unref();
  const stops = [
    credentials.onSessionEnded((id) => endAll((caller) => caller.key === null && caller.session_id === id)),
    credentials.onKeyEnded((id) => endAll((caller) => caller.key?.id === id)),
    directory.onChange(refreshAll),
  ];
  return {
    get size() {
      return clients.size;
    },
    get now() {
      return now;
    },
    admit(caller) {
      if ((byPerson.get(caller.person_id)?.size ?? 0) >= perPerson) {
        throw new ServiceError('too_many_requests', say`more than ${perPerson} streams are open`, {
          retry_after_seconds: 10,
        });
      }
    },
    fresh,
    hearAll(caller, topics) {
      const own = ownQueues(caller);
      return [...new Set(topics)].map((topic) => {
        const heard = hear(caller, topic, own);
        if (heard === null) throw new ServiceError('forbidden', deaf(caller, topic));
        return heard;
      });
    },
    add(client) {
      client.heardAt = now;
      client.basis = basisOf(client.caller);
      client.movedAt = now;
      client.slot = (slots += 1) % TICKS;
      clients.add(client);
      const own = byPerson.get(client.caller.person_id);
      if (own === undefined) byPerson.set(client.caller.person_id, new Set([client]));
      else own.add(client);
    },
    remove(client) {
      hub.leave(client);
      clients.delete(client);
      const own = byPerson.get(client.caller.person_id);
      own?.delete(client);
      if (own?.size === 0) byPerson.delete(client.caller.person_id);
    },
    all: () => clients.values(),
    cutOff,
    hurry() {
      for (const cut of leaving.keys()) cutOff(cut, HURRY_MS);
    },
    close() {
      clearInterval(timer);
      for (const stop of stops) stop();
    },
  };
}
/** Why a topic is not accessible. */
function deaf({ key }: Caller, topic: string): Said {
  if (key === null) return say`topics: you have no access to ${topic}`;
  const scope = scopeOf(topic);
  if (scope === undefined) return say`topics: ${topic} is personal and not available to API keys`;
  return key.scopes.includes(scope)
    ? say`topics: ${topic} is outside the queues and extensions of this API key`
    : say`this API key lacks the scope ${scope}, which ${topic} needs`;
}
