import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { companyOperations } from '../../src/features/sessions/company/logout.ts';
import { OpenIdProvider } from '../../src/features/sessions/company/provider.ts';
import type { NamingClaim } from '../../src/features/sessions/company/provider.ts';
import { companyRoutes } from '../../src/features/sessions/company/routes.ts';
import { addOperations } from '../../src/http/operations.ts';
import { CLIENT_SECRET, startProvider } from './openid-provider.ts';
import { siteFixture } from './sessions-fixture.ts';
import type { Site } from './sessions-fixture.ts';

export const ORIGIN = 'https://pbx.example.com';
export const FLOW = '__Host-offhook_company';
const CALLBACK = `${ORIGIN}/sign-in/company/callback`;

/** A site, the provider of its company, and a browser. */
export async function rig(t: TestContext, claim: NamingClaim = 'email') {
  const provider = await startProvider();
  provider.callback = CALLBACK;
  let later = 0;
  const clock = {
    now: () => Date.now() + later,
    sleep: () => Promise.reject(new Error('nothing sleeps here')),
  };
  let found: Site | undefined;
  const site: Site = await siteFixture({
    config: { publicUrl: ORIGIN },
    routes(app) {
      const openId = new OpenIdProvider(
        { issuer: provider.issuer, client_id: 'offhook', client_secret: CLIENT_SECRET, claim },
        clock,
      );
      const log = { warn: (fields: object) => void problems.push(fields) } as never;
      addOperations(app, [
        companyOperations({
          clock,
          log,
          provider: openId,
          logouts: { end: (...given) => found!.sessions.companyLogouts.end(...given) },
        }),
      ]);
      companyRoutes(app, {
        audit: { record: (entry) => found!.audit.record(entry) },
        clock,
        directory: { people: () => found!.directory.people() } as Site['directory'],
        log,
        sessions: {
          loginByCompany: (...given) => found!.sessions.loginByCompany(...given),
          confirmByCompany: (...given) => found!.sessions.confirmByCompany(...given),
        },
        provider: openId,
        key: Buffer.alloc(32, 3),
        sessionSeconds: 1000,
      });
    },
  });
  found = site;
  const problems: object[] = [];
  const { port } = await site.host.listen({ host: '127.0.0.1', port: 0 });
  provider.logoutAt = `http://127.0.0.1:${port}/api/auth/company-logout`;
  site.clock.advance(Date.now() - site.clock.now());
  t.after(async () => {
    await site.close();
    await provider[Symbol.asyncDispose]();
  });

  const jars = { site: new Map<string, string>(), provider: new Map<string, string>() };
  const cookiesOf = (jar: ReadonlyMap<string, string>): string =>
    [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  const keep = (jar: Map<string, string>, set: readonly string[]): void => {
    for (const cookie of set) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
  };
  /** A request of the browser to the site; the address to which it is sent on. */
  async function visit(path: string): Promise<string> {
    const reply = await site.host.app.inject({
      url: path,
      headers: { host: 'pbx.example.com', cookie: cookiesOf(jars.site) },
    });
    assert.equal(reply.statusCode, 303, reply.body);
    assert.equal(reply.headers['cache-control'], 'no-store');
    keep(jars.site, [reply.headers['set-cookie'] ?? []].flat());
    return String(reply.headers.location);
  }
  /** Goes through the pages of the provider as this account; the path of its answer to the site. */
  async function signInAt(address: string, login: string, consents = true): Promise<string> {
    let at = address;
    for (let step = 0; step < 12; step += 1) {
      const isForm = at.includes('/interaction/') && !at.endsWith('/abort');
      const { headers, body } = await fetch(at, {
        redirect: 'manual',
        headers: { cookie: cookiesOf(jars.provider) },
      }).then(async (response) => ({ headers: response.headers, body: await response.text() }));
      keep(jars.provider, headers.getSetCookie());
      let next = headers.get('location');
      if (next === null && isForm) {
        const asksLogin = body.includes('name="login"');
        if (!asksLogin && !consents) {
          at = `${at}/abort`;
          continue;
        }
        const response = await fetch(at, {
          method: 'POST',
          redirect: 'manual',
          headers: {
            cookie: cookiesOf(jars.provider),
            'content-type': 'application/x-www-form-urlencoded',
          },
          body: asksLogin ? `prompt=login&login=${login}&password=x` : 'prompt=consent',
        });
        keep(jars.provider, response.headers.getSetCookie());
        await response.arrayBuffer();
        next = response.headers.get('location');
      }
      assert.ok(next !== null, `${at}: ${body.slice(0, 300)}`);
      at = new URL(next, at).href;
      if (at.startsWith(ORIGIN)) return at.slice(ORIGIN.length);
    }
    throw new Error(`no answer of the provider; last at ${at}`);
  }
  /** As a person of whom the provider knows nothing yet. */
  async function signIn(login: string, path = '/sign-in/company'): Promise<string> {
    jars.provider.clear();
    return visit(await signInAt(await visit(path), login));
  }
  /** Signs the browser's person out at the provider, which sends the logout to the site. */
  async function signOutAtProvider(): Promise<void> {
    const pages = { headers: { cookie: cookiesOf(jars.provider) }, redirect: 'manual' } as const;
    const page = await fetch(`${provider.issuer}/session/end`, pages);
    keep(jars.provider, page.headers.getSetCookie());
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(await page.text()) ?? [];
    const done = await fetch(`${provider.issuer}/session/end/confirm`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        cookie: cookiesOf(jars.provider),
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ xsrf, logout: 'yes' }),
    });
    assert.equal(done.status, 303, await done.text());
    keep(jars.provider, done.headers.getSetCookie());
  }
  /** Extension of the session in the browser. */
  const whoIs = async (): Promise<string | number> => {
    const reply = await site.host.app.inject({
      url: '/api/v1/session',
      headers: { host: 'pbx.example.com', cookie: cookiesOf(jars.site) },
    });
    const { user } = reply.json() as { user?: { extension: string } };
    return user?.extension ?? reply.statusCode;
  };
  const refusals = async () =>
    (await site.audit.page({ limit: 50 })).entries
      .filter(({ outcome }) => outcome === 'refused')
      .map(({ action, detail }) => [action, detail?.['reason']]);
  return {
    provider,
    site,
    jars,
    problems,
    visit,
    signInAt,
    signIn,
    signOutAtProvider,
    whoIs,
    refusals,
    wait: (ms: number) => (later += ms),
  };
}
