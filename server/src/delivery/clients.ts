import { CLOSE_CODES } from '@offhook/contract/stream.ts';
import { rfc3339 } from '../core/clock.ts';
import { ServiceError } from '../core/errors.ts';
import type { Said } from '../core/said.ts';
import { say } from '../core/said.ts';
import type { Person } from '../ports/directory.ts';
import type { Caller } from '../ports/http.ts';
import type { Common } from '../ports/common.ts';
import type { Credentials } from '../ports/stream.ts';
import type { Client } from './client.ts';
import type { Hub } from './hub.ts';
import { historySince, scopeOf } from '../rights/rights.ts';
import { hear } from '../rights/hearing.ts';
import type { Heard } from '../rights/hearing.ts';

/** Ticks in one heartbeat interval. */
const TICKS = 15;
/** Parts of a tick, each with its own clients, because writing to all clients at once would block the event loop. */
const PARTS = 10;
const SHORTEST_PART_MS = 10;
const HURRY_MS = 1_000;
/** Ticks after which a client is disconnected if it sends nothing, or takes none of its unsent bytes. */
const DEAD = 2 * TICKS;
/**
 * A socket reports the bytes of one write as unsent until the client has taken all of them, so a client may need longer for
 * a large snapshot: about 64 KiB a second with the usual heartbeat.
 */
const BYTES_PER_TICK = 65_536;

export interface ClientsOptions extends Common<'clock' | 'directory'> {
  readonly hub: Hub;
  readonly credentials: Credentials;
  readonly heartbeatMs: number;
  readonly perPerson: number;
}

const sessionEnded = (): ServiceError => new ServiceError('not_authenticated', 'the session ended');
/** Refusal of a request whose stream would end at once. */
export const reconnect = (): ServiceError =>
  new ServiceError('overloaded', 'streams reconnect now; try again shortly', { retry_after_seconds: 1 });

/** All clients: their number per person, heartbeats, the end of sessions and changes of rights. */
export class Clients {
  readonly #options: ClientsOptions;
  readonly #clients = new Set<Client>();
  /** Requests for a stream that wait before it opens. */
  readonly #waiting = new Set<{ readonly caller: Caller; refusal: ServiceError | null }>();
  /** By `person_id`, which is negative for API keys. */
  readonly #byPerson = new Map<number, Set<Client>>();
  readonly #leaving = new Map<() => void, NodeJS.Timeout>();
  #now = 0;
  readonly #parts: number;
  #part = 0;
  /** Clients by their part of a heartbeat interval. */
  readonly #slots: readonly Set<Client>[];
  #added = 0;
  #known = new Map<number, Person>();
  #knownAt = -1;
  readonly #timer: NodeJS.Timeout;
  readonly #stops: readonly (() => void)[];

  constructor(options: ClientsOptions) {
    const { credentials, directory, heartbeatMs } = options;
    this.#options = options;
    const tickMs = heartbeatMs / TICKS;
    this.#parts = Math.min(PARTS, Math.max(1, Math.floor(tickMs / SHORTEST_PART_MS)));
    this.#slots = Array.from({ length: TICKS * this.#parts }, () => new Set());
    this.#timer = setInterval(() => this.#tick(), tickMs / this.#parts);
    this.#timer.unref();
    const ofSession = (id: number) => (caller: Caller) => caller.key === null && caller.session_id === id;
    this.#stops = [
      credentials.onSessionEnded((id) => this.#endAll(ofSession(id))),
      credentials.onKeyEnded((id) => this.#endAll((caller) => caller.key?.id === id)),
      directory.onChange(() => this.#refreshAll()),
    ];
  }
  get size() {
    return this.#clients.size;
  }
  get now(): number {
    return this.#now;
  }
  /** Throws `too_many_requests` if this person or key has reached its limit of streams. */
  admit(caller: Caller): void {
    if ((this.#byPerson.get(caller.person_id)?.size ?? 0) >= this.#options.perPerson) {
      throw new ServiceError(
        'too_many_requests',
        say`${this.#options.perPerson} streams of this person or key are open already; close one`,
        {
          retry_after_seconds: 10,
        },
      );
    }
  }
  /** The caller with its current rights; null if the person no longer exists. */
  fresh(caller: Caller): Caller | null {
    if (caller.key !== null) return caller;
    const who = this.#person(caller.person_id);
    if (who === undefined || !who.active) return null;
    const { extension, level, username } = who;
    const since_ms = this.#options.directory.heldSince?.(extension) ?? 0;
    return extension === caller.extension &&
      level === caller.level &&
      username === caller.username &&
      since_ms === (caller.since_ms ?? 0)
      ? caller
      : { ...caller, extension, level, username, since_ms };
  }
  /**
   * Waits for `wait`, and returns the caller with its current rights. Throws `not_authenticated` if its session or key
   * ended or the person was removed meanwhile, or the error with which `refuse` was called.
   */
  async outlast(caller: Caller, wait: Promise<void>): Promise<Caller> {
    const waiting = { caller, refusal: null as ServiceError | null };
    this.#waiting.add(waiting);
    try {
      await wait;
    } finally {
      this.#waiting.delete(waiting);
    }
    if (waiting.refusal !== null) throw waiting.refusal;
    const current = this.fresh(caller);
    if (current === null) throw sessionEnded();
    return current;
  }
  /** Refuses the requests of the selected callers that wait before their stream opens. */
  refuse(of: (caller: Caller) => boolean, refusal: ServiceError): void {
    for (const waiting of this.#waiting) if (of(waiting.caller)) waiting.refusal = refusal;
  }
  /** Throws `forbidden` for the first topic without any access. */
  hearAll(caller: Caller, topics: readonly string[]): Heard[] {
    const own = this.#ownQueues(caller);
    return [...new Set(topics)].map((topic) => {
      const heard = hear(caller, topic, own);
      if (heard === null) throw new ServiceError('forbidden', deaf(caller, topic));
      return heard;
    });
  }
  add(client: Client): void {
    client.heardAt = this.#now;
    client.basis = this.#basisOf(client.caller);
    client.movedAt = this.#now;
    client.slot = (this.#added += 1) % this.#slots.length;
    this.#slots[client.slot]!.add(client);
    this.#clients.add(client);
    const own = this.#byPerson.get(client.caller.person_id);
    if (own === undefined) this.#byPerson.set(client.caller.person_id, new Set([client]));
    else own.add(client);
  }
  remove(client: Client): void {
    this.#options.hub.leave(client);
    this.#clients.delete(client);
    this.#slots[client.slot]!.delete(client);
    const own = this.#byPerson.get(client.caller.person_id);
    own?.delete(client);
    if (own?.size === 0) this.#byPerson.delete(client.caller.person_id);
  }
  /** All open clients. */
  all(): Iterable<Client> {
    return this.#clients.values();
  }
  /** Disconnects a closed client that still does not read, after `ms`; `hurry` shortens that to a second. */
  cutOff(cut: () => void, ms: number): void {
    clearTimeout(this.#leaving.get(cut));
    const off = (): void => {
      this.#leaving.delete(cut);
      cut();
    };
    this.#leaving.set(cut, setTimeout(off, ms).unref());
  }
  hurry(): void {
    for (const cut of this.#leaving.keys()) this.cutOff(cut, HURRY_MS);
  }
  close(): void {
    clearInterval(this.#timer);
    for (const stop of this.#stops) stop();
  }

  #person(id: number): Person | undefined {
    const { directory } = this.#options;
    if (this.#knownAt !== directory.version) {
      this.#knownAt = directory.version;
      this.#known = new Map(directory.people().map((one) => [one.id, one]));
    }
    return this.#known.get(id);
  }
  #ownQueues(caller: Caller): string[] {
    return caller.extension === ''
      ? []
      : this.#options.directory.queuesOf(caller.extension).map((queue) => queue.name);
  }
  /** Everything a person's rights and name are computed from; most directory changes leave it equal. */
  #basisOf(caller: Caller): string {
    return `${caller.username} ${caller.level} ${caller.extension} ${historySince(caller)} ${this.#ownQueues(caller).join(' ')}`;
  }
  #refreshAll(): void {
    const bases = new Map<number, string>();
    for (const client of this.#clients) {
      const { caller } = client;
      if (caller.key !== null) continue;
      const current = this.fresh(caller);
      if (current === null) {
        client.end(CLOSE_CODES.session_ended, 'the session ended');
        continue;
      }
      let basis = bases.get(caller.person_id);
      if (basis === undefined) bases.set(caller.person_id, (basis = this.#basisOf(current)));
      if (basis !== client.basis) this.#refresh(client, current, basis);
    }
  }
  #refresh(client: Client, caller: Caller, basis: string): void {
    client.caller = caller;
    client.basis = basis;
    const own = this.#ownQueues(caller);
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
  #endAll(id: (caller: Caller) => boolean): void {
    this.refuse(id, sessionEnded());
    for (const client of this.#clients) {
      if (id(client.caller)) client.end(CLOSE_CODES.session_ended, 'the session ended');
    }
  }
  async #lapse(client: Client): Promise<void> {
    const { credentials, clock, heartbeatMs } = this.#options;
    const until = await credentials.use(client.caller).catch(() => clock.now() + heartbeatMs);
    if (!this.#clients.has(client)) return;
    if (until === null || until <= clock.now()) {
      client.end(CLOSE_CODES.not_authenticated, 'the session has lapsed');
    } else client.caller = { ...client.caller, expires_at: until };
  }
  /** Looks at each client once in a tick, and sends its heartbeat once in an interval. */
  #tick(): void {
    if (this.#part === 0) this.#now += 1;
    const at = this.#options.clock.now();
    const time = rfc3339(at);
    for (let tick = 0; tick < TICKS; tick += 1) {
      const isDue = tick === this.#now % TICKS;
      for (const client of this.#slots[tick * this.#parts + this.#part]!) this.#look(client, isDue, at, time);
    }
    this.#part = (this.#part + 1) % this.#parts;
  }
  #look(client: Client, isDue: boolean, at: number, time: string): void {
    if (client.waits && this.#isStuck(client)) client.tooSlow();
    else if (this.#now - client.heardAt > DEAD && client.talks) client.vanish();
    else if (at >= client.caller.expires_at) void this.#lapse(client);
    else if (isDue && !client.full) client.heartbeat(this.#options.hub.safeCursorOf(client), time);
  }
  /** True if the client has taken none of its unsent bytes for too long. */
  #isStuck(client: Client): boolean {
    const { unsent, waiting } = client;
    if (waiting === 0 || unsent < waiting) client.movedAt = this.#now;
    client.waiting = unsent;
    client.waits = unsent > 0;
    return client.waits && this.#now - client.movedAt > DEAD + unsent / BYTES_PER_TICK;
  }
}
/** Caller and topics of a new stream. Throws `forbidden`, `too_many_requests`, `overloaded`. */
export function admitted(
  { clients }: { readonly clients: Clients },
  caller: Caller,
  topics: readonly string[],
  closing: () => boolean,
): { readonly caller: Caller; readonly heard: readonly Heard[] } {
  const heard = clients.hearAll(caller, topics);
  clients.admit(caller);
  if (closing()) throw new ServiceError('overloaded', 'the service is stopping; try again shortly');
  return { caller, heard };
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
