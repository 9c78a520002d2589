import type { SessionRow, TokenRow } from './store.ts';

/** A cached token and its session; both are changed in place. */
export interface Live {
  readonly token: Mutable<TokenRow>;
  readonly session: Mutable<SessionRow>;
  /** Time of the first use of the token, in milliseconds since 1970; null if it was stored before the token was read. */
  first_used_at: number | null;
}
interface Stored {
  readonly token: TokenRow;
  readonly session: SessionRow;
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A token that was used for the first time, `at` in milliseconds since 1970. */
export interface FirstUse {
  readonly hash: string;
  readonly parent: string | null;
  readonly at: number;
}
export interface Changes {
  readonly used: readonly (readonly [id: number, at: number])[];
  readonly tokens: readonly FirstUse[];
}

const MAX_SESSIONS = 50_000;
/** Most milliseconds by which the stored time of last use may lag. */
const TOUCH_MS = 60_000;

/**
 * Sessions in memory, so that a request costs no read and known sessions stay valid while the database is unavailable.
 * Beyond 50,000 sessions the least recently used one is dropped. Changes are collected and written in groups.
 */
export class SessionCache {
  readonly #sessions = new Map<number, { session: Mutable<SessionRow>; tokens: Map<string, Live> }>();
  readonly #byToken = new Map<string, Live>();
  readonly #loading = new Map<string, Promise<Live | undefined>>();
  readonly #written = new WeakMap<SessionRow, number>();
  /** Sessions that ended while a token was read; the row that was read may be older than the end. */
  readonly #endedMeanwhile = new Set<number>();
  #used = new Map<number, number>();
  #tokens = new Map<string, FirstUse>();

  readonly #load: (tokenHash: string) => Promise<Stored | undefined>;

  constructor(load: (tokenHash: string) => Promise<Stored | undefined>) {
    this.#load = load;
  }

  /** Throws `store_unavailable` if the token is not in memory and cannot be read. */
  get(tokenHash: string): Promise<Live | undefined> | Live {
    const live = this.#byToken.get(tokenHash);
    if (live !== undefined) return live;
    let found = this.#loading.get(tokenHash);
    if (found === undefined) {
      found = this.#fetch(tokenHash);
      this.#loading.set(tokenHash, found);
    }
    return found;
  }

  /** Notes a use of the token; the first use retires the token that it replaced. */
  touch(live: Live, now: number): void {
    const { session, token } = live;
    session.last_used_at = now;
    if (now - (this.#written.get(session) ?? 0) >= TOUCH_MS) {
      this.#written.set(session, now);
      this.#used.set(session.id, now);
      // A map keeps the order of insertion: the session becomes the last one to be dropped.
      const held = this.#sessions.get(session.id);
      if (held !== undefined) {
        this.#sessions.delete(session.id);
        this.#sessions.set(session.id, held);
      }
    }
    if (token.confirmed === 1) return;
    token.confirmed = 1;
    live.first_used_at = now;
    this.#tokens.set(token.hash, { hash: token.hash, parent: token.parent, at: now });
    const parent = token.parent === null ? undefined : this.#byToken.get(token.parent);
    if (parent !== undefined) parent.token.retired_at ??= now;
  }

  /** As `touch`, with only the session's id. */
  touchSession(id: number, now: number): void {
    this.#used.set(id, now);
    const held = this.#sessions.get(id);
    if (held === undefined) return;
    held.session.last_used_at = now;
    this.#written.set(held.session, now);
  }

  refreshed(live: Live, now: number, dropped: readonly string[]): void {
    live.session.last_used_at = now;
    this.#written.set(live.session, now);
    for (const tokenHash of dropped) {
      this.#byToken.delete(tokenHash);
      this.#sessions.get(live.session.id)?.tokens.delete(tokenHash);
    }
  }

  end(id: number): void {
    const held = this.#sessions.get(id);
    if (held !== undefined) held.session.ended_at = 0;
    if (this.#loading.size > 0) this.#endedMeanwhile.add(id);
    this.#drop(id);
    this.#used.delete(id);
  }

  lastUsed(id: number): number | undefined {
    return this.#sessions.get(id)?.session.last_used_at ?? this.#used.get(id);
  }

  /** Up to `most` changes that are not stored yet, or undefined. */
  takeChanges(most: number): Changes | undefined {
    if (this.#used.size === 0 && this.#tokens.size === 0) return undefined;
    const changes = {
      used: [...this.#used].slice(0, most),
      tokens: [...this.#tokens.values()].slice(0, most),
    };
    for (const [id] of changes.used) this.#used.delete(id);
    for (const token of changes.tokens) this.#tokens.delete(token.hash);
    return changes;
  }

  /** Restores changes that could not be stored. */
  giveBack(changes: Changes): void {
    this.#used = new Map([...changes.used, ...this.#used]);
    this.#tokens = new Map([...changes.tokens.map((t) => [t.hash, t] as const), ...this.#tokens]);
  }

  #drop(id: number): void {
    const held = this.#sessions.get(id);
    if (held === undefined) return;
    for (const tokenHash of held.tokens.keys()) this.#byToken.delete(tokenHash);
    this.#sessions.delete(id);
  }

  #keep(found: Stored): Live {
    const known = this.#byToken.get(found.token.hash);
    if (known !== undefined) return known;
    let held = this.#sessions.get(found.session.id);
    if (held === undefined) {
      if (this.#sessions.size >= MAX_SESSIONS) {
        const [oldest] = this.#sessions.keys();
        if (oldest !== undefined) this.#drop(oldest);
      }
      const last = this.#used.get(found.session.id) ?? 0;
      held = {
        session: { ...found.session, last_used_at: Math.max(last, found.session.last_used_at) },
        tokens: new Map(),
      };
      this.#written.set(held.session, found.session.last_used_at);
      this.#sessions.set(found.session.id, held);
    }
    const { hash, confirmed, retired_at } = found.token;
    const first_used_at = this.#tokens.get(hash)?.at ?? null;
    // The row may be older than the first use of the replacement, which retired the token.
    const replacement = held.tokens
      .values()
      .find((one) => one.token.parent === hash && one.first_used_at !== null);
    const live: Live = {
      token: {
        ...found.token,
        confirmed: first_used_at === null ? confirmed : 1,
        retired_at: retired_at ?? replacement?.first_used_at ?? null,
      },
      session: held.session,
      first_used_at,
    };
    held.tokens.set(live.token.hash, live);
    this.#byToken.set(live.token.hash, live);
    return live;
  }

  async #fetch(tokenHash: string): Promise<Live | undefined> {
    try {
      const found = await this.#load(tokenHash);
      if (found === undefined || found.session.ended_at !== null) return undefined;
      return this.#endedMeanwhile.has(found.session.id) ? undefined : this.#keep(found);
    } finally {
      this.#loading.delete(tokenHash);
      if (this.#loading.size === 0) this.#endedMeanwhile.clear();
    }
  }
}
