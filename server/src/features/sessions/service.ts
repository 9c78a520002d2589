import { setImmediate as yieldLoop } from 'node:timers/promises';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import type { Transaction } from 'kysely';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { Queue } from '../../core/queue.ts';
import { hashPassword, isOutdated, overloaded, verifyPassword } from './password.ts';
import type { PasswordCost } from './password.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory, Person } from '../../ports/directory.ts';
import type { Authenticator, Caller } from '../../ports/http.ts';
import type { Common } from '../../ports/common.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { SipCredentials } from '../../ports/sip.ts';
import { SessionCache } from './cache.ts';
import type { Live } from './cache.ts';
import { createCompanyLogouts } from './company-logouts.ts';
import type { CompanyLogouts } from './company-logouts.ts';
import { createConfirmation } from './confirmation.ts';
import type { Confirmation } from './confirmation.ts';
import { createKnownDevices } from './devices.ts';
import type { KnownDevices } from './devices.ts';
import { createOtp } from './otp.ts';
import type { Otp } from './otp.ts';
import { createSignIns } from './people.ts';
import type { SignIns } from './people.ts';
import { personalDataOf } from './personal-data.ts';
import { createProof, ownEntry } from './proof.ts';
import type { Claim, Proof } from './proof.ts';
import { createSecondFactor } from './second-factor.ts';
import type { SecondFactor } from './second-factor.ts';
import { SignInCodes } from './sign-in-codes.ts';
import { createSessionSip } from './sip.ts';
import type { SessionSip } from './sip.ts';
import { SessionStore } from './store.ts';
import type { CompanyAccount, NewPassword, NewSession, SessionRow, SessionTables } from './store.ts';
import { Tokens, hashOf, newToken } from './tokens.ts';
import { Upkeep } from './upkeep.ts';

/** Sessions that one statement reads, as `SessionStore.among` allows. */
const READ_AT_ONCE = 500;

export interface SessionSettings {
  readonly sessionIdleSeconds: number;
  readonly sessionAbsoluteSeconds: number;
}
export interface SessionsOptions extends Common<'clock' | 'directory' | 'log' | 'store'> {
  readonly audit: Required<Audit>;
  readonly config: SessionSettings;
  /** Key from which the SIP passwords of sessions are derived. */
  readonly sipKey: Buffer;
  /** Whether people of this level need a second factor; no level does where it is absent. */
  readonly requiresFactor?: (level: PersonLevel) => boolean;
}
export interface LoginInput extends Claim {
  readonly device_name?: string | null | undefined;
  readonly platform?: string | null | undefined;
  /** Token that the browser still sends; its session ends. */
  readonly replaces?: string | undefined;
}
/** `replaces`: the session that the browser had, which ends. */
export interface CompanySignIn extends Pick<LoginInput, 'device_name' | 'platform' | 'ip' | 'device'> {
  readonly account: CompanyAccount;
  readonly fresh: boolean;
  readonly replaces: number | null;
}
/** A token in clear text, which exists only in this reply. */
export interface Issued {
  readonly token: string;
  readonly session_id: number;
  readonly person: Person;
  /** SIP password of this session. */
  readonly sip_password: string;
  /** Device cookie for the browser's next sign-in. */
  readonly device: string;
  /** Expiry without use or refresh, in milliseconds since 1970. */
  readonly expires_at: number;
}
export type EndReason =
  | 'logout'
  | 'ended'
  | 'password_changed'
  | 'disabled'
  | 'replaced'
  | 'company_logout'
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

/** Reads of the database at once for requests without a proven sender: a flood of them leaves its other connections to others. */
const UNPROVEN_READS = { places: 4, most_waiting: 256 };

/** Sign-in, sessions and their tokens. */
export class Sessions implements Authenticator {
  /** Second factor of the caller. */
  readonly otp: SecondFactor;
  readonly confirmation: Confirmation;
  /** Sign-in by a code that a phone scans. */
  readonly codes: SignInCodes;
  /** Sign-ins of other people, for administrators. */
  readonly others: SignIns;
  /** Logouts of the company's provider. */
  readonly companyLogouts: CompanyLogouts;
  /** Credentials with which the relay checks phones. */
  readonly sip: SipCredentials;
  readonly #clock: Clock;
  readonly #audit: Required<Audit>;
  readonly #log: Log;
  readonly #absoluteMs: number;
  readonly #requiresFactor: (level: PersonLevel) => boolean;
  readonly #store: SessionStore;
  readonly #otp: Otp;
  readonly #cache: SessionCache;
  readonly #person: (id: number) => Person | undefined;
  readonly #tokens: Tokens;
  readonly #sip: SessionSip;
  readonly #knownDevices: KnownDevices;
  readonly #proof: Proof;
  readonly #upkeep: Upkeep;
  readonly #endListeners = new Set<(sessionId: number, reason: EndReason) => void>();
  readonly #passwordListeners = new Set<(personId: number) => void>();
  /** Sessions that ended with a version of the configuration whose directory is not shown yet. */
  #disabled: readonly number[] = [];
  readonly #stopDirectory: () => void;

  private constructor(options: SessionsOptions, store: SessionStore, otp: Otp) {
    const { clock, directory, audit, config, sipKey } = options;
    const log = options.log.child({ part: 'sessions' });
    const reads = new Queue({ ...UNPROVEN_READS, refusal: overloaded });
    // Clients that come back after a restart are never refused.
    const cache = new SessionCache((tokenHash) => reads.run(() => store.token(tokenHash), { urgent: true }));
    const person = personById(directory);
    const idleMs = config.sessionIdleSeconds * 1000;
    this.#clock = clock;
    this.#audit = audit;
    this.#log = log;
    this.#absoluteMs = config.sessionAbsoluteSeconds * 1000;
    this.#requiresFactor = options.requiresFactor ?? (() => false);
    this.#store = store;
    this.#otp = otp;
    this.#cache = cache;
    this.#person = person;
    this.#tokens = new Tokens({ cache, clock, directory, person, idleMs });
    this.#sip = createSessionSip({
      key: sipKey,
      live: (personId, now) => store.live(personId, now),
      lastUsed: (id) => cache.lastUsed(id),
      touch: (id, now) => cache.touchSession(id, now),
      directory,
      person,
      lacksFactor: (who) => this.lacksFactor(who),
      idleMs,
      clock,
    });
    this.sip = { ...this.#sip, onSessionEnded: (listener) => this.onSessionEnded(listener) };
    this.#knownDevices = createKnownDevices(sipKey);
    this.#proof = createProof({
      store,
      reads,
      otp,
      devices: this.#knownDevices,
      clock,
      directory,
      person,
      audit,
      log,
    });
    this.otp = createSecondFactor(otp, this.#proof, audit);
    this.confirmation = createConfirmation(this.#proof, clock);
    this.codes = new SignInCodes({ store, otp, proof: this.#proof, directory, person, audit, clock });
    this.others = createSignIns({
      store,
      otp,
      directory,
      audit,
      clock,
      idleMs,
      devices: (personId) => this.devices(personId),
      ended: (ids, reason) => this.#ended(ids, reason),
    });
    this.companyLogouts = createCompanyLogouts({
      store,
      audit,
      clock,
      person,
      ended: (ids) => this.#ended(ids, 'company_logout'),
    });
    this.#stopDirectory = directory.onChange(() => {
      const ids = this.#disabled;
      this.#disabled = [];
      this.#ended(ids, 'disabled');
    });
    const endSessionsOf = async (id: number): Promise<void> =>
      this.#ended(await store.end({ person_id: id }, 'disabled', clock.now()), 'disabled');
    this.#upkeep = new Upkeep({ store, cache, clock, directory, person, log, endSessionsOf });
  }
  /** Runs the migrations. Throws `store_unavailable`. */
  static async open(options: SessionsOptions): Promise<Sessions> {
    const store = await SessionStore.open(options.store);
    return new Sessions(options, store, await createOtp(options.store, options.clock));
  }

  authenticate(token: string): Caller | null | Promise<Caller | null> {
    return this.#tokens.authenticate(token);
  }

  /** Throws as `Proof.signIn`, and `store_unavailable`. */
  async login(input: LoginInput): Promise<Issued> {
    const { device_name, platform, ip, device, replaces } = input;
    const { who, phc } = await this.#proof.signIn(input);
    const proven = isOutdated(phc) ? await this.#renewed(who.id, phc, input.password) : phc;
    const issued = await this.#open(who, proven, { device_name, platform, ip, device });
    this.confirmation.opened(issued.session_id);
    await this.#recordLogin(issued, input);
    if (replaces !== undefined) {
      const old = await this.#tokens.owned(replaces);
      if (old !== null && !this.#tokens.isRetired(old.live)) await this.#replaced(old.live.session.id);
    }
    return issued;
  }

  /**
   * Signs in a person whom the company's provider has identified. `fresh`: the person has just signed in there, which confirms the
   * session. Throws `account_disabled`, `store_unavailable`.
   */
  async loginByCompany(
    who: Person,
    { account: company, fresh, replaces, ...device }: CompanySignIn,
  ): Promise<Issued> {
    const issued = await this.#open(who, null, { ...device, company });
    if (fresh) this.confirmation.opened(issued.session_id);
    await this.#recordLogin(issued, device, { by: 'company' });
    if (replaces !== null) await this.#replaced(replaces);
    return issued;
  }
  /** Confirms a session of this person, who has just signed in at the company's provider. Throws `not_authenticated`. */
  async confirmByCompany(who: Person, sessionId: number): Promise<void> {
    const row = await this.#store.session(sessionId);
    if (row === undefined || row.ended_at !== null || row.person_id !== who.id)
      throw new ServiceError('not_authenticated', 'sign in first');
    this.confirmation.confirmed(sessionId);
  }

  /**
   * Signs in by a code, which proves less than a password: the session does not count as confirmed. Throws as
   * `SignInCodes.take`, also where the session that created the code has ended, `invalid_credentials` where the password was
   * changed since, and `store_unavailable`.
   */
  async loginByCode(
    code: string,
    device: Pick<LoginInput, 'device_name' | 'platform' | 'ip'>,
  ): Promise<Issued> {
    const { who, proven, by, by_session } = await this.codes.take(code, device.ip);
    const issued = await this.#open(who, proven, { ...device, by_session });
    await this.#recordLogin(issued, device, { code_of: by });
    return issued;
  }

  /**
   * Throws `not_authenticated` for an unknown, ended or expired token. A retired token is a copy, so its session ends
   * with all its tokens; a session that was idle for too long ends too. Both are written to the audit trail.
   */
  async refresh(token: string, ip: string): Promise<Issued> {
    const found = await this.#tokens.owned(token);
    if (found === null) throw new ServiceError('not_authenticated', 'sign in again');
    const { live, who } = found;
    const retired = this.#tokens.isRetired(live);
    if (retired || this.#tokens.isIdle(live)) {
      await this.#refuseRefresh(live, who, retired ? 'replayed' : 'idle', ip);
      throw new ServiceError('not_authenticated', 'sign in again');
    }
    const next = newToken();
    const now = this.#clock.now();
    const dropped = await this.#store.rotate(live.session.id, live.token.hash, hashOf(next), now);
    this.#cache.refreshed(live, now, dropped);
    return {
      token: next,
      session_id: live.session.id,
      person: who,
      sip_password: this.#sip.passwordOf(live.session),
      device: this.#knownDevices.give(who.id, undefined),
      expires_at: this.#tokens.expiry(now, live.session.ends_at),
    };
  }

  async logout(caller: Caller, ip: string): Promise<void> {
    this.#ended(await this.#store.end({ id: caller.session_id }, 'logout', this.#clock.now()), 'logout');
    await this.#audit.record(
      ownEntry('session.logout', caller.extension, ip, { session: caller.session_id }),
    );
  }

  /** Ends one session of the caller; throws `not_found`. */
  async end(caller: Caller, sessionId: number, ip: string): Promise<void> {
    const ids = await this.#store.end(
      { id: sessionId, person_id: caller.person_id },
      'ended',
      this.#clock.now(),
    );
    if (ids.length === 0) throw new ServiceError('not_found', 'you have no such session');
    this.#ended(ids, 'ended');
    await this.#audit.record(ownEntry('session.ended', caller.extension, ip, { session: sessionId }));
  }

  /** Ends every session of the caller and opens a new one. Throws as `login` does. */
  async changePassword(caller: Caller, current: string, next: string, ip: string): Promise<Issued> {
    const { who, phc: proven } = await this.#proof.again(caller, current, ip, 'session.password_failed');
    const phc = await hashPassword(next);
    const entry = ownEntry('session.password_changed', who.extension, ip);
    // An administrator may have given the person another password since the proof.
    await this.#setPassword(who.id, phc, { proven, note: (trx) => this.#audit.recordIn(trx, entry) });
    const issued = await this.#open(who, phc, { ip });
    // Otherwise each change of the password, which proves no second factor, would allow five more guesses of its digits.
    this.#proof.continues(issued.session_id, caller.session_id);
    // A password alone confirms no session of a person with a second factor.
    if (!this.hasFactor(who.id)) this.confirmation.opened(issued.session_id);
    return issued;
  }

  /** True when the person's second factor is on; from memory. */
  hasFactor(personId: number): boolean {
    return this.#otp.has(personId);
  }
  /** True for a person who must set up a second factor first; from memory. */
  lacksFactor({ id, level }: Pick<Person, 'id' | 'level'>): boolean {
    return this.#requiresFactor(level) && !this.#otp.has(id);
  }

  /** Sets a password and ends the person's sessions; for the seeder and administrators. */
  async setPassword(personId: number, password: string, cost?: PasswordCost): Promise<void> {
    await this.#setPassword(personId, await hashPassword(password, cost));
  }

  /** Ids of the persons with a password. */
  withPassword(): Promise<ReadonlySet<number>> {
    return this.#store.withPassword();
  }

  /**
   * Marks the session as used by a socket; resolves with its expiry without further use (ms since 1970), null
   * if it has ended.
   */
  async use(sessionId: number): Promise<number | null> {
    const row = await this.#store.session(sessionId);
    const now = this.#clock.now();
    if (row === undefined || row.ended_at !== null || now >= row.ends_at) return null;
    if (this.#person(row.person_id)?.active !== true) return null;
    this.#cache.touchSession(sessionId, now);
    return this.#tokens.expiry(now, row.ends_at);
  }

  /** Calls `listener` with each person whose password changes; returns a function that removes it. */
  onPasswordChanged(listener: (personId: number) => void): () => void {
    this.#passwordListeners.add(listener);
    return () => this.#passwordListeners.delete(listener);
  }

  /** The SIP password of a live session. Throws `not_authenticated`, `store_unavailable`. */
  async sipPassword(sessionId: number): Promise<string> {
    const row = await this.#store.session(sessionId);
    if (row === undefined || row.ended_at !== null) {
      throw new ServiceError('not_authenticated', 'sign in first');
    }
    return this.#sip.passwordOf(row);
  }

  /**
   * Ends the sessions of persons in the transaction of the version that disables or removes them, so that none continues
   * once they are enabled again. Their sockets are closed when the directory changes.
   */
  async endWith<T>(trx: Transaction<T>, people: readonly number[]): Promise<void> {
    const own = trx as unknown as Transaction<SessionTables>;
    this.#disabled = await this.#store.endIn(own, people, 'disabled', this.#clock.now());
  }

  /** `holdersOf`: ids of the persons who ever had an extension, the newest first. */
  personalData(holdersOf: (extension: string) => Promise<readonly number[]>): PersonalData {
    return personalDataOf({
      store: this.#store,
      // A person who has another extension now is no subject.
      holdersOf: async (extension) =>
        (await holdersOf(extension)).filter((id) => (this.#person(id)?.extension ?? extension) === extension),
      lastUsed: (id) => this.#cache.lastUsed(id),
      ended: (ids) => this.#ended(ids, 'ended'),
    });
  }

  async close(): Promise<void> {
    this.#stopDirectory();
    await this.#upkeep.close();
  }

  /** Sessions of a person that have neither ended nor expired, oldest first. */
  async devices(personId: number): Promise<DeviceRow[]> {
    const now = this.#clock.now();
    const rows = await this.#store.live(personId, now);
    return rows.map((row) => this.#deviceOf(row)).filter(({ expires_at }) => expires_at > now);
  }
  /** Those of these sessions that have neither ended nor expired. */
  async alive(ids: readonly number[]): Promise<ReadonlySet<number>> {
    return new Set((await this.holders(ids)).keys());
  }
  /** Active persons of those of these sessions that have neither ended nor expired. */
  async holders(ids: readonly number[]): Promise<ReadonlyMap<number, Person>> {
    const now = this.#clock.now();
    const found = new Map<number, Person>();
    for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
      // Lets other work run between two reads.
      if (from > 0) await yieldLoop();
      for (const row of await this.#store.among(ids.slice(from, from + READ_AT_ONCE), now)) {
        const who = this.#person(row.person_id);
        if (who?.active === true && this.#deviceOf(row).expires_at > now) found.set(row.id, who);
      }
    }
    return found;
  }
  #deviceOf({
    id,
    device_name,
    platform,
    address,
    created_at,
    last_used_at,
    ends_at,
  }: SessionRow): DeviceRow {
    const last = Math.max(last_used_at, this.#cache.lastUsed(id) ?? 0);
    const expires_at = this.#tokens.expiry(last, ends_at);
    return { id, device_name, platform, address, created_at, last_used_at: last, expires_at };
  }

  /** Stores times of last use that are only in memory. Throws `store_unavailable`. */
  save(): Promise<void> {
    return this.#upkeep.save();
  }

  /** Calls `listener` with each session that ends, to close its sockets; returns a function that removes `listener`. */
  onSessionEnded(listener: (sessionId: number, reason: EndReason) => void): () => void {
    this.#endListeners.add(listener);
    return () => void this.#endListeners.delete(listener);
  }

  #ended(ids: readonly number[], reason: EndReason): void {
    for (const id of ids) {
      this.#cache.end(id);
      this.#sip.ended(id);
      this.codes.sessionEnded(id);
      for (const listener of this.#endListeners) {
        try {
          listener(id, reason);
        } catch (error) {
          this.#log.error({ error: messageOf(error) }, 'a listener for ended sessions failed');
        }
      }
    }
  }

  async #replaced(id: number): Promise<void> {
    this.#ended(await this.#store.end({ id }, 'replaced', this.#clock.now()), 'replaced');
  }
  async #open(
    who: Person,
    proven: string | null,
    device: Pick<LoginInput, 'device_name' | 'platform' | 'ip' | 'device'> &
      Pick<NewSession, 'by_session' | 'company'>,
  ): Promise<Issued> {
    const token = newToken();
    const at = this.#clock.now();
    const session = {
      person_id: who.id,
      device_name: device.device_name ?? null,
      platform: device.platform ?? null,
      address: device.ip,
      at,
      ends_at: at + this.#absoluteMs,
      hash: hashOf(token),
      proven,
      by_session: device.by_session,
      company: device.company,
    };
    const { id, crowded } = await this.#store.add(session);
    this.#ended(crowded, 'crowded');
    // The person may have been disabled while the session was stored.
    if (this.#person(who.id)?.active !== true) {
      this.#ended(await this.#store.end({ id }, 'disabled', this.#clock.now()), 'disabled');
      throw new ServiceError('account_disabled', 'this account is not active');
    }
    const row = { id, person_id: who.id, created_at: at, last_used_at: at, ends_at: session.ends_at };
    this.#sip.opened(row);
    return {
      token,
      session_id: id,
      person: who,
      sip_password: this.#sip.passwordOf(row),
      device: this.#knownDevices.give(who.id, device.device),
      expires_at: this.#tokens.expiry(at, session.ends_at),
    };
  }

  /** Records a sign-in; ends the session if the audit trail cannot store it. */
  async #recordLogin(
    { session_id, person }: Issued,
    { device_name, platform, ip }: Pick<LoginInput, 'device_name' | 'platform' | 'ip'>,
    more: AuditEntry['detail'] = {},
  ): Promise<void> {
    try {
      await this.#audit.record(
        ownEntry('session.login', person.extension, ip, {
          session: session_id,
          device_name: device_name ?? null,
          platform: platform ?? null,
          ...more,
        }),
      );
    } catch (error) {
      await this.#store.end({ id: session_id }, 'ended', this.#clock.now()).catch(() => []);
      throw error;
    }
  }

  /** Ends the session of a replayed or idle token and writes the reason to the audit trail. */
  async #refuseRefresh(
    { session: { id } }: Live,
    who: Person,
    reason: 'replayed' | 'idle',
    ip: string,
  ): Promise<void> {
    const ids = await this.#store.end({ id }, reason, this.#clock.now(), (trx) =>
      this.#audit.recordIn(trx, {
        action: 'session.refresh_refused',
        actor: null,
        object: who.extension,
        outcome: 'refused',
        ip,
        detail: { session: id, reason },
      }),
    );
    this.#ended(ids, reason);
  }

  /** Replaces a hash of former costs; resolves with the stored one. */
  async #renewed(personId: number, phc: string, password: string): Promise<string> {
    const renewed = await hashPassword(password);
    try {
      await this.#store.setPassword(personId, renewed, this.#clock.now(), {
        proven: phc,
        keepsSessions: true,
      });
      return renewed;
    } catch (error) {
      // Another sign-in of the person may have replaced it meanwhile.
      const stored = await this.#store.password(personId);
      if (stored === null || stored === phc || !(await verifyPassword(stored, password))) throw error;
      return stored;
    }
  }
  async #setPassword(personId: number, phc: string, given: NewPassword = {}): Promise<void> {
    this.#ended(await this.#store.setPassword(personId, phc, this.#clock.now(), given), 'password_changed');
    this.#passwordListeners.forEach((listener) => listener(personId));
  }
}

/** Persons by id; the index is rebuilt when the directory changes. */
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
