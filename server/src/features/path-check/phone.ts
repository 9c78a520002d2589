/** The phone with which an administrator's browser tries its ways: an account of the engine with passwords of a short life. */
import { createHmac } from 'node:crypto';
import type { SipCredentials } from '../../ports/sip.ts';

export interface CheckPhone {
  readonly account: string;
  /** Its password at the engine; a pass for another machine holds it. */
  readonly secret: string;
  readonly now: () => number;
}
const WINDOW_MS = 10 * 60_000;
/** No session of a person has this id. */
const SESSION = 0;
const passwordOf = (secret: string, window: number): string =>
  createHmac('sha256', secret).update(`browser ${window}`).digest('base64url');

/** Valid for ten to twenty minutes. */
export const browserPassword = ({ secret, now }: CheckPhone): string =>
  passwordOf(secret, Math.floor(now() / WINDOW_MS));

/** Phones of sessions, and that of the check, which belongs to none. */
export function withCheckPhone(sip: SipCredentials, phone: CheckPhone): SipCredentials {
  return {
    prove(device, matches) {
      if (device !== phone.account) return sip.prove(device, matches);
      const window = Math.floor(phone.now() / WINDOW_MS);
      const passwords = [phone.secret, ...[window, window - 1].map((one) => passwordOf(phone.secret, one))];
      return passwords.some(matches) ? { session_id: SESSION, secret: phone.secret } : null;
    },
    endsAt: (id) => (id === SESSION ? phone.now() + WINDOW_MS : sip.endsAt(id)),
    onSessionEnded: (listener) => sip.onSessionEnded(listener),
  };
}
