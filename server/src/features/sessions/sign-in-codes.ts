/** Codes with which a phone signs in without a password: for one use, for two minutes, in memory only. */
import { audited } from '../../commands/audited.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Directory, Person } from '../../ports/directory.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { Otp } from './otp.ts';
import type { Proof } from './proof.ts';
import type { SessionStore } from './store.ts';
import { hashOf, newToken } from './tokens.ts';

export const LIFE_MS = 120_000;
/** Open codes of one person; a further one replaces the oldest. */
export const MAX_OF_PERSON = 3;
export const MAX_OPEN = 1_000;

interface Open {
  readonly person_id: number;
  /** Hash of the password when the code was made; after a change of the password the code opens no session. */
  readonly proven: string;
  readonly by: string;
  readonly by_session: number;
  readonly until: number;
}
export interface SignInCode {
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly expires_at: number;
}
/** Person who signs in by a code, and its creator. */
export interface Taken {
  readonly who: Person;
  readonly proven: string;
  readonly by: string;
  /** The code opens no session once this one has ended. */
  readonly by_session: number;
}
export interface SignInCodesDeps extends Common<'audit' | 'clock'> {
  readonly store: Pick<SessionStore, 'password'>;
  readonly otp: Pick<Otp, 'isOn'>;
  readonly proof: Pick<Proof, 'code'>;
  readonly directory: Pick<Directory, 'byExtension'>;
  readonly person: (id: number) => Person | undefined;
}

export class SignInCodes {
  readonly #deps: SignInCodesDeps;
  /** By the hash of the code, oldest first. */
  readonly #open = new Map<string, Open>();
  constructor(deps: SignInCodesDeps) {
    this.#deps = deps;
  }
  /** Throws `not_found`, `account_disabled`, `invalid_request` (no password), `otp_already_on`, `limit_reached`. */
  async make({ caller, ip }: Actor, extension: string): Promise<SignInCode> {
    const { audit, clock, directory, otp, store } = this.#deps;
    const who = directory.byExtension(extension);
    if (who === undefined) throw new ServiceError('not_found', say`no person has the extension ${extension}`);
    if (!who.active) throw new ServiceError('account_disabled', 'this account is not active');
    const proven = await store.password(who.id);
    if (proven === null)
      throw new ServiceError(
        'invalid_request',
        'extension: this person has no password, so a sign-in code cannot be created',
      );
    // A code for another person would skip the second factor; the own session has proven it.
    if (extension !== caller.extension && (await otp.isOn(who.id)))
      throw new ServiceError(
        'otp_already_on',
        'this person has a second factor and must create the code in their own account',
      );
    const line = { action: 'session.code_created', actor: caller.extension, object: extension, ip };
    return audited(audit, line, async () => {
      const until = clock.now() + LIFE_MS;
      const [by, by_session] = [caller.extension, caller.session_id];
      return { code: this.#give({ person_id: who.id, proven, by, by_session, until }), expires_at: until };
    });
  }
  /** Ends the code. Throws `sign_in_code_invalid`, `too_many_attempts`, `overloaded`. */
  async take(code: string, ip: string): Promise<Taken> {
    const hash = hashOf(code);
    return this.#deps.proof.code(hash, ip, () => {
      const open = this.#open.get(hash);
      this.#open.delete(hash);
      if (open === undefined || open.until <= this.#deps.clock.now()) return null;
      const who = this.#deps.person(open.person_id);
      if (who === undefined || !who.active) return null;
      const { proven, by, by_session } = open;
      return { who, proven, by, by_session };
    });
  }
  /** Opens a new code. Throws `limit_reached`. */
  #give(open: Open): string {
    const now = this.#deps.clock.now();
    this.#forget(({ until }) => until <= now);
    const mine = [...this.#open].filter(([, { person_id }]) => person_id === open.person_id);
    for (const [hash] of mine.slice(0, Math.max(0, mine.length - MAX_OF_PERSON + 1))) this.#open.delete(hash);
    if (this.#open.size >= MAX_OPEN)
      throw new ServiceError('limit_reached', 'too many codes are open; try again in two minutes');
    const code = newToken();
    this.#open.set(hashOf(code), open);
    return code;
  }
  /** Forgets the codes of an ended session, so that they take no place of open ones. */
  sessionEnded(sessionId: number): void {
    this.#forget(({ by_session }) => by_session === sessionId);
  }
  #forget(which: (open: Open) => boolean): void {
    for (const [hash, open] of this.#open) if (which(open)) this.#open.delete(hash);
  }
}
