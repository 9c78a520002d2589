import { hash, randomBytes } from 'node:crypto';
import type { Person } from '../../ports/directory.ts';
import type { Authenticator, Caller } from '../../ports/http.ts';
import type { Common } from '../../ports/common.ts';
import type { Live, SessionCache } from './cache.ts';

/** Validity of a token after the first use of its replacement, for requests already sent. */
export const GRACE_MS = 60_000;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** A token whose session has not ended, with its person. */
export interface Owned {
  readonly live: Live;
  readonly who: Person;
}
export interface TokensDeps extends Common<'clock' | 'directory'> {
  readonly cache: SessionCache;
  readonly person: (id: number) => Person | undefined;
  readonly idleMs: number;
}
export const newToken = (): string => randomBytes(32).toString('base64url');
export const hashOf = (token: string): string => hash('sha256', token, 'base64url');

/** Finds the session behind a token and decides whether the token is valid. */
export class Tokens implements Authenticator {
  readonly #deps: TokensDeps;
  constructor(deps: TokensDeps) {
    this.#deps = deps;
  }
  authenticate(token: string): Caller | null | Promise<Caller | null> {
    if (!TOKEN.test(token)) return null;
    const live = this.#deps.cache.get(hashOf(token));
    return live instanceof Promise ? live.then((found) => this.#callerOf(found)) : this.#callerOf(live);
  }
  /** The token with its session and person, even if it is retired or its session is idle. */
  async owned(token: string): Promise<Owned | null> {
    return TOKEN.test(token) ? this.#owned(await this.#deps.cache.get(hashOf(token))) : null;
  }
  /** True once the grace period after the first use of the replacement is over. */
  isRetired({ token: { retired_at } }: Live): boolean {
    return retired_at !== null && this.#deps.clock.now() >= retired_at + GRACE_MS;
  }
  isIdle({ session }: Live): boolean {
    return this.#deps.clock.now() >= session.last_used_at + this.#deps.idleMs;
  }
  /** Expiry of a session without further use, in milliseconds since 1970. */
  expiry(lastUsed: number, endsAt: number): number {
    return Math.min(lastUsed + this.#deps.idleMs, endsAt);
  }
  #owned(live: Live | undefined): Owned | null {
    if (live === undefined) return null;
    const { session } = live;
    if (session.ended_at !== null || this.#deps.clock.now() >= session.ends_at) return null;
    const who = this.#deps.person(session.person_id);
    return who === undefined || !who.active ? null : { live, who };
  }
  #callerOf(known: Live | undefined): Caller | null {
    const { cache, clock, directory } = this.#deps;
    const found = this.#owned(known);
    if (found === null || this.isRetired(found.live) || this.isIdle(found.live)) return null;
    const { live, who } = found;
    const now = clock.now();
    cache.touch(live, now);
    return {
      session_id: live.session.id,
      person_id: who.id,
      extension: who.extension,
      username: who.username,
      level: who.level,
      expires_at: this.expiry(now, live.session.ends_at),
      cookie: false,
      key: null,
      since_ms: directory.heldSince?.(who.extension) ?? 0,
      known_ms: directory.knownSince?.(who.id) ?? 0,
    };
  }
}
