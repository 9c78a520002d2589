/** Transport of a phone: datagrams, a connection by TCP or TLS, or a WebSocket. */
import { randomBytes } from 'node:crypto';
import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { bracketed } from '../../../core/networks.ts';

interface Address {
  readonly host: string;
  readonly port: number;
}
export interface StreamAddress extends Address {
  /** Name that the certificate has to be for: any with null, the host where absent. */
  readonly name?: string | null;
}
export interface Link {
  /** Name in the Via header. */
  readonly protocol: 'UDP' | 'TCP' | 'TLS' | 'WS' | 'WSS';
  readonly here: string;
  send(data: Buffer): void;
  close(): Promise<void>;
}
type Receive = (data: Buffer) => void;

export async function openDatagrams(server: Address, at: Address, receive: Receive): Promise<Link> {
  const socket = dgram.createSocket(net.isIPv6(at.host) ? 'udp6' : 'udp4');
  socket.bind(at.port, at.host);
  await once(socket, 'listening');
  socket.on('message', receive);
  socket.on('error', () => {});
  return {
    protocol: 'UDP',
    here: `${bracketed(at.host)}:${socket.address().port}`,
    send: (data) => socket.send(data, server.port, server.host),
    async close() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

const BLANK = Buffer.from('\r\n\r\n');
/** Complete messages at the start of `data`, and the rest. Keep-alives are left out. */
function split(data: Buffer): { readonly messages: readonly Buffer[]; readonly rest: Buffer } {
  const messages: Buffer[] = [];
  let rest = data;
  for (;;) {
    while (rest[0] === 13 || rest[0] === 10) rest = rest.subarray(1);
    const head = rest.indexOf(BLANK);
    if (head < 0) return { messages, rest };
    const length = Number(
      /^(?:content-length|l) *: *(\d+)/im.exec(rest.toString('latin1', 0, head))?.[1] ?? 0,
    );
    const end = head + BLANK.length + length;
    if (rest.length < end) return { messages, rest };
    messages.push(rest.subarray(0, end));
    rest = rest.subarray(end);
  }
}
/**
 * TLS with a `ca`, which must have issued the server's certificate for its name. Rejects with the reason otherwise, or when
 * `signal` is aborted before the connection is open.
 */
export async function openStream(
  server: StreamAddress,
  ca: string | undefined,
  receive: Receive,
  signal?: AbortSignal,
): Promise<Link> {
  const { host, port, name } = server;
  const named =
    name === null
      ? { checkServerIdentity: () => undefined }
      : name === undefined || net.isIP(name) !== 0
        ? {}
        : { servername: name };
  const socket = ca === undefined ? net.connect(port, host) : tls.connect({ host, port, ca, ...named });
  try {
    await once(socket, ca === undefined ? 'connect' : 'secureConnect', signal && { signal });
  } catch (error) {
    socket.on('error', () => {});
    socket.destroy();
    throw error;
  }
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (data: Buffer) => {
    const found = split(Buffer.concat([rest, data]));
    rest = found.rest;
    for (const message of found.messages) receive(message);
  });
  socket.on('error', () => {});
  return {
    protocol: ca === undefined ? 'TCP' : 'TLS',
    here: `${bracketed(socket.localAddress ?? '')}:${socket.localPort}`,
    send: (data) => void socket.write(data),
    async close() {
      if (socket.closed) return;
      socket.destroy();
      await once(socket, 'close');
    },
  };
}

/** SIP over WebSocket (RFC 7118). Rejects like `openStream`; certificates are checked by the default authorities of this process. */
export async function openWebSocket(url: string, receive: Receive, signal?: AbortSignal): Promise<Link> {
  const socket = new WebSocket(url, 'sip');
  socket.binaryType = 'arraybuffer';
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const failed = (): void => opened.reject(new Error('the WebSocket was refused'));
  socket.addEventListener('open', () => opened.resolve());
  socket.addEventListener('error', failed);
  socket.addEventListener('close', () => {
    failed();
    closed.resolve();
  });
  signal?.addEventListener('abort', failed);
  socket.addEventListener('message', ({ data }) =>
    receive(typeof data === 'string' ? Buffer.from(data) : Buffer.from(data as ArrayBuffer)),
  );
  try {
    await opened.promise;
  } catch (error) {
    socket.close();
    throw error;
  }
  return {
    protocol: url.startsWith('wss:') ? 'WSS' : 'WS',
    // A browser does not know its address: the engine answers over the same connection.
    here: `${randomBytes(6).toString('hex')}.invalid`,
    send(data) {
      if (socket.readyState === WebSocket.OPEN) socket.send(data.toString());
    },
    async close() {
      socket.close();
      await closed.promise;
    },
  };
}
