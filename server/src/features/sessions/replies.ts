import type { LoginReply, PushConfig, SessionUser, SignInCodeReply, Sip } from '@offhook/contract/session.ts';
import { ROLE_OF_LEVEL } from '@offhook/contract/ids.ts';
import type { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import type { EndpointKind, Person } from '../../ports/directory.ts';
import type { Issued } from './service.ts';
import type { SignInCode } from './sign-in-codes.ts';
import { turnOf } from './turn.ts';
import type { TurnSigner } from './turn.ts';

export const userOf = (person: Person): z.infer<typeof SessionUser> => ({
  id: person.id,
  username: person.username,
  full_name: person.name === '' ? null : person.name,
  email: person.email,
  extension: person.extension,
  role: ROLE_OF_LEVEL[person.level],
  level: person.level,
});

/**
 * SIP settings of a session's phones: `password` belongs to the session and ends with it. `origin` is the
 * service's address for the client (`https://pbx.example.com`); phones register at its host, over WebSocket
 * at its `/ws`.
 */
export function sipOf(
  person: Person,
  password: string,
  origin: string,
  sipPort: number,
  turn: TurnSigner,
): z.infer<typeof Sip> {
  const address = new URL(URL.canParse(origin) ? origin : 'http://localhost');
  const endpoint = (kind: EndpointKind): string =>
    person.endpoints.find((e) => e.kind === kind)?.name ?? person.extension;
  return {
    extension: person.extension,
    sip_username: endpoint('mobile'),
    native_sip_username: endpoint('sip'),
    webrtc_username: endpoint('webrtc'),
    sip_password: password,
    domain: address.hostname,
    sip_port: sipPort,
    ws_url: `${address.protocol === 'https:' ? 'wss' : 'ws'}://${address.host}/ws`,
    turn: turnOf(turn, address.hostname, person.extension),
  };
}

/** For a site without a push service. */
export const NO_PUSH: z.infer<typeof PushConfig> = {
  enabled: false,
  provider: '',
  fcm_project_id: '',
  fcm_app_id: '',
  fcm_api_key: '',
  fcm_sender_id: '',
};
/** The body of login and refresh. */
export const loginReply = (
  issued: Issued,
  sip: z.infer<typeof Sip>,
  push_config: z.infer<typeof PushConfig>,
): z.infer<typeof LoginReply> => ({
  success: true,
  token: issued.token,
  expires_at: rfc3339(issued.expires_at),
  user: userOf(issued.person),
  sip,
  push_config,
});
/** A code for signing in, and the text of its QR code. */
export const codeReply = (
  { code, expires_at }: SignInCode,
  site: string,
): z.infer<typeof SignInCodeReply> => ({
  success: true,
  code,
  uri: `offhook://sign-in?${new URLSearchParams({ site, code }).toString()}`,
  expires_at: rfc3339(expires_at),
});
