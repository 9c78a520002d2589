import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  DeviceSessions,
  Done,
  LoginReply,
  LoginRequest,
  NoFields,
  OtpConfirmation,
  OtpConfirmed,
  OtpEnrolment,
  OtpRemoval,
  OtpSecret,
  OtpState,
  PasswordChange,
  DEVICE_COOKIE,
  HOST_SESSION_COOKIE,
  SESSION_COOKIE,
  SessionConfirmation,
  SessionConfirmed,
  SipReply,
  WhoAmI,
} from '@offhook/contract/session.ts';
import { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Directory, Person } from '../../ports/directory.ts';
import type { App } from '../../ports/http.ts';
import { loginReply, sipOf, userOf } from './replies.ts';
import type { Issued, Sessions } from './service.ts';

export interface SessionRoutesOptions {
  readonly sessions: Sessions;
  readonly directory: Directory;
  readonly config: {
    readonly sessionAbsoluteSeconds: number;
    readonly siteTitle: string;
    readonly sipListen: { readonly port: number };
  };
}
const tags = ['sessions'];
/** Browsers keep a cookie for 400 days at most. */
const DEVICE_SECONDS = 400 * 86_400;

function cookieText(name: string, value: string, seconds: number): string {
  const secure = name.startsWith('__Host-') ? '; Secure' : '';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
}
const cookies = ({ headers: { cookie = '' } }: FastifyRequest): string[] =>
  cookie.split(';').map((pair) => pair.trim());
const hasCookie = (request: FastifyRequest, name: string): boolean =>
  cookies(request).some((pair) => pair.startsWith(`${name}=`));
/** Value of the cookie with or without the `__Host-` prefix. */
const cookieOf = (request: FastifyRequest, name: string): string | undefined =>
  cookies(request)
    .find((pair) => pair.startsWith(`__Host-${name}=`) || pair.startsWith(`${name}=`))
    ?.replace(/^[^=]*=/, '');

/** Sign-in, refresh, sign-out, devices and passwords (wire.md section 2). */
export function sessionRoutes(app: App, { sessions, directory, config }: SessionRoutesOptions): void {
  const setCookie = (request: FastifyRequest, reply: FastifyReply, value: string, seconds: number): void => {
    const named = request.ownOrigin().startsWith('https:') ? HOST_SESSION_COOKIE : SESSION_COOKIE;
    reply.header('set-cookie', cookieText(named, value, seconds));
    // The cookie of the other name would otherwise stay in the browser.
    const other = named === SESSION_COOKIE ? HOST_SESSION_COOKIE : SESSION_COOKIE;
    if (hasCookie(request, other)) reply.header('set-cookie', cookieText(other, '', 0));
  };
  const knowDevice = (request: FastifyRequest, reply: FastifyReply, device: string): void => {
    const named = request.ownOrigin().startsWith('https:') ? `__Host-${DEVICE_COOKIE}` : DEVICE_COOKIE;
    reply.header('set-cookie', cookieText(named, device, DEVICE_SECONDS));
  };
  const sipFor = (request: FastifyRequest, person: Person, password: string) =>
    sipOf(person, password, request.ownOrigin(), config.sipListen.port);
  /** A page of our own gets the session as a cookie too; others get the token only, so nobody signs a browser in from outside. */
  const answer = (request: FastifyRequest, reply: FastifyReply, issued: Issued, cookie: boolean) => {
    if (cookie) setCookie(request, reply, issued.token, config.sessionAbsoluteSeconds);
    return loginReply(issued, sipFor(request, issued.person, issued.sip_password));
  };

  /** A page's own GET has no `Origin`: browsers tell by `Sec-Fetch-Site` whose it is, where the address is one they trust. */
  const isForeign = (request: FastifyRequest): boolean => {
    const { origin, 'sec-fetch-site': site } = request.headers;
    return origin === undefined ? site !== undefined && site !== 'same-origin' : !request.sameOrigin();
  };

  const prove = ['invalid_credentials', 'too_many_attempts', 'overloaded', 'store_unavailable'] as const;
  for (const path of ['/api/auth/login', '/api/mobile/login.php']) {
    app.post(
      path,
      {
        config: {
          level: 'public',
          body: 'form',
          errors: [
            'invalid_credentials',
            'otp_required',
            'account_disabled',
            'too_many_attempts',
            'overloaded',
            'store_unavailable',
          ],
        },
        schema: {
          tags,
          summary: 'Sign in',
          description:
            'A browser page of this service gets the session as a cookie as well. `otp` is asked for only where the person has switched the second factor on.',
          body: LoginRequest,
          response: { 200: LoginReply },
        },
      },
      async (request, reply) => {
        const { username, extension, password, otp, device_name, platform } = request.body;
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
        if (own) knowDevice(request, reply, issued.device);
        return body;
      },
    );
  }
  app.get(
    '/api/mobile/refresh.php',
    {
      config: { level: 'public', errors: ['not_authenticated', 'foreign_origin', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'A new token for an old one',
        description:
          'Never for a token whose session was ended, or whose idle or absolute life is over. The old token works until 60 s after the new one was first used, so a lost answer costs nothing; after that it is taken for a copy, and ends the session.',
        security: [{ bearer: [] }, { cookie: [] }],
        response: { 200: LoginReply },
      },
    },
    async (request, reply) => {
      const credential = request.credential();
      if (credential === null) throw new ServiceError('not_authenticated', 'sign in first');
      if (credential.cookie && isForeign(request)) {
        throw new ServiceError('foreign_origin', 'a cookie session works from its own origin only');
      }
      const issued = await sessions.refresh(credential.token, request.ip);
      return answer(request, reply, issued, credential.cookie);
    },
  );
  app.post(
    '/api/v1/session/logout',
    {
      config: { setup: true, level: 'user', errors: ['store_unavailable'] },
      schema: { tags, summary: 'End this session', body: NoFields, response: { 200: Done } },
    },
    async (request, reply) => {
      const caller = request.person();
      await sessions.logout(caller, request.ip);
      if (caller.cookie) setCookie(request, reply, '', 0);
      return { success: true as const };
    },
  );
  app.get(
    '/api/v1/session',
    {
      config: { setup: true, level: 'user' },
      schema: { tags, summary: 'Who am I', response: { 200: WhoAmI } },
    },
    (request) => {
      const caller = request.person();
      const person = directory.byExtension(caller.extension);
      if (person === undefined) throw new ServiceError('not_authenticated', 'sign in first');
      return { success: true as const, user: userOf(person), expires_at: rfc3339(caller.expires_at) };
    },
  );
  app.get(
    '/api/v1/session/sip',
    {
      config: { level: 'user', errors: ['store_unavailable'] },
      schema: {
        tags,
        summary: 'What my phones register with',
        description:
          'The same as `sip` of the sign-in, for a page that was loaded again and keeps no password. It is of this session and ends with it.',
        response: { 200: SipReply },
      },
    },
    async (request) => {
      const caller = request.person();
      const person = directory.byExtension(caller.extension);
      if (person === undefined) throw new ServiceError('not_authenticated', 'sign in first');
      const password = await sessions.sipPassword(caller.session_id);
      return { success: true as const, sip: sipFor(request, person, password) };
    },
  );
  app.get(
    '/api/v1/sessions',
    {
      config: { level: 'user', errors: ['store_unavailable'] },
      schema: { tags, summary: 'My devices', response: { 200: DeviceSessions } },
    },
    async (request) => {
      const caller = request.person();
      const rows = await sessions.devices(caller.person_id);
      return {
        success: true as const,
        sessions: rows.map((row) => ({
          ...row,
          created_at: rfc3339(row.created_at),
          last_used_at: rfc3339(row.last_used_at),
          expires_at: rfc3339(row.expires_at),
          current: row.id === caller.session_id,
        })),
      };
    },
  );
  app.delete(
    '/api/v1/sessions/:id',
    {
      config: { level: 'user', errors: ['not_found', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'End one of my sessions',
        params: z.object({ id: z.string().regex(/^[1-9]\d{0,14}$/, 'not an id of a session') }),
        response: { 200: Done },
      },
    },
    async (request) => {
      await sessions.end(request.person(), Number(request.params.id), request.ip);
      return { success: true as const };
    },
  );
  app.post(
    '/api/v1/session/password',
    {
      config: { level: 'user', proves: true, errors: prove },
      schema: {
        tags,
        summary: 'Change my password',
        description: 'Ends every session of mine, this one included, and answers with a new one.',
        body: PasswordChange,
        response: { 200: LoginReply },
      },
    },
    async (request, reply) => {
      const caller = request.person();
      const { current_password, new_password } = request.body;
      const issued = await sessions.changePassword(caller, current_password, new_password, request.ip);
      return answer(request, reply, issued, caller.cookie);
    },
  );

  app.post(
    '/api/v1/session/confirm',
    {
      config: { setup: true, level: 'user', proves: true, errors: [...prove, 'otp_required'] },
      schema: {
        tags,
        summary: 'Confirm that it is me',
        description:
          'For five minutes this session may do what asks for it with `confirmation_required`. Failures count as those of signing in.',
        body: SessionConfirmation,
        response: { 200: SessionConfirmed },
      },
    },
    async (request) => ({
      success: true as const,
      confirmed_until: rfc3339(
        await sessions.confirmation.confirm(request.person(), request.body, request.ip),
      ),
    }),
  );
  app.get(
    '/api/v1/session/otp',
    {
      config: { setup: true, level: 'user', errors: ['store_unavailable'] },
      schema: { tags, summary: 'Is my second factor on?', response: { 200: OtpState } },
    },
    async (request) => ({
      success: true as const,
      enabled: await sessions.otp.isOn(request.person().person_id),
    }),
  );
  app.post(
    '/api/v1/session/otp',
    {
      config: { setup: true, level: 'user', proves: true, errors: [...prove, 'otp_already_on'] },
      schema: {
        tags,
        summary: 'Begin with a second factor',
        description: 'A secret for an authenticator app (RFC 6238). It counts once it is confirmed.',
        body: OtpEnrolment,
        response: { 200: OtpSecret },
      },
    },
    async (request) => {
      const { current_password } = request.body;
      const enrolled = await sessions.otp.enrol(
        request.person(),
        current_password,
        config.siteTitle,
        request.ip,
      );
      return { success: true as const, ...enrolled };
    },
  );
  app.post(
    '/api/v1/session/otp/confirm',
    {
      config: {
        setup: true,
        level: 'user',
        errors: ['otp_required', 'otp_already_on', 'too_many_attempts', 'overloaded', 'store_unavailable'],
      },
      schema: {
        tags,
        summary: 'Switch the second factor on',
        description: 'With the digits the authenticator shows. The recovery codes are shown this one time.',
        body: OtpConfirmation,
        response: { 200: OtpConfirmed },
      },
    },
    async (request) => ({
      success: true as const,
      recovery_codes: await sessions.otp.confirm(request.person(), request.body.otp, request.ip),
    }),
  );
  app.post(
    '/api/v1/session/otp/disable',
    {
      config: { level: 'user', proves: true, errors: [...prove, 'otp_required'] },
      schema: {
        tags,
        summary: 'Switch the second factor off',
        description: 'With the password and the digits, or a recovery code in place of them.',
        body: OtpRemoval,
        response: { 200: Done },
      },
    },
    async (request) => {
      const { current_password, otp } = request.body;
      await sessions.otp.remove(request.person(), current_password, otp, request.ip);
      return { success: true as const };
    },
  );
}
