/** A TLS client for tests: what a listener shows, and requests by HTTPS. */
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
