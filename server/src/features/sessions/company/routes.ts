/** Pages through which a browser signs in at the OpenID provider of the company. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DEVICE_COOKIE } from '@offhook/contract/session.ts';
import { cutText } from '../../../core/cut-text.ts';
import { networkOf } from '../../../core/networks.ts';
import { createRateLimit } from '../../../core/rate-limit.ts';
import type { App } from '../../../ports/http.ts';
import type { Common } from '../../../ports/common.ts';
import type { Directory, Person } from '../../../ports/directory.ts';
import { cookieOf, setDeviceCookie, setSessionCookie } from '../cookies.ts';
import type { Sessions } from '../service.ts';
import { FAILED, LONGEST_TEXT, Refused, codeOf, failed, failure, failureAt, reasonOf } from './failures.ts';
import { endedFlowCookie, flowCookie, isSecure, readFlow } from './flow.ts';
import type { Flow } from './flow.ts';
import { isFresh } from './provider.ts';
import type { Identity, NamingClaim, OpenIdProvider } from './provider.ts';

export interface CompanyRoutesOptions extends Common<'audit' | 'clock' | 'directory' | 'log'> {
  readonly sessions: Pick<Sessions, 'loginByCompany' | 'confirmByCompany'>;
  readonly provider: OpenIdProvider;
  /** Key of the cookie of a sign-in under way. */
  readonly key: Buffer;
  readonly sessionSeconds: number;
}
/** Answers of the provider that are checked at once, and those of one network (/24, /56). */
const AT_ONCE = 20;
const OF_NETWORK = { burst: 30, per_second: 0.5 };
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
/** The same page at the public name of the site, which explains why it is shown. */
function elsewhereAt(origin: string, page: string, window: boolean): string {
  const address = new URL(page, origin);
  address.search = new URL(failureAt('company_sign_in_elsewhere', window), origin).search;
  return address.href;
}
const textOf = (text: unknown, most: number): string | null =>
  typeof text === 'string' && text !== '' ? cutText(text, most) : null;

/** Throws `Refused` with `company_account_unknown` or `account_disabled`. */
function personOf({ name }: Identity, claim: NamingClaim, directory: Pick<Directory, 'people'>): Person {
  if (name === null)
    throw new Refused(
      'company_account_unknown',
      `the provider gives no ${claim}, or says that it is not verified`,
    );
  const wanted = name.toLowerCase();
  const found = directory
    .people()
    .filter((one) => (claim === 'email' ? one.email : one.username)?.toLowerCase() === wanted);
  const active = found.filter((one) => one.active);
  if (active.length === 1) return active[0]!;
  const account = cutText(JSON.stringify(name), LONGEST_TEXT);
  if (active.length > 1)
    throw new Refused('company_account_unknown', `${active.length} people have the ${claim} ${account}`);
  if (found.length > 0) throw new Refused('account_disabled', `the person with the ${claim} ${account}`);
  throw new Refused('company_account_unknown', `nobody has the ${claim} ${account}`);
}

export function companyRoutes(app: App, options: CompanyRoutesOptions): void {
  const { clock, directory, key, log, provider, sessions } = options;
  const answers = createRateLimit(clock, OF_NETWORK);
  let checking = 0;
  const open = { config: { level: 'public', identify: true }, schema: { hide: true } } as const;

  async function identified(request: FastifyRequest, flow: Flow): Promise<Identity> {
    if (checking >= AT_ONCE) throw new Refused('overloaded', `${AT_ONCE} answers are being checked`);
    checking += 1;
    try {
      return await provider.identify(new URL(request.url, request.ownOrigin()), flow.challenge);
    } finally {
      checking -= 1;
    }
  }
  async function finish(request: FastifyRequest, reply: FastifyReply, flow: Flow): Promise<string> {
    const identity = await identified(request, flow);
    const who = personOf(identity, provider.claim, directory);
    const fresh = isFresh(identity, flow.challenge);
    if (flow.challenge.again && flow.session !== null) {
      if (who.id !== flow.session.person_id) throw failed('another person signed in at the provider');
      if (!fresh) throw failed('the provider does not say that the person has just signed in');
      await sessions.confirmByCompany(who, flow.session.id);
      return flow.to;
    }
    if (flow.only !== null && who.username !== flow.only)
      throw failed('another person signed in at the provider');
    const issued = await sessions.loginByCompany(who, {
      ip: request.ip,
      device: flow.known ?? undefined,
      ...flow.device,
      account: identity.account,
      fresh,
      replaces: flow.session?.id ?? null,
    });
    setSessionCookie(request, reply, issued.token, options.sessionSeconds);
    setDeviceCookie(request, reply, issued.device);
    return flow.to;
  }
  async function begin(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    // Each sign-in is a session: a page elsewhere could begin so many that the phones of older ones end.
    if (isElsewhere(request)) return '/';
    const { to, again, window, only, at, device_name, platform } = request.query as Readonly<
      Record<string, unknown>
    >;
    const isPage = typeof to === 'string' && to.length <= LONGEST_PATH && PAGE.test(to);
    // The answer comes to the public name of the site, to which the browser does not send the cookie of another one.
    if (at !== undefined && at !== request.ownOrigin())
      return elsewhereAt(request.ownOrigin(), isPage ? to : '/', window !== undefined);
    try {
      const { address, challenge } = await provider.begin(
        new URL(ANSWER, request.ownOrigin()).href,
        again !== undefined,
      );
      const { caller } = request;
      const flow = {
        challenge,
        to: window === undefined ? (isPage ? to : '/') : CLOSES,
        device: { device_name: textOf(device_name, 128), platform: textOf(platform, 64) },
        window: window !== undefined,
        only: textOf(only, 128),
        known: cookieOf(request, DEVICE_COOKIE)?.slice(0, LONGEST_TEXT) ?? null,
        session:
          caller === null || caller.key !== null
            ? null
            : { id: caller.session_id, person_id: caller.person_id },
      };
      reply.header('set-cookie', flowCookie(key, flow, clock.now(), isSecure(request)));
      return address.href;
    } catch (error) {
      log.warn({ error: reasonOf(error), ip: request.ip }, FAILED);
      return failureAt(codeOf(error), window !== undefined);
    }
  }
  async function end(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const flow = readFlow(key, request, clock.now());
    reply.header('set-cookie', endedFlowCookie(isSecure(request)));
    // Not begun in this browser, or longer ago than ten minutes; not logged, because it costs a stranger nothing.
    if (flow === null) return failureAt('company_sign_in_failed', false);
    // Neither is what exceeds the limit of its network.
    if (!answers.allows(networkOf(request.ip))) return failureAt('too_many_requests', flow.window);
    try {
      return await finish(request, reply, flow);
    } catch (error) {
      return failure(options, flow, error, request.ip);
    }
  }
  for (const [path, answer] of [
    [START, begin],
    [ANSWER, end],
  ] as const)
    app.get(path, open, async (request, reply) => {
      reply.header('cache-control', 'no-store');
      return reply.redirect(await answer(request, reply), 303);
    });
}
