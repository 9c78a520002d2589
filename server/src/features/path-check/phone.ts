/** Account of the engine with short-lived passwords, with which the browser of an administrator tries its ways. */
import { createHmac } from 'node:crypto';
import type { SipCredentials } from '../../ports/sip.ts';

export interface CheckPhone {
  readonly account: string;
  /** Permanent password of the account; a pass for the path check from another machine contains it. */
  readonly secret: string;
  readonly now: () => number;
}
const WINDOW_MS = 10 * 60_000;
/** No session of a person has this id. */
const SESSION = 0;
const passwordOf = (secret: string, window: number): string =>
  createHmac('sha256', secret).update(`browser ${window}`).digest('base64url');

/** Current password for browsers; it is valid for ten to twenty minutes. */
export const browserPassword = ({ secret, now }: CheckPhone): string =>
  passwordOf(secret, Math.floor(now() / WINDOW_MS));

/** SIP credentials of the sessions, and of the path check's account, which belongs to no session. */
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
