import { hash, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { hashPassword, isOutdated } from './password.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory, Person } from '../../ports/directory.ts';
import type { Authenticator, Caller } from '../../ports/http.ts';
import type { SipCredentials } from '../../ports/sip.ts';
import type { Store } from '../../ports/store.ts';
import { createCache } from './cache.ts';
import type { Live } from './cache.ts';
import { createConfirmation } from './confirmation.ts';
import type { Confirmation } from './confirmation.ts';
import { createKnownDevices } from './devices.ts';
import { createOtp } from './otp.ts';
import { createSignIns } from './people.ts';
import type { SignIns } from './people.ts';
import { createProof } from './proof.ts';
import type { Claim } from './proof.ts';
import { createSecondFactor } from './second-factor.ts';
import type { SecondFactor } from './second-factor.ts';
import { createSessionSip } from './sip.ts';
import { createSessionStore } from './store.ts';

/** How long a token works on after the one that replaced it was first used: requests may still be on their way. */
export const GRACE_MS = 60_000;
const SAVE_EVERY_MS = 5_000;
const SAVE_AT_ONCE = 500;
const PURGE_EVERY_MS = 6 * 3_600_000;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export interface SessionSettings {
  readonly sessionIdleSeconds: number;
  readonly sessionAbsoluteSeconds: number;
}
export interface SessionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly directory: Directory;
  readonly audit: Required<Audit>;
  readonly log: Log;
  readonly config: SessionSettings;
  /** Key from which the SIP passwords of sessions are derived. */
  readonly sipKey: Buffer;
}
export interface LoginInput extends Claim {
  readonly device_name?: string | null | undefined;
  readonly platform?: string | null | undefined;
  /** The token a browser still holds from before: its session ends. */
  readonly replaces?: string | undefined;
}
/** A token as it leaves the service, the only time it exists in clear. */
export interface Issued {
  readonly token: string;
  readonly session_id: number;
  readonly person: Person;
  /** SIP password of this session. */
  readonly sip_password: string;
  /** Device cookie for the browser's next sign-in. */
  readonly device: string;
  /** Milliseconds since 1970 when it stops working unless used or refreshed. */
  readonly expires_at: number;
}
export type EndReason =
  | 'logout'
  | 'ended'
  | 'password_changed'
  | 'disabled'
  | 'replaced'
  | 'crowded'
  | 'idle'
  | 'replayed';
export interface DeviceRow {
  readonly id: number;
  readonly device_name: string | null;
  readonly platform: string | null;
  readonly address: string | null;
  readonly created_at: number;
  readonly last_used_at: number;
  readonly expires_at: number;
}
export interface Sessions extends Authenticator {
  /** Throws `too_many_attempts`, `overloaded`, `invalid_credentials`, `otp_required`, `account_disabled`, `store_unavailable`. */
  login(input: LoginInput): Promise<Issued>;
  /**
   * Throws `not_authenticated` for an unknown, ended or expired token. One that was replaced is a copy: it ends the session,
   * with every token of it; so does one whose session was idle for too long. Both are in the audit trail.
   */
  refresh(token: string, ip: string): Promise<Issued>;
  logout(caller: Caller, ip: string): Promise<void>;
  devices(personId: number): Promise<DeviceRow[]>;
  /** Ends one session of the caller's own; throws `not_found` where there is no such. */
  end(caller: Caller, sessionId: number, ip: string): Promise<void>;
  /** Ends every session of the caller and opens a new one. Throws as `login` does. */
  changePassword(caller: Caller, current: string, next: string, ip: string): Promise<Issued>;
  readonly otp: SecondFactor;
  readonly confirmation: Confirmation;
  /** True when the person's second factor is on; from memory. */
  hasFactor(personId: number): boolean;
  readonly others: SignIns;
  /** For the seeder and administrators: sets it and ends the person's sessions. */
  setPassword(personId: number, password: string): Promise<void>;
  /** Ids of everyone who has one. */
  withPassword(): Promise<ReadonlySet<number>>;
  /** Credentials by which the relay checks phones. */
  readonly sip: SipCredentials;
  /** The SIP password of a live session. Throws `not_authenticated`, `store_unavailable`. */
  sipPassword(sessionId: number): Promise<string>;
  /** Something that stays open uses this session: when it now ends (milliseconds since 1970), or null where it has. */
  use(sessionId: number): Promise<number | null>;
  /** Called with each session that ended, so that its sockets are closed; returns the way to stop. */
  onSessionEnded(listener: (sessionId: number, reason: EndReason) => void): () => void;
  /** Called with the person whose password was changed; returns the way to stop. */
  onPasswordChanged(listener: (personId: number) => void): () => void;
  /** Writes what is only in memory: when sessions were last used. */
  save(): Promise<void>;
  close(): Promise<void>;
}

export async function createSessions(options: SessionsOptions): Promise<Sessions> {
  const { clock, directory, audit } = options;
  const log = options.log.child({ part: 'sessions' });
  const idleMs = options.config.sessionIdleSeconds * 1000;
  const absoluteMs = options.config.sessionAbsoluteSeconds * 1000;
  const store = await createSessionStore(options.store);
  const otp = await createOtp(options.store, clock);
  const cache = createCache((tokenHash) => store.token(tokenHash));
  const listeners = new Set<(sessionId: number, reason: EndReason) => void>();
  const person = personById(directory);
  const sip = createSessionSip({
    key: options.sipKey,
    live: (personId, now) => store.live(personId, now),
    lastUsed: (id) => cache.lastUsed(id),
    touch: (id, now) => cache.touchSession(id, now),
    directory,
    person,
    idleMs,
    clock,
  });
  const knownDevices = createKnownDevices(options.sipKey);
  const proof = createProof({ store, otp, devices: knownDevices, clock, directory, person, audit, log });
  const confirmation = createConfirmation(proof, clock);

  const expiry = (lastUsed: number, endsAt: number): number => Math.min(lastUsed + idleMs, endsAt);
  const hashOf = (token: string): string => hash('sha256', token, 'base64url');
  const ended = (ids: readonly number[], reason: EndReason): void => {
    for (const id of ids) {
      cache.end(id);
      sip.ended(id);
      for (const listener of listeners) {
        try {
          listener(id, reason);
        } catch (error) {
          log.error({ error: messageOf(error) }, 'a listener for ended sessions failed');
        }
      }
    }
  };
  async function open(
    who: Person,
    proven: string,
    device: Pick<LoginInput, 'device_name' | 'platform' | 'ip' | 'device'>,
  ): Promise<Issued> {
    const token = randomBytes(32).toString('base64url');
    const at = clock.now();
    const session = {
      person_id: who.id,
      device_name: device.device_name ?? null,
      platform: device.platform ?? null,
      address: device.ip,
      at,
      ends_at: at + absoluteMs,
      hash: hashOf(token),
      proven,
    };
    const { id, crowded } = await store.add(session);
    confirmation.opened(id);
    ended(crowded, 'crowded');
    const row = { id, person_id: who.id, created_at: at, last_used_at: at, ends_at: session.ends_at };
    sip.opened(row);
    return {
      token,
      session_id: id,
      person: who,
      sip_password: sip.passwordOf(row),
      device: knownDevices.give(who.id, device.device),
      expires_at: expiry(at, session.ends_at),
    };
  }

  /** The live session behind a token; its idle life is not looked at. */
  async function find(token: string): Promise<{ live: Live; who: Person } | null> {
    const found = TOKEN.test(token) ? owned(await cache.get(hashOf(token))) : null;
    return found === null || isRetired(found.live) ? null : found;
  }
  const isRetired = ({ token: { retired_at } }: Live): boolean =>
    retired_at !== null && clock.now() >= retired_at + GRACE_MS;
  const isIdle = ({ session }: Live): boolean => clock.now() >= session.last_used_at + idleMs;
  /** Session and person of a token whose session has not ended; the token itself may be retired. */
  function owned(live: Live | undefined): { live: Live; who: Person } | null {
    if (live === undefined) return null;
    const { session } = live;
    if (session.ended_at !== null || clock.now() >= session.ends_at) return null;
    const who = person(session.person_id);
    return who === undefined || !who.active ? null : { live, who };
  }
  function callerOf(known: Live | undefined): Caller | null {
    const found = owned(known);
    if (found === null || isRetired(found.live) || isIdle(found.live)) return null;
    const { live, who } = found;
    const now = clock.now();
    cache.touch(live, now);
    return {
      session_id: live.session.id,
      person_id: who.id,
      extension: who.extension,
      username: who.username,
      level: who.level,
      expires_at: expiry(now, live.session.ends_at),
      cookie: false,
      key: null,
      since_ms: directory.heldSince?.(who.extension) ?? 0,
      known_ms: directory.knownSince?.(who.id) ?? 0,
    };
  }

  /** Ends the session of a replayed or idle token and writes the reason to the audit trail. */
  async function refuseRefresh(
    { session: { id } }: Live,
    who: Person,
    reason: 'replayed' | 'idle',
    ip: string,
  ): Promise<void> {
    const ids = await store.end({ id }, reason, clock.now(), (trx) =>
      audit.recordIn(trx, {
        action: 'session.refresh_refused',
        actor: null,
        object: who.extension,
        outcome: 'refused',
        ip,
        detail: { session: id, reason },
      }),
    );
    ended(ids, reason);
  }

  async function devices(personId: number): Promise<DeviceRow[]> {
    const rows = await store.live(personId, clock.now());
    return rows.map((row) => {
      const last = Math.max(row.last_used_at, cache.lastUsed(row.id) ?? 0);
      return {
        id: row.id,
        device_name: row.device_name,
        platform: row.platform,
        address: row.address,
        created_at: row.created_at,
        last_used_at: last,
        expires_at: expiry(last, row.ends_at),
      };
    });
  }

  async function endInactive(): Promise<void> {
    // A directory that is not filled yet says nothing about anybody.
    if (directory.people().length === 0) return;
    const people = await store.peopleWithSessions(clock.now());
    for (const id of people) {
      const who = person(id);
      if (who !== undefined && who.active) continue;
      ended(await store.end({ person_id: id }, 'disabled', clock.now()), 'disabled');
    }
  }
  const sweep = onceAtATime(endInactive, (error) =>
    log.warn({ error: messageOf(error) }, 'sessions of inactive people could not be ended'),
  );

  async function save(): Promise<void> {
    for (;;) {
      const changes = cache.takeChanges(SAVE_AT_ONCE);
      if (changes === undefined) return;
      try {
        await store.save(changes);
      } catch (error) {
        cache.giveBack(changes);
        throw error;
      }
      await setImmediate();
    }
  }
  const quietly = onceAtATime(save, (error) =>
    log.warn({ error: messageOf(error) }, 'when sessions were last used could not be written'),
  );
  const purge = onceAtATime(
    () => store.purge(clock.now()),
    (error) => log.warn({ error: messageOf(error) }, 'old sessions could not be deleted'),
  );
  const timers = [setInterval(quietly, SAVE_EVERY_MS), setInterval(purge, PURGE_EVERY_MS)];
  for (const timer of timers) timer.unref();
  const stopDirectory = directory.onChange(sweep);
  purge();
  sweep();

  const passwordListeners = new Set<(personId: number) => void>();
  const setPassword = async (personId: number, phc: string): Promise<void> => {
    ended(await store.setPassword(personId, phc, clock.now(), true), 'password_changed');
    passwordListeners.forEach((listener) => listener(personId));
  };
  const onSessionEnded: Sessions['onSessionEnded'] = (listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return {
    authenticate(token) {
      if (!TOKEN.test(token)) return null;
      const live = cache.get(hashOf(token));
      return live instanceof Promise ? live.then(callerOf) : callerOf(live);
    },

    async login(input) {
      const { device_name, platform, ip, device, replaces } = input;
      const { who, phc } = await proof.signIn(input);
      let proven = phc;
      if (isOutdated(proven)) {
        proven = await hashPassword(input.password);
        await store.setPassword(who.id, proven, clock.now(), false);
      }
      const issued = await open(who, proven, { device_name, platform, ip, device });
      try {
        await audit.record({
          action: 'session.login',
          actor: who.extension,
          object: who.extension,
          outcome: 'ok',
          ip,
          detail: {
            session: issued.session_id,
            device_name: device_name ?? null,
            platform: platform ?? null,
          },
        });
      } catch (error) {
        await store.end({ id: issued.session_id }, 'ended', clock.now()).catch(() => []);
        throw error;
      }
      if (replaces !== undefined) {
        const old = await find(replaces);
        if (old !== null) {
          ended(await store.end({ id: old.live.session.id }, 'replaced', clock.now()), 'replaced');
        }
      }
      return issued;
    },

    async refresh(token, ip) {
      const found = TOKEN.test(token) ? owned(await cache.get(hashOf(token))) : null;
      if (found === null) throw new ServiceError('not_authenticated', 'sign in again');
      const { live, who } = found;
      if (isRetired(live) || isIdle(live)) {
        await refuseRefresh(live, who, isRetired(live) ? 'replayed' : 'idle', ip);
        throw new ServiceError('not_authenticated', 'sign in again');
      }
      const next = randomBytes(32).toString('base64url');
      const now = clock.now();
      const dropped = await store.rotate(live.session.id, live.token.hash, hashOf(next), now);
      cache.refreshed(live, now, dropped);
      return {
        token: next,
        session_id: live.session.id,
        person: who,
        sip_password: sip.passwordOf(live.session),
        device: knownDevices.give(who.id, undefined),
        expires_at: expiry(now, live.session.ends_at),
      };
    },

    async logout(caller, ip) {
      ended(await store.end({ id: caller.session_id }, 'logout', clock.now()), 'logout');
      await audit.record({
        action: 'session.logout',
        actor: caller.extension,
        object: caller.extension,
        outcome: 'ok',
        ip,
        detail: { session: caller.session_id },
      });
    },

    devices,

    async end(caller, sessionId, ip) {
      const ids = await store.end({ id: sessionId, person_id: caller.person_id }, 'ended', clock.now());
      if (ids.length === 0) throw new ServiceError('not_found', 'you have no such session');
      ended(ids, 'ended');
      await audit.record({
        action: 'session.ended',
        actor: caller.extension,
        object: caller.extension,
        outcome: 'ok',
        ip,
        detail: { session: sessionId },
      });
    },

    async changePassword(caller, current, next, ip) {
      const who = await proof.again(caller, current, ip, 'session.password_failed');
      const phc = await hashPassword(next);
      await audit.record({
        action: 'session.password_changed',
        actor: who.extension,
        object: who.extension,
        outcome: 'ok',
        ip,
      });
      await setPassword(who.id, phc);
      return open(who, phc, { ip });
    },

    otp: createSecondFactor(otp, proof, audit),
    confirmation,
    hasFactor: (personId) => otp.has(personId),
    others: createSignIns({ store, otp, directory, audit, clock, devices, ended }),
    async setPassword(personId, password) {
      await setPassword(personId, await hashPassword(password));
    },
    withPassword: () => store.withPassword(),
    async use(sessionId) {
      const row = await store.session(sessionId);
      const now = clock.now();
      if (row === undefined || row.ended_at !== null || now >= row.ends_at) return null;
      if (person(row.person_id)?.active !== true) return null;
      cache.touchSession(sessionId, now);
      return expiry(now, row.ends_at);
    },
    onSessionEnded,
    onPasswordChanged(listener) {
      passwordListeners.add(listener);
      return () => passwordListeners.delete(listener);
    },
    sip: { ...sip, onSessionEnded },
    async sipPassword(sessionId) {
      const row = await store.session(sessionId);
      if (row === undefined || row.ended_at !== null) {
        throw new ServiceError('not_authenticated', 'sign in first');
      }
      return sip.passwordOf(row);
    },
    save,
    async close() {
      stopDirectory();
      for (const timer of timers) clearInterval(timer);
      await save();
    },
  };
}

/** People by id, made anew when the directory changed. */
function personById(directory: Directory): (id: number) => Person | undefined {
  let version = -1;
  let byId = new Map<number, Person>();
  return (id) => {
    if (version !== directory.version) {
      version = directory.version;
      byId = new Map(directory.people().map((p) => [p.id, p]));
    }
    return byId.get(id);
  };
}
/** Runs `work` in the background, never twice at once; what asked meanwhile is served by one more run. */
function onceAtATime(work: () => Promise<void>, failed: (error: unknown) => void): () => void {
  let running = false;
  let again = false;
  const run = (): void => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    work()
      .catch(failed)
      .finally(() => {
        running = false;
        if (again) {
          again = false;
          run();
        }
      });
  };
  return run;
}
