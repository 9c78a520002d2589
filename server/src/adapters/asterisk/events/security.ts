import type { SipRefusal } from '../../../ports/engine.ts';
import { header } from '../ami/frame.ts';
import type { Frame } from '../ami/frame.ts';

/*
 * <event>  Service AccountID RemoteAddress
 *
 * RemoteAddress: IPV4/UDP/192.0.2.1/5060. What is let through (SuccessfulAuth) and asked for a password (ChallengeSent) is
 * switched off where it arises (conf/manager-files.ts).
 */
const service = header('Service');
const account = header('AccountID');
const remote = header('RemoteAddress');
const SIP = 'PJSIP';

const REASONS: Readonly<Record<string, SipRefusal['reason']>> = {
  InvalidPassword: 'password',
  ChallengeResponseFailed: 'password',
  InvalidAccountID: 'account',
  FailedACL: 'address',
  UnexpectedAddress: 'address',
  InvalidTransport: 'address',
  RequestNotAllowed: 'request',
  AuthMethodNotAllowed: 'request',
  RequestBadFormat: 'request',
  RequestNotSupported: 'request',
};
export const SECURITY_EVENTS: ReadonlySet<string> = new Set(Object.keys(REASONS));

/** Null for any other event, and for services other than SIP. */
export function refusalOf(name: string, frame: Frame): SipRefusal | null {
  const reason = REASONS[name];
  if (reason === undefined || frame.get(service) !== SIP) return null;
  return {
    reason,
    account: frame.get(account) ?? '',
    address: /^IPV[46]\/[A-Z]+\/([0-9A-Fa-f.:]+)\/\d+$/.exec(frame.get(remote) ?? '')?.[1] ?? '',
  };
}
