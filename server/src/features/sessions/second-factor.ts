import { hasCode } from '../../core/errors.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Caller } from '../../ports/http.ts';
import type { Otp } from './otp.ts';
import { otpRequired } from './proof.ts';
import type { Proof } from './proof.ts';

/** A person's own second factor. */
export interface SecondFactor {
  isOn(personId: number): Promise<boolean>;
  /**
   * Creates an authenticator that is not yet on. Without a password the session was confirmed. Throws as `Proof.again`, and
   * `otp_already_on`.
   */
  enrol(
    caller: Caller,
    password: string | undefined,
    issuer: string,
    ip: string,
  ): Promise<{ secret: string; uri: string }>;
  /** Switches it on; returns the recovery codes. Throws `otp_required`, `otp_already_on`, `too_many_attempts`. */
  confirm(caller: Caller, digits: string, ip: string): Promise<string[]>;
  /** Switches it off, with the password and the factor itself. Throws as `Proof.again`, and `otp_required`. */
  remove(caller: Caller, password: string, given: string, ip: string): Promise<void>;
}

export function createSecondFactor(otp: Otp, proof: Proof, audit: Audit): SecondFactor {
  const record = (caller: Caller, action: string, ip: string): Promise<void> =>
    audit.record({ action, actor: caller.extension, object: caller.extension, outcome: 'ok', ip });
  return {
    isOn: (personId) => otp.isOn(personId),
    async enrol(caller, password, issuer, ip) {
      if (password !== undefined) await proof.again(caller, password, ip, 'session.otp_failed');
      return otp.enrol(caller.person_id, caller.username, issuer);
    },
    async confirm(caller, digits, ip) {
      const codes = await proof.guess(caller, ip, async (attempt) => {
        try {
          return await otp.confirm(caller.person_id, digits);
        } catch (error) {
          if (hasCode(error, 'otp_required')) attempt.failed();
          throw error;
        }
      });
      await record(caller, 'session.otp_on', ip);
      return codes;
    },
    async remove(caller, password, given, ip) {
      const { who } = await proof.again(caller, password, ip, 'session.otp_failed');
      await proof.guess(caller, ip, async (attempt) => {
        const verdict = await otp.check(who.id, given);
        if (verdict === 'right' || verdict === 'off') return;
        attempt.failed('digits');
        throw otpRequired();
      });
      await otp.disable(who.id);
      await record(caller, 'session.otp_off', ip);
    },
  };
}
