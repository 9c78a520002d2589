/** Credentials of the TURN server: valid for an hour and never stored, because the server checks their signature. */
import { createHmac } from 'node:crypto';
import type { Sip } from '@offhook/contract/session.ts';
import type { z } from 'zod';
import type { SiteNetwork } from '../../ports/site.ts';

const LIFE_SECONDS = 3_600;
export interface TurnSigner {
  readonly network: () => Pick<SiteNetwork, 'turn_port' | 'turn_tls_port'>;
  readonly secret: string;
  readonly now: () => number;
}
/** Credentials of `user` for some seconds from `now`, in ms. */
export function turnLogin(
  secret: string,
  { user, now, seconds }: { readonly user: string; readonly now: number; readonly seconds: number },
): { readonly username: string; readonly credential: string } {
  const username = `${Math.floor(now / 1000) + seconds}:${user}`;
  // The scheme of TURN's REST API, which servers know with SHA-1 only.
  return { username, credential: createHmac('sha1', secret).update(username).digest('base64') };
}
/** `host`: this machine as the client reaches it. Null where the site has no TURN server. */
export function turnOf(
  { network, secret, now }: TurnSigner,
  host: string,
  extension: string,
): z.infer<typeof Sip>['turn'] {
  const { turn_port: port, turn_tls_port: secured } = network();
  if (port === null) return null;
  return {
    ...turnLogin(secret, { user: extension, now: now(), seconds: LIFE_SECONDS }),
    urls: [
      `turn:${host}:${port}?transport=udp`,
      `turn:${host}:${port}?transport=tcp`,
      ...(secured === null ? [] : [`turns:${host}:${secured}?transport=tcp`]),
    ],
  };
}
