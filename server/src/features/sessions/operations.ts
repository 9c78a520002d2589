import { DEVICE_COOKIE } from '@offhook/contract/session.ts';
import type { PushConfig } from '@offhook/contract/session.ts';
import type { z } from 'zod';
import { session, signIn } from '@offhook/contract/operations/session.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Directory, Person } from '../../ports/directory.ts';
import type { Exchange } from '../../ports/http.ts';
import type { Served } from '../../ports/operations.ts';
import { cookieOf, isForeign, setDeviceCookie, setSessionCookie } from './cookies.ts';
import { NO_PUSH, codeReply, loginReply, sipOf, userOf } from './replies.ts';
import type { Issued, Sessions } from './service.ts';
import type { TurnSigner } from './turn.ts';

type Request = Exchange['request'];
type Reply = Exchange['reply'];
export interface SessionOptions {
  readonly sessions: Sessions;
  readonly directory: Directory;
  readonly config: {
    readonly sessionAbsoluteSeconds: number;
    readonly siteTitle: string;
    readonly sipListen: { readonly port: number };
  };
  readonly turn: TurnSigner;
  /** Settings with which an app registers for pushes; absent without a push service. */
  readonly pushConfig?: () => z.infer<typeof PushConfig> | null;
}
type SessionHandlers = Served<typeof session>['handlers'];
/** Operations on the caller's own second factor. */
const otpHandlers = (
  sessions: Sessions,
  site: string,
): Pick<SessionHandlers, 'otp' | 'beginOtp' | 'confirmOtp' | 'disableOtp'> => ({
  otp: async ({ caller }) => ({ enabled: await sessions.otp.isOn(caller.person_id) }),
  beginOtp: ({ caller, request }, { body: { current_password } }) =>
    sessions.otp.enrol(caller, current_password, site, request.ip),
  confirmOtp: async ({ caller, request }, { body }) => ({
    recovery_codes: await sessions.otp.confirm(caller, body.otp, request.ip),
  }),
  disableOtp: ({ caller, request }, { body: { current_password, otp } }) =>
    sessions.otp.remove(caller, current_password, otp, request.ip),
});
/** Sign-in, refresh, sign-out, devices and passwords (wire.md section 2). */
export function sessionOperations({ sessions, directory, config, turn, pushConfig }: SessionOptions): {
  readonly signIn: Served<typeof signIn>;
  readonly session: Served<typeof session>;
} {
  const sipFor = (request: Request, person: Person, password: string) =>
    sipOf(person, password, request.ownOrigin(), config.sipListen.port, turn);
  /**
   * Sets a session cookie only for the service's own pages; others get only the token, so no foreign page
   * signs a browser in.
   */
  const answer = (request: Request, reply: Reply, issued: Issued, cookie: boolean) => {
    if (cookie) setSessionCookie(request, reply, issued.token, config.sessionAbsoluteSeconds);
    return loginReply(issued, sipFor(request, issued.person, issued.sip_password), pushConfig?.() ?? NO_PUSH);
  };

  const personOf = (extension: string): Person => {
    const person = directory.byExtension(extension);
    if (person === undefined) throw new ServiceError('not_authenticated', 'sign in first');
    return person;
  };
  const login: Served<typeof signIn>['handlers']['login'] = async ({ request, reply }, { body: given }) => {
    const { username, extension, password, otp, device_name, platform } = given;
    const own = request.sameOrigin();
    const presented = request.credential();
    const issued = await sessions.login({
      name: (username || extension || '').trim(),
      password,
      otp,
      device_name,
      platform,
      ip: request.ip,
      device: cookieOf(request, DEVICE_COOKIE),
      replaces: own && presented?.cookie === true ? presented.token : undefined,
    });
    const body = answer(request, reply, issued, own);
    if (own) setDeviceCookie(request, reply, issued.device);
    return body;
  };
  return {
    signIn: {
      operations: signIn,
      handlers: {
        login,
        loginAlias: login,
        byCode: async ({ request, reply }, { body: { code, device_name, platform } }) =>
          answer(
            request,
            reply,
            await sessions.loginByCode(code, { device_name, platform, ip: request.ip }),
            false,
          ),
        async refresh({ request, reply }) {
          const credential = request.credential();
          if (credential === null) throw new ServiceError('not_authenticated', 'sign in first');
          if (credential.cookie && isForeign(request)) {
            throw new ServiceError(
              'foreign_origin',
              'Origin: a session cookie is accepted only from the origin of this service; other origins use a bearer token',
            );
          }
          const issued = await sessions.refresh(credential.token, request.ip);
          return answer(request, reply, issued, credential.cookie);
        },
        async logout({ caller, request, reply }) {
          await sessions.logout(caller, request.ip);
          if (caller.cookie) setSessionCookie(request, reply, '', 0);
        },
      },
    },
    session: {
      operations: session,
      handlers: {
        whoAmI: ({ caller }) => ({
          user: userOf(personOf(caller.extension)),
          expires_at: rfc3339(caller.expires_at),
        }),
        async sip({ caller, request }) {
          const person = personOf(caller.extension);
          const password = await sessions.sipPassword(caller.session_id);
          return { sip: sipFor(request, person, password) };
        },
        createSignInCode: async ({ caller, request }) =>
          codeReply(
            await sessions.codes.make({ caller, ip: request.ip }, caller.extension),
            request.ownOrigin(),
          ),
        async devices({ caller }) {
          const rows = await sessions.devices(caller.person_id);
          return {
            sessions: rows.map((row) => ({
              ...row,
              created_at: rfc3339(row.created_at),
              last_used_at: rfc3339(row.last_used_at),
              expires_at: rfc3339(row.expires_at),
              current: row.id === caller.session_id,
            })),
          };
        },
        end: ({ caller, request }, { params }) => sessions.end(caller, Number(params.id), request.ip),
        async changePassword({ caller, request, reply }, { body: { current_password, new_password } }) {
          const issued = await sessions.changePassword(caller, current_password, new_password, request.ip);
          return answer(request, reply, issued, caller.cookie);
        },
        confirm: async ({ caller, request }, { body }) => ({
          confirmed_until: rfc3339(await sessions.confirmation.confirm(caller, body, request.ip)),
        }),
        ...otpHandlers(sessions, config.siteTitle),
      },
    },
  };
}
