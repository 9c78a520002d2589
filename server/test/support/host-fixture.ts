import net from 'node:net';
import { silent } from '../../src/core/log.ts';
import type { KeyRights } from '../../src/rights/rights.ts';
import { createHost } from '../../src/http/host.ts';
import type { Host, HostOptions } from '../../src/http/host.ts';
import type { Authenticator, Caller } from '../../src/ports/http.ts';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { PATIENCE_MS } from './until.ts';

/** Tokens `token-user`, `token-agent`, `token-supervisor` and `token-admin` authenticate a person of that level. */
export const fixtureAuthenticator: Authenticator = {
  authenticate: (token) => {
    const level = /^token-(user|agent|supervisor|admin)$/.exec(token)?.[1] as PersonLevel | undefined;
    if (level === undefined) return Promise.resolve(null);
    const id = { user: 5, agent: 3, supervisor: 2, admin: 1 }[level];
    const caller: Caller = {
      session_id: id,
      person_id: id,
      extension: `100${id}`,
      username: level,
      level,
      expires_at: 4_000_000_000_000,
      cookie: false,
      key: null,
    };
    return Promise.resolve(caller);
  },
};
/** Also accepts `key-<name>`, an API key with these rights; without given scopes it has none. */
export const authenticatorWithKeys = (
  keys: Readonly<Record<string, Partial<KeyRights>>> | undefined,
): Authenticator => ({
  authenticate: async (token) => {
    const rights = keys?.[token.replace(/^key-/, '')];
    if (rights === undefined) return fixtureAuthenticator.authenticate(token);
    const key = { id: 1, name: 'k', scopes: [], queues: null, extensions: null, ...rights };
    const supervisor = await fixtureAuthenticator.authenticate('token-supervisor');
    return { ...supervisor!, extension: '', session_id: 0, person_id: -key.id, username: 'key:k', key };
  },
});
/** A host without routes, with `fixtureAuthenticator`. */
export const hostFixture = (options: Partial<HostOptions> = {}): Promise<Host> =>
  createHost({
    config: { corsOrigins: ['https://crm.example.com'], publicUrl: '', trustProxy: [] },
    authenticator: fixtureAuthenticator,
    confirmed: () => true,
    log: silent,
    version: '0.0.0-test',
    ...options,
  });

/** Sends requests below this path as a supervisor, or with another token. */
export const jsonCaller =
  ({ app }: Host, path = '/api/v1/') =>
  async (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    body?: object,
    token = 'token-supervisor',
    headers: Record<string, string> = {},
  ) => {
    const reply = await app.inject({
      method,
      url: path + url,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body === undefined ? {} : { payload: body }),
    });
    const json: { code?: string; detail?: string; etag?: string } = reply.json();
    return { status: reply.statusCode, etag: reply.headers['etag'], json };
  };

/** Data received on a raw connection until the server closed it or `ms` passed. */
export async function rawExchange(
  port: number,
  bytes: string | Buffer | readonly (string | Buffer)[],
  ms = PATIENCE_MS,
): Promise<{ readonly text: string; readonly closed: boolean }> {
  const socket = net.connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const closed = new Promise<boolean>((resolve) => {
    socket.on('error', () => {});
    socket.on('close', () => resolve(true));
    setTimeout(() => resolve(false), ms).unref();
  });
  const parts = typeof bytes === 'string' || Buffer.isBuffer(bytes) ? [bytes] : bytes;
  for (const part of parts) socket.write(part);
  const didClose = await closed;
  socket.destroy();
  return { text: Buffer.concat(chunks).toString('latin1'), closed: didClose };
}
