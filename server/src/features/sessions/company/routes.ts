/** Pages through which a browser signs in at the OpenID provider of the company. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { DEVICE_COOKIE } from '@offhook/contract/session.ts';
import { ServiceError, hasCode, messageOf } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import type { App } from '../../../ports/http.ts';
import type { Common } from '../../../ports/common.ts';
import type { Directory, Person } from '../../../ports/directory.ts';
import { cookieOf, setDeviceCookie, setSessionCookie } from '../cookies.ts';
import type { Sessions } from '../service.ts';
import { FLOW_COOKIE, endedFlowCookie, flowCookie, readFlow } from './flow.ts';
import type { Flow } from './flow.ts';
import { isFresh } from './provider.ts';
import type { Identity, NamingClaim, OpenIdProvider } from './provider.ts';

export interface CompanyRoutesOptions extends Common<'audit' | 'clock' | 'directory' | 'log'> {
  readonly sessions: Pick<Sessions, 'loginByCompany' | 'confirmByCompany'>;
  readonly provider: OpenIdProvider;
  readonly claim: NamingClaim;
  /** Key of the cookie of a sign-in under way. */
  readonly key: Buffer;
  readonly sessionSeconds: number;
}
/** Answers of the provider that are checked at once. */
const AT_ONCE = 20;
const LONGEST_PATH = 200;
/** Path of a page of this console, without a query. */
const PAGE = /^\/(?:[\w.~-][\w.~/-]*)?$/;
const START = '/sign-in/company';
const ANSWER = '/sign-in/company/callback';
/** The page of the console that closes the window of a sign-in and reports its end to the other tabs. */
const CLOSES = '/?signed_in';

/** True where a page of another site sent the browser here. */
const isElsewhere = ({ headers }: FastifyRequest): boolean =>
  ['cross-site', 'same-site'].includes(String(headers['sec-fetch-site']));
const shortened = (text: unknown, most: number): string | null =>
  typeof text === 'string' && text !== '' ? text.slice(0, most) : null;
const failureAt = (code: ErrorCode): string => `/?sign_in_error=${code}`;
const failed = (detail: string): ServiceError => new ServiceError('company_sign_in_failed', detail);

/** Throws `company_account_unknown`, `account_disabled`. */
function personOf({ name }: Identity, claim: NamingClaim, directory: Pick<Directory, 'people'>): Person {
  const wanted = name?.toLowerCase();
  const found =
    wanted === undefined
      ? []
      : directory
          .people()
          .filter((one) => (claim === 'email' ? one.email : one.username)?.toLowerCase() === wanted);
  const active = found.filter((one) => one.active);
  if (active.length === 1) return active[0]!;
  if (active.length === 0 && found.length > 0)
    throw new ServiceError('account_disabled', 'this account is not active');
  throw new ServiceError(
    'company_account_unknown',
    active.length > 1
      ? 'several people of this site have the e-mail address of this company account'
      : 'nobody of this site belongs to this company account',
  );
}

export function companyRoutes(app: App, options: CompanyRoutesOptions): void {
  const { clock, directory, key, log, provider, sessions } = options;
  let checking = 0;

  const isSecure = (request: FastifyRequest): boolean => request.ownOrigin().startsWith('https:');
  const open = { config: { level: 'public', identify: true }, schema: { hide: true } } as const;

  /** Sends the browser on; a failure is shown by the console, by its code. */
  async function sendOn(
    request: FastifyRequest,
    reply: FastifyReply,
    address: () => Promise<string>,
  ): Promise<FastifyReply> {
    reply.header('cache-control', 'no-store');
    try {
      return reply.redirect(await address(), 303);
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : 'company_sign_in_failed';
      const cause = (error as Error).cause;
      const why = { error: messageOf(error), ...(cause === undefined ? {} : { cause: messageOf(cause) }) };
      log.warn({ code, ...why, ip: request.ip }, 'a sign-in by the company failed');
      if (hasCode(error, 'company_account_unknown') || hasCode(error, 'account_disabled'))
        await recordRefusal(request.ip, code);
      return reply.redirect(failureAt(code), 303);
    }
  }
  /** The refusal is shown even if it cannot be stored. */
  async function recordRefusal(ip: string, reason: string): Promise<void> {
    const entry = {
      action: 'session.login_failed',
      actor: null,
      object: null,
      outcome: 'refused',
      ip,
    } as const;
    await options.audit.record({ ...entry, detail: { reason } }).catch((error: unknown) => {
      log.warn(
        { error: messageOf(error), action: entry.action },
        'an entry of the audit trail could not be stored',
      );
    });
  }
  async function identified(request: FastifyRequest, flow: Flow): Promise<Identity> {
    if (checking >= AT_ONCE)
      throw new ServiceError('overloaded', say`${AT_ONCE} sign-ins by the company are under way`);
    checking += 1;
    try {
      return await provider.identify(new URL(request.url, request.ownOrigin()), flow.challenge);
    } finally {
      checking -= 1;
    }
  }
  async function finish(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const kept = cookieOf(request, FLOW_COOKIE);
    const flow = kept === undefined ? null : readFlow(key, kept, clock.now());
    reply.header('set-cookie', endedFlowCookie(isSecure(request)));
    // Not begun in this browser, or longer ago than ten minutes; not logged, because it costs a stranger nothing.
    if (flow === null) return failureAt('company_sign_in_failed');
    const identity = await identified(request, flow);
    const who = personOf(identity, options.claim, directory);
    const fresh = isFresh(identity, clock.now());
    if (flow.challenge.again && flow.session !== null) {
      if (who.id !== flow.session.person_id) throw failed('another person signed in at the provider');
      if (!fresh) throw failed('the provider does not say that the person has just signed in');
      await sessions.confirmByCompany(who, flow.session.id);
      return flow.to;
    }
    const issued = await sessions.loginByCompany(who, {
      ip: request.ip,
      device: cookieOf(request, DEVICE_COOKIE),
      ...flow.device,
      fresh,
      replaces: flow.session?.id ?? null,
    });
    setSessionCookie(request, reply, issued.token, options.sessionSeconds);
    setDeviceCookie(request, reply, issued.device);
    return flow.to;
  }

  app.get(START, open, (request, reply) =>
    sendOn(request, reply, async () => {
      // Each sign-in is a session: a page elsewhere could begin so many that the phones of older ones end.
      if (isElsewhere(request)) return '/';
      const { to, again, window, device_name, platform } = request.query as Readonly<Record<string, unknown>>;
      const { address, challenge } = await provider.begin(
        new URL(ANSWER, request.ownOrigin()).href,
        again !== undefined,
      );
      const { caller } = request;
      const isPage = typeof to === 'string' && to.length <= LONGEST_PATH && PAGE.test(to);
      const flow = {
        challenge,
        to: window === undefined ? (isPage ? to : '/') : CLOSES,
        device: { device_name: shortened(device_name, 128), platform: shortened(platform, 64) },
        session:
          caller === null || caller.key !== null
            ? null
            : { id: caller.session_id, person_id: caller.person_id },
      };
      reply.header('set-cookie', flowCookie(key, flow, clock.now(), isSecure(request)));
      return address.href;
    }),
  );
  app.get(ANSWER, open, (request, reply) => sendOn(request, reply, () => finish(request, reply)));
}
