/** A real OpenID provider on loopback, whose sign-in page takes any password. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
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
}
const newProvider = ({ issuer, accounts, callback }: TestProvider): Provider =>
  new Provider(issuer, {
    clients: [
      {
        client_id: 'offhook',
        client_secret: CLIENT_SECRET,
        redirect_uris: [callback],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'client_secret_post',
        application_type: 'web',
      },
    ],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['preferred_username'],
    },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts.get(id) }) }),
    cookies: { keys: ['a key of the test'] },
  });
export async function startProvider(): Promise<TestProvider> {
  const server = http.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accounts: TestProvider['accounts'] = new Map();
  let answer: ReturnType<Provider['callback']> | undefined;
  const own: TestProvider = {
    issuer,
    accounts,
    up: true,
    callback: '',
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on('request', (request, response) => {
    answer ??= newProvider(own).callback();
    if (own.up) void answer(request, response);
    else response.writeHead(503).end();
  });
  return own;
}
