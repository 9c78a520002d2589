import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Provider } from 'oidc-provider';
import { createVirtualClock } from '../../../adapters/memory/virtual-clock.ts';
import { createGuard } from '../../../outbound/address-guard.ts';
import { Transport } from '../../../outbound/transport.ts';
import type { OutboundRequest } from '../../../outbound/transport.ts';
import { startSystem, fileOf } from '../../../../test/support/connector-rig.ts';
import { until } from '../../../../test/support/until.ts';
import type { ConnectorFailure } from './requests.ts';
import { openConnector } from './session.ts';

const SECRET = 'very-secret-of-the-client';
const REDIRECT = 'https://offhook.example.com/callback';
const fileText = (oauth2: string): string => `connector: 1
name: By OAuth2
settings: { address: { text: Address, url: true }, secret: { text: Secret, secret: true } }
base: '{{ set.address }}'
auth: { oauth2: { ${oauth2}, token: '{{ set.address }}/token', client_id: offhook, client_secret: '{{ set.secret }}', scopes: [openid] } }
check: { get: /api, holds: '{{ answer.ok }}' }
`;

/** A real OAuth2 server and an API behind it that accepts its access tokens. */
async function startProvider(t: TestContext) {
  const server = http.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, {
    clients: [
      {
        client_id: 'offhook',
        client_secret: SECRET,
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
        application_type: 'web',
      },
    ],
    features: { clientCredentials: { enabled: true }, revocation: { enabled: true } },
    issueRefreshToken: () => Promise.resolve(true),
    rotateRefreshToken: true,
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    cookies: { keys: ['a key of the test'] },
  });
  const asked: string[] = [];
  const oauth = provider.callback();
  server.on('request', (request, response) => {
    asked.push(`${request.method} ${new URL(request.url ?? '/', url).pathname}`);
    if (request.url !== '/api') return void oauth(request, response);
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const answer = async (): Promise<void> => {
      const found =
        (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      response
        .writeHead(found ? 200 : 401, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ok: found !== undefined }));
    };
    return void answer();
  });
  return { url, asked, tokens: () => asked.filter((one) => one === 'POST /token').length };
}
/** Signs in and consents as a person in a browser would; returns the code. */
async function grant(authorize: string): Promise<string> {
  const jar = new Map<string, string>();
  const go = async (address: string, body?: string): Promise<Response> => {
    const response = await fetch(address, {
      redirect: 'manual',
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body !== undefined && { body }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      jar.set(name, value);
    }
    await response.arrayBuffer();
    return response;
  };
  let address = authorize;
  for (let step = 0; step < 12; step++) {
    const form = address.includes('/interaction/')
      ? step < 2
        ? 'prompt=login&login=anna&password=x'
        : 'prompt=consent'
      : undefined;
    const response = await go(address, form);
    const next = response.headers.get('location');
    assert.ok(next !== null, `${response.status} at ${address}`);
    address = new URL(next, address).href;
    if (address.startsWith(REDIRECT)) return new URL(address).searchParams.get('code')!;
  }
  throw new Error('no code was given');
}
function open(t: TestContext, text: string, url: string) {
  const clock = createVirtualClock();
  const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
  const transport = new Transport({ guard: createGuard(['127.0.0.1']), clock, resolve });
  t.after(() => transport.close());
  const traced: unknown[] = [];
  const state = { refresh: null as string | null };
  const session = openConnector(
    fileOf(text),
    { address: url, secret: SECRET },
    {
      send: (request, signal) => transport.send(request, signal),
      clock,
      trace: (exchange) => traced.push(exchange),
      tokens: {
        read: () => Promise.resolve(state.refresh),
        write: (token) => {
          state.refresh = token;
          return Promise.resolve();
        },
      },
    },
  );
  return { session, clock, traced, state, signal: new AbortController().signal };
}
/** A session whose system is a function. */
function openWith(
  t: TestContext,
  text: string,
  answer: (
    request: OutboundRequest,
    signal: AbortSignal,
  ) => Promise<{ status: number; json?: unknown; text?: string }>,
) {
  const traced: unknown[] = [];
  const session = openConnector(
    fileOf(text),
    { address: 'https://crm.example.com', secret: SECRET },
    {
      async send(request, signal) {
        const { status, json, text: plain = JSON.stringify(json) } = await answer(request, signal);
        const came = { error: null, whole: true, retry_after_seconds: null, latency_ms: 1 };
        return { ...came, kind: 'answered', status, body: Buffer.from(plain) };
      },
      clock: createVirtualClock(),
      trace: (exchange) => traced.push(exchange),
    },
  );
  return { session, traced, signal: t.signal };
}

test('connector OAuth2 - client credentials: one token for requests at once, another one before it ends', async (t) => {
  const server = await startProvider(t);
  const { session, clock, signal, traced } = open(t, fileText('grant: client_credentials'), server.url);
  const results = await Promise.all([session.check(signal), session.check(signal), session.check(signal)]);
  assert.deepEqual(
    results.map(({ kind }) => kind),
    ['done', 'done', 'done'],
  );
  assert.equal(server.tokens(), 1);
  await clock.advance(560_000);
  assert.equal((await session.check(signal)).kind, 'done');
  assert.equal(server.tokens(), 2);
  assert.ok(!JSON.stringify(traced).includes(SECRET));
  const wrong = open(
    t,
    fileText('grant: client_credentials').replace("'{{ set.secret }}'", 'another'),
    server.url,
  );
  const refused = await wrong.session.check(signal);
  assert.ok(refused.kind === 'disconnected', JSON.stringify(refused));
  assert.match(refused.words, /invalid_client/);
});

test('connector OAuth2 - a person grants access, tokens rotate, and a revoked one is disconnected', async (t) => {
  const server = await startProvider(t);
  const text = fileText("grant: code, authorize: '{{ set.address }}/auth'");
  const { session, clock, signal, state, traced } = open(t, text, server.url);
  assert.equal((await session.check(signal)).kind, 'disconnected', 'nobody granted access yet');
  const verifier = 'v'.repeat(43);
  const code = await grant(session.connect!.authorizeUrl({ redirect: REDIRECT, state: 's1', verifier }));
  const other = await session.connect!.redeem({ code: 'wrong', redirect: REDIRECT, verifier }, signal);
  assert.equal(other.kind, 'disconnected');
  assert.deepEqual(await session.connect!.redeem({ code, redirect: REDIRECT, verifier }, signal), {
    kind: 'done',
    value: null,
  });
  const first = state.refresh;
  assert.ok(first);
  assert.equal((await session.check(signal)).kind, 'done');
  await clock.advance(7_200_000);
  assert.deepEqual(
    (await Promise.all([session.check(signal), session.check(signal)])).map(({ kind }) => kind),
    ['done', 'done'],
  );
  assert.notEqual(state.refresh, first, 'the rotated one is kept');
  await fetch(`${server.url}/token/revocation`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`offhook:${SECRET}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ token: state.refresh! }),
  });
  const revoked = await session.check(signal);
  assert.ok(revoked.kind === 'disconnected', JSON.stringify(revoked));
  assert.match(revoked.words, /invalid_grant/);
  for (const secret of [SECRET, code, first]) assert.ok(!JSON.stringify(traced).includes(secret));
});

test('connector OAuth2 - of requests that are refused one after the other, one obtains the next token', async (t) => {
  const held: (() => void)[] = [];
  let tokens = 0;
  const { session, signal } = openWith(t, fileText('grant: client_credentials'), async ({ url, headers }) => {
    if (url.endsWith('/token')) {
      tokens += 1;
      return { status: 200, json: { access_token: `token-${tokens}`, expires_in: 3_600 } };
    }
    if (headers['authorization'] !== 'Bearer token-1') return { status: 200, json: { ok: true } };
    await new Promise<void>((resolve) => held.push(resolve));
    return { status: 401, json: { error: 'revoked' } };
  });
  const both = [session.check(signal), session.check(signal)];
  await until('both wait', () => held.length === 2);
  for (const [i, release] of held.entries()) {
    release();
    assert.equal((await both[i])!.kind, 'done');
  }
  assert.equal(tokens, 2);
});

test('connector OAuth2 - a lookup that gives up does not cut off the sign-in that others wait for', async (t) => {
  const gate = Promise.withResolvers<void>();
  const exchanges: AbortSignal[] = [];
  const { session, signal } = openWith(t, fileText('grant: client_credentials'), async ({ url }, sent) => {
    if (!url.endsWith('/token')) return { status: 200, json: { ok: true } };
    exchanges.push(sent);
    await gate.promise;
    return { status: 200, json: { access_token: 'token-1', expires_in: 3_600 } };
  });
  const late = new AbortController();
  const first = session.check(late.signal);
  await until('the exchange', () => exchanges.length === 1);
  const second = session.check(signal);
  late.abort(new Error('no answer within 1.5 s'));
  assert.equal(exchanges[0]!.aborted, false, 'its answer may hold the next refresh token');
  const gone = await first;
  assert.ok(gone.kind === 'unsent', JSON.stringify(gone));
  assert.equal(gone.words, 'sign-in: no answer within 1.5 s');
  gate.resolve();
  assert.equal((await second).kind, 'done');
  assert.equal(exchanges.length, 1);
});

test('connector sign-in - an answer that is a bare token is in no words and no trace', async (t) => {
  const text = fileText('').replace(
    /auth: .*/,
    "auth: { exchange: { post: /login, token: '{{ answer.token }}' }, header: session, value: '{{ token }}' }",
  );
  const { session, signal, traced } = openWith(t, text, () =>
    Promise.resolve({ status: 200, text: 'tk-9fA3' }),
  );
  const { kind, words } = (await session.check(signal)) as ConnectorFailure;
  assert.deepEqual([kind, words], ['disconnected', 'sign-in: the answer is not JSON']);
  assert.ok(!JSON.stringify(traced).includes('tk-9fA3'));
});

test('connector OAuth2 - Bitrix24: a token asked for and carried in the query, renewed with the newest refresh token', async (t) => {
  let tokens = 0;
  const asked: URL[] = [];
  const system = await startSystem(t, ({ path: at, method, headers }) => {
    const url = new URL(at, 'http://system');
    asked.push(url);
    assert.equal(headers.authorization, undefined);
    if (!url.pathname.startsWith('/oauth')) {
      const isValid = url.searchParams.get('auth') === `access-${tokens}`;
      return isValid ? { json: { ok: true } } : { status: 401, json: { error: 'expired_token' } };
    }
    assert.equal(method, 'GET');
    tokens += 1;
    const token = { access_token: `access-${tokens}`, refresh_token: `refresh-${tokens}`, expires_in: 3600 };
    return { json: token };
  });
  const text = fileText(
    "grant: code, authorize: '{{ set.address }}/oauth/authorize', send_client: query, send_token: { query: auth }",
  ).replace("'{{ set.address }}/token'", "'{{ set.address }}/oauth/token/'");
  const { session, signal, traced, state } = open(t, text, system.url);
  const code = 'code-4711';
  const done = await session.connect!.redeem({ code, redirect: REDIRECT, verifier: 'v'.repeat(43) }, signal);
  assert.equal(done.kind, 'done');
  const [first] = asked;
  assert.deepEqual(
    ['grant_type', 'code', 'client_id', 'client_secret'].map((name) => first!.searchParams.get(name)),
    ['authorization_code', code, 'offhook', SECRET],
  );
  assert.equal((await session.check(signal)).kind, 'done');
  tokens += 1;
  assert.equal((await session.check(signal)).kind, 'done', 'renewed after a 401');
  const renewal = asked.findLast(({ pathname }) => pathname.startsWith('/oauth'))!;
  assert.deepEqual(
    [renewal.searchParams.get('grant_type'), renewal.searchParams.get('refresh_token')],
    ['refresh_token', 'refresh-1'],
  );
  assert.equal(state.refresh, 'refresh-3');
  for (const secret of [SECRET, code, 'refresh-1', 'access-1', 'access-3'])
    assert.ok(!JSON.stringify(traced).includes(secret), secret);
});
