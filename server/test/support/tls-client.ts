/** A TLS client for tests: what a listener shows, and requests by HTTPS. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import https from 'node:https';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import tls from 'node:tls';

/** The certificate that a new handshake is shown, checked against the authority `ca`. */
export async function shownAt(port: number, ca: string, servername?: string): Promise<X509Certificate> {
  const named = servername === undefined ? {} : { servername };
  const socket = tls.connect({ host: '127.0.0.1', port, ca, ...named });
  try {
    await once(socket, 'secureConnect');
    return new X509Certificate(socket.getPeerCertificate().raw);
  } finally {
    socket.destroy();
  }
}
export interface SecureReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
/** A request to 127.0.0.1 by HTTPS; `agent` keeps its connection for more of them. */
export async function askSecurely(
  port: number,
  path: string,
  options: Pick<https.RequestOptions, 'method' | 'ca' | 'agent'> & {
    readonly json?: object;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<SecureReply> {
  const { json, headers, ...more } = options;
  const body = json === undefined ? undefined : JSON.stringify(json);
  const request = https.request({
    host: '127.0.0.1',
    port,
    path,
    ...more,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, body: text };
}
/** Signs in by HTTPS as a page does; phone and cookies are secure by the address of the request. Returns the token. */
export async function signInSecurely(
  port: number,
  ca: string,
  person: { readonly username: string; readonly password: string },
): Promise<string> {
  const origin = `127.0.0.1:${port}`;
  const reply = await askSecurely(port, '/api/auth/login', {
    method: 'POST',
    ca,
    json: person,
    headers: { origin: `https://${origin}` },
  });
  assert.equal(reply.status, 200, reply.body);
  const login = JSON.parse(reply.body) as { token: string; sip: { ws_url: string } };
  assert.equal(login.sip.ws_url, `wss://${origin}/ws`);
  const cookies = reply.headers['set-cookie'] ?? [];
  assert.ok(cookies.length > 0);
  for (const cookie of cookies) assert.match(cookie, /^__Host-.*; Secure$/);
  return login.token;
}
/** Requests by one connection that is kept; `opened` counts those that were needed. */
export function keptConnection(port: number, ca: string) {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
  let opened = 0;
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...args) => {
    opened += 1;
    return connect(...args);
  };
  return {
    asked: async (path: string) => (await askSecurely(port, path, { ca, agent })).status,
    opened: () => opened,
    [Symbol.dispose]: () => agent.destroy(),
  };
}
