import { hash } from 'node:crypto';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Queue } from '../../core/queue.ts';
import { verifyPassword } from './password.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { Person } from '../../ports/directory.ts';
import type { Caller } from '../../ports/http.ts';
import type { Common } from '../../ports/common.ts';
import type { KnownDevices } from './devices.ts';
import type { Otp } from './otp.ts';
import type { SessionStore } from './store.ts';
import { createThrottle } from './throttle.ts';
import type { Attempt, Known } from './throttle.ts';

export interface ProofOptions extends Common<'audit' | 'clock' | 'directory' | 'log'> {
  readonly store: SessionStore;
  /** Bounds the reads before a sender has proven anything. */
  readonly reads: Queue;
  readonly otp: Otp;
  readonly devices: KnownDevices;
  readonly person: (id: number) => Person | undefined;
}
export interface Claim {
  /** Extension or user name. */
  readonly name: string;
  readonly password: string;
  /** Digits of the authenticator, or a recovery code; checked only if the second factor is on. */
  readonly otp?: string | null | undefined;
  readonly ip: string;
  /** The device cookie of an earlier sign-in. */
  readonly device?: string | undefined;
}
/** A person whose password was right; `phc`: its stored hash. */
export interface Proven {
  readonly who: Person;
  readonly phc: string;
}
/** Proofs of identity. Every guess is throttled, every wrong one is audited. */
export interface Proof {
  /** Throws `too_many_attempts`, `overloaded`, `invalid_credentials`, `otp_required`, `account_disabled`. */
  signIn(claim: Claim): Promise<Proven>;
  /** Repeats the whole sign-in. Throws as `signIn` does. */
  wholly(caller: Caller, given: Pick<Claim, 'password' | 'otp'>, ip: string, action: string): Promise<void>;
  /** Checks the caller's own password before a sensitive operation. Throws as `signIn` does. */
  again(caller: Caller, password: string, ip: string, action: string): Promise<Proven>;
  /**
   * Runs one proof of a session, which counts as a known device; `judge` must end the attempt, or the guess
   * is not counted.
   */
  guess<T>(caller: Caller, ip: string, judge: (attempt: Attempt) => Promise<T>): Promise<T>;
  /** Counts the guesses of a session with those of the session that it replaces. */
  continues(session: number, former: number): void;
  /**
   * Runs one sign-in by a code, whose hash is given. Throws `sign_in_code_invalid` where `take` finds none, and
   * `too_many_attempts`, `overloaded`.
   */
  code<T>(hash: string, ip: string, take: () => T | null): Promise<T>;
}
type Failure = 'unknown' | 'password' | 'disabled' | 'otp' | 'otp_missing';

/** Limit of remembered sessions; their failures count for 15 minutes only. */
const MAX_REPLACED = 10_000;
export const accountOf = (personId: number): string => `person:${personId}`;
export const otpRequired = (): ServiceError =>
  new ServiceError('otp_required', 'the second factor is missing or wrong', { body: { otp_required: true } });

const refusedEntry = (action: string, who: Person, ip: string, reason: Failure): AuditEntry => ({
  action,
  actor: who.extension,
  object: who.extension,
  outcome: 'refused',
  ip,
  detail: { reason },
});

const failedLogin = (object: string | null, ip: string, reason: Failure | 'code' | null): AuditEntry => ({
  action: 'session.login_failed',
  actor: null,
  object,
  outcome: 'refused',
  ip,
  detail: { reason },
});
/** Hash of a person, and whether the person has signed in from the network of `ip`. */
async function storedOf(store: SessionStore, who: Person | undefined, ip: string | null) {
  if (who === undefined) return { phc: null, network: false };
  return {
    phc: await store.password(who.id),
    network: ip !== null && (await store.signedInFrom(who.id, ip)),
  };
}
/** Changes of a person to their own sign-in. */
export const ownEntry = (
  action: string,
  extension: string,
  ip: string,
  detail: AuditEntry['detail'] = {},
): AuditEntry => ({ action, actor: extension, object: extension, outcome: 'ok', ip, detail });

/** Implements `Proof.code`. */
function byCode(
  attempted: <T>(
    account: string,
    ip: string,
    known: Known,
    judge: (attempt: Attempt) => Promise<T>,
  ) => Promise<T>,
  recordFailure: (entry: AuditEntry) => Promise<void>,
): Proof['code'] {
  return async (codeHash, ip, take) => {
    const taken = await attempted(`code:${codeHash}`, ip, {}, (attempt) => {
      const found = take();
      if (found === null) attempt.failed();
      else attempt.succeeded();
      return Promise.resolve(found);
    });
    if (taken !== null) return taken;
    await recordFailure(failedLogin(null, ip, 'code'));
    throw new ServiceError('sign_in_code_invalid', 'this code is unknown, was used, or has expired');
  };
}

export function createProof(options: ProofOptions): Proof {
  const { store, reads, otp, devices, clock, directory, person, audit, log } = options;
  const throttle = createThrottle(clock);

  /** A wrong guess is answered even if the audit fails. */
  async function recordFailure(entry: AuditEntry): Promise<void> {
    try {
      await audit.record(entry);
    } catch (error) {
      log.warn(
        { error: messageOf(error), action: entry.action },
        'an entry of the audit trail could not be stored',
      );
    }
  }
  async function attempted<T>(
    account: string,
    ip: string,
    known: Known,
    judge: (attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    const attempt = await throttle.enter(account, ip, known);
    try {
      return await judge(attempt);
    } finally {
      attempt.abandoned();
    }
  }
  /** First session of each row of sessions that changes of the password replaced; the oldest are forgotten. */
  const firsts = new Map<number, number>();
  const firstOf = (session: number): number => firsts.get(session) ?? session;
  const guess = <T>({ person_id, session_id }: Caller, ip: string, judge: (attempt: Attempt) => Promise<T>) =>
    attempted(accountOf(person_id), ip, { device: `session ${firstOf(session_id)}` }, judge);
  async function judgeSignIn(
    attempt: Attempt,
    who: Person | undefined,
    phc: string | null,
    { password, otp: given }: Pick<Claim, 'password' | 'otp'>,
  ): Promise<Failure | null> {
    const right = await verifyPassword(phc, password);
    if (who === undefined || !right) {
      attempt.failed();
      return who === undefined ? 'unknown' : 'password';
    }
    if (!who.active) return 'disabled';
    const second = await otp.check(who.id, given ?? '');
    // A right password without digits proves too little to reset the earlier failures.
    if (second === 'missing') return 'otp_missing';
    if (second === 'wrong') {
      attempt.failed('digits');
      return 'otp';
    }
    attempt.succeeded();
    return null;
  }
  function refusal(failure: Failure | null): ServiceError {
    switch (failure) {
      case 'disabled':
        return new ServiceError('account_disabled', 'this account is not active');
      case 'otp':
      case 'otp_missing':
        return otpRequired();
      default:
        return new ServiceError('invalid_credentials', 'unknown person or wrong password');
    }
  }

  return {
    guess,
    continues(session, former) {
      firsts.set(session, firstOf(former));
      if (firsts.size > MAX_REPLACED) firsts.delete(firsts.keys().next().value!);
    },
    code: byCode(attempted, recordFailure),
    async signIn(claim) {
      const { name, ip } = claim;
      const who = directory.byExtension(name) ?? directory.byUsername(name);
      const account =
        who === undefined ? `name:${hash('sha256', name.toLowerCase(), 'base64url')}` : accountOf(who.id);
      const device = who === undefined ? null : devices.idOf(who.id, claim.device);
      const { phc, network } = await reads.run(() => storedOf(store, who, device === null ? ip : null));
      const failure = await attempted(account, ip, { device, network }, (attempt) =>
        judgeSignIn(attempt, who, phc, claim),
      );
      if (failure === null && who !== undefined && phc !== null) return { who, phc };
      if (failure !== 'otp_missing') {
        // An unknown name may be a password typed into the wrong field, so it is not audited.
        await recordFailure(failedLogin(who?.extension ?? null, ip, failure));
      }
      throw refusal(failure);
    },
    async wholly(caller, given, ip, action) {
      const who = person(caller.person_id);
      if (who === undefined) throw new ServiceError('not_authenticated', 'sign in again');
      const phc = await store.password(who.id);
      const failure = await guess(caller, ip, (attempt) => judgeSignIn(attempt, who, phc, given));
      if (failure === null) return;
      if (failure !== 'otp_missing') await recordFailure(refusedEntry(action, who, ip, failure));
      throw refusal(failure);
    },
    async again(caller, password, ip, action) {
      const who = person(caller.person_id);
      if (who === undefined) throw new ServiceError('not_authenticated', 'sign in again');
      const phc = await store.password(who.id);
      const right = await guess(caller, ip, async (attempt) => {
        const fits = await verifyPassword(phc, password);
        // A right password resets nothing: wrong digits after it must add up.
        if (!fits) attempt.failed();
        return fits;
      });
      if (right && phc !== null) return { who, phc };
      await recordFailure(refusedEntry(action, who, ip, 'password'));
      throw new ServiceError('invalid_credentials', 'the current password is wrong');
    },
  };
}
