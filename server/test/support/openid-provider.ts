/** A real OpenID provider on loopback, whose sign-in page takes any password. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import type { JWK } from 'jose';
import { Provider } from 'oidc-provider';

export const CLIENT_SECRET = 'very-secret-of-the-client';
export interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Claims of the account with this login; the login alone by default. */
  readonly accounts: Map<string, Readonly<Record<string, unknown>>>;
  /** False: it answers nothing but 503. */
  up: boolean;
  /** Address to which it sends browsers back; set before the first request. */
  callback: string;
  /** Address to which it sends logouts, and whether they name its session; set before the first request. */
  logoutAt: string;
  namesSession: boolean;
  /** Logouts that it has sent: `ok`, or the reason why it thinks that one failed. */
  readonly logouts: string[];
  /** A logout token of this provider; `claims` replace its own. */
  logoutToken(claims?: Readonly<Record<string, unknown>>): Promise<string>;
}
export const LOGOUT = { 'http://schemas.openid.net/event/backchannel-logout': {} };

function newProvider(own: TestProvider, key: JWK): Provider {
  const { issuer, accounts, callback, logoutAt, namesSession, logouts } = own;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'offhook',
        client_secret: CLIENT_SECRET,
        redirect_uris: [callback],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'client_secret_post',
        application_type: 'web',
        ...(logoutAt === ''
          ? {}
          : { backchannel_logout_uri: logoutAt, backchannel_logout_session_required: namesSession }),
      },
    ],
    features: { backchannelLogout: { enabled: true } },
    jwks: { keys: [key] },
    // Its own way refuses loopback, where the site of a test is.
    fetch: (url, { method, headers, body } = {}) => fetch(url, { method, headers, body } as RequestInit),
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['preferred_username'],
    },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts.get(id) }) }),
    cookies: { keys: ['a key of the test'] },
  });
  provider.on('backchannel.success', () => void logouts.push('ok'));
  provider.on('backchannel.error', (_context, error) => void logouts.push(error.message));
  return provider;
}
export async function startProvider(): Promise<TestProvider> {
  const server = http.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accounts: TestProvider['accounts'] = new Map();
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: 'test', use: 'sig', alg: 'RS256' };
  let answer: ReturnType<Provider['callback']> | undefined;
  const own: TestProvider = {
    issuer,
    accounts,
    up: true,
    callback: '',
    logoutAt: '',
    namesSession: true,
    logouts: [],
    logoutToken(claims = {}) {
      const now = Math.floor(Date.now() / 1000);
      const whole = {
        iss: issuer,
        aud: 'offhook',
        iat: now,
        exp: now + 120,
        jti: randomUUID(),
        events: LOGOUT,
      };
      return new SignJWT({ ...whole, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'test', typ: 'logout+jwt' })
        .sign(privateKey);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on('request', (request, response) => {
    answer ??= newProvider(own, key).callback();
    if (own.up) void answer(request, response);
    else response.writeHead(503).end();
  });
  return own;
}
