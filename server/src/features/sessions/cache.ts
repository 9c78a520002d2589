import type { SessionRow, TokenRow } from './store.ts';

/** A token and its session as memory knows them; both change in place. */
export interface Live {
  readonly token: Mutable<TokenRow>;
  readonly session: Mutable<SessionRow>;
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
/** How old the stored time of last use may get. */
const TOUCH_MS = 60_000;

/**
 * Sessions in memory, so that a request costs no read and a known session goes on working while the database does not.
 * The one used longest ago is forgotten beyond 50,000. Changes are collected and written in groups.
 */
export function createCache(
  load: (tokenHash: string) => Promise<{ token: TokenRow; session: SessionRow } | undefined>,
) {
  const sessions = new Map<number, { session: Mutable<SessionRow>; tokens: Map<string, Live> }>();
  const byToken = new Map<string, Live>();
  const loading = new Map<string, Promise<Live | undefined>>();
  const written = new WeakMap<SessionRow, number>();
  /** Ended while some token was being read: what was read may be older than the end. */
  const endedMeanwhile = new Set<number>();
  let used = new Map<number, number>();
  let tokens = new Map<string, FirstUse>();

  function drop(id: number): void {
    const held = sessions.get(id);
    if (held === undefined) return;
    for (const tokenHash of held.tokens.keys()) byToken.delete(tokenHash);
    sessions.delete(id);
  }
  function keep(found: { token: TokenRow; session: SessionRow }): Live {
    const known = byToken.get(found.token.hash);
    if (known !== undefined) return known;
    let held = sessions.get(found.session.id);
    if (held === undefined) {
      if (sessions.size >= MAX_SESSIONS) {
        const [oldest] = sessions.keys();
        if (oldest !== undefined) drop(oldest);
      }
      const last = used.get(found.session.id) ?? 0;
      held = {
        session: { ...found.session, last_used_at: Math.max(last, found.session.last_used_at) },
        tokens: new Map(),
      };
      written.set(held.session, found.session.last_used_at);
      sessions.set(found.session.id, held);
    }
    const live: Live = {
      token: { ...found.token, confirmed: tokens.has(found.token.hash) ? 1 : found.token.confirmed },
      session: held.session,
    };
    held.tokens.set(live.token.hash, live);
    byToken.set(live.token.hash, live);
    return live;
  }
  async function fetch(tokenHash: string): Promise<Live | undefined> {
    try {
      const found = await load(tokenHash);
      if (found === undefined || found.session.ended_at !== null) return undefined;
      return endedMeanwhile.has(found.session.id) ? undefined : keep(found);
    } finally {
      loading.delete(tokenHash);
      if (loading.size === 0) endedMeanwhile.clear();
    }
  }

  return {
    /** Throws `store_unavailable` where it is not in memory and cannot be read. */
    get(tokenHash: string): Promise<Live | undefined> | Live {
      const live = byToken.get(tokenHash);
      if (live !== undefined) return live;
      let found = loading.get(tokenHash);
      if (found === undefined) {
        found = fetch(tokenHash);
        loading.set(tokenHash, found);
      }
      return found;
    },
    /** The token was used: at its first time it retires the one it replaced. */
    touch(live: Live, now: number): void {
      const { session, token } = live;
      session.last_used_at = now;
      if (now - (written.get(session) ?? 0) >= TOUCH_MS) {
        written.set(session, now);
        used.set(session.id, now);
        // Moves it to the end of the line for being forgotten.
        const held = sessions.get(session.id);
        if (held !== undefined) {
          sessions.delete(session.id);
          sessions.set(session.id, held);
        }
      }
      if (token.confirmed === 1) return;
      token.confirmed = 1;
      tokens.set(token.hash, { hash: token.hash, parent: token.parent, at: now });
      const parent = token.parent === null ? undefined : byToken.get(token.parent);
      if (parent !== undefined) parent.token.retired_at ??= now;
    },
    /** As `touch`, where only the session is known. */
    touchSession(id: number, now: number): void {
      used.set(id, now);
      const held = sessions.get(id);
      if (held === undefined) return;
      held.session.last_used_at = now;
      written.set(held.session, now);
    },
    refreshed(live: Live, now: number, dropped: readonly string[]): void {
      live.session.last_used_at = now;
      written.set(live.session, now);
      for (const tokenHash of dropped) {
        byToken.delete(tokenHash);
        sessions.get(live.session.id)?.tokens.delete(tokenHash);
      }
    },
    end(id: number): void {
      const held = sessions.get(id);
      if (held !== undefined) held.session.ended_at = 0;
      if (loading.size > 0) endedMeanwhile.add(id);
      drop(id);
      used.delete(id);
    },
    lastUsed: (id: number): number | undefined => sessions.get(id)?.session.last_used_at,
    /** Up to `most` changes that are not stored yet, or undefined. */
    takeChanges(most: number): Changes | undefined {
      if (used.size === 0 && tokens.size === 0) return undefined;
      const changes = { used: [...used].slice(0, most), tokens: [...tokens.values()].slice(0, most) };
      for (const [id] of changes.used) used.delete(id);
      for (const token of changes.tokens) tokens.delete(token.hash);
      return changes;
    },
    /** They could not be stored. */
    giveBack(changes: Changes): void {
      used = new Map([...changes.used, ...used]);
      tokens = new Map([...changes.tokens.map((t) => [t.hash, t] as const), ...tokens]);
    },
  };
}
