/**
 * The address of the simulator: `/simulator` is the control, all other requests go to the service behind it. Faults of
 * the network are made here, between client and service.
 */
import http from 'node:http';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import { Transform } from 'node:stream';
import { finished } from 'node:stream/promises';

const HOST = '127.0.0.1';
export const CONTROL = '/simulator';

export interface NetworkFaults {
  /** The next `next` requests are answered with this status instead of reaching the service. */
  answer: { readonly status: number; next: number } | null;
  /** Milliseconds by which everything that the service sends is late. */
  slow_ms: number;
}
/** A request to the service, as it was received. */
export interface AskedRequest {
  /** The simulator's time. */
  readonly at: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Text of the body, cut at 64 KiB; empty without one. */
  body: string;
  /** Null until it is answered, and for a WebSocket. */
  status: number | null;
  /** True where a fault answered it, so that the service never received it. */
  readonly fault: boolean;
}
const MOST_REQUESTS = 10_000;
const MOST_BODY = 65_536;

export interface Front extends AsyncDisposable {
  readonly port: number;
  readonly faults: NetworkFaults;
  /** The newest requests to the service, oldest first. */
  readonly requests: AskedRequest[];
  /** Cuts every connection to the service without a close frame. */
  disconnect(): void;
  /** Cuts every connection and refuses new ones while this work lasts. */
  alone(work: () => Promise<void>): Promise<void>;
}
export interface FrontOptions {
  readonly port: number;
  /** Port of the service; it changes when the service starts again. */
  readonly target: () => number;
  readonly now: () => Date;
  readonly control: (request: http.IncomingMessage, response: http.ServerResponse) => Promise<void>;
}
const late = (ms: () => number): Transform =>
  new Transform({
    transform(chunk, _encoding, done) {
      if (ms() === 0) done(null, chunk);
      else setTimeout(() => done(null, chunk), ms());
    },
  });

/** The newest requests to the service. */
function requestLog(now: () => Date) {
  const requests: AskedRequest[] = [];
  const note = ({ method = '', url = '' }: http.IncomingMessage, fault: boolean): AskedRequest => {
    const asked = { at: now().toISOString(), method, path: url, body: '', status: null, fault };
    if (requests.push(asked) > MOST_REQUESTS) requests.shift();
    return asked;
  };
  return { requests, note };
}
export async function openFront({ port, target, now, control }: FrontOptions): Promise<Front> {
  const faults: NetworkFaults = { answer: null, slow_ms: 0 };
  let shut = false;
  const links = new Set<Duplex>();
  const { requests, note } = requestLog(now);
  const keep = (link: Duplex): void => {
    if (links.has(link)) return;
    links.add(link);
    link.once('close', () => links.delete(link));
  };
  const refused = (request: http.IncomingMessage, response: http.ServerResponse, status: number): void => {
    request.resume();
    note(request, true).status = status;
    const code = status === 429 ? 'rate_limited' : 'fault';
    response.writeHead(status, {
      'content-type': 'application/problem+json',
      ...(status === 429 || status === 503 ? { 'retry-after': '1' } : {}),
    });
    response.end(
      JSON.stringify({ status, code, detail: 'a fault that the control of the simulator requested' }),
    );
  };
  const forward = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const { method, url, rawHeaders } = request;
    keep(request.socket);
    const headers = rawHeaders;
    const asked = note(request, false);
    const body: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      if (size < MOST_BODY) body.push(chunk);
      size += chunk.length;
    });
    request.once('end', () => (asked.body = Buffer.concat(body).subarray(0, MOST_BODY).toString('utf8')));
    const onward = http.request({ host: HOST, port: target(), method, path: url, headers }, (answer) => {
      asked.status = answer.statusCode!;
      response.writeHead(answer.statusCode!, answer.statusMessage, answer.rawHeaders);
      response.flushHeaders();
      answer.pipe(late(() => faults.slow_ms)).pipe(response);
      answer.once('error', () => response.destroy());
    });
    onward.once('error', () => response.destroy());
    response.once('close', () => onward.destroy());
    request.pipe(onward);
  };
  const server = http.createServer((request, response) => {
    if (request.url === CONTROL || request.url?.startsWith(`${CONTROL}/`)) {
      void control(request, response);
      return;
    }
    if (shut) {
      request.socket.destroy();
      return;
    }
    const { answer } = faults;
    if (answer !== null && answer.next > 0) {
      answer.next -= 1;
      refused(request, response, answer.status);
    } else forward(request, response);
  });
  server.on('upgrade', (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    if (shut) {
      socket.destroy();
      return;
    }
    keep(socket);
    note(request, false);
    const onward = net.connect(target(), HOST);
    const lines = [`${request.method} ${request.url} HTTP/1.1`];
    for (let i = 0; i < request.rawHeaders.length; i += 2)
      lines.push(`${request.rawHeaders[i]}: ${request.rawHeaders[i + 1]}`);
    onward.write(`${lines.join('\r\n')}\r\n\r\n`);
    onward.write(head);
    onward.pipe(late(() => faults.slow_ms)).pipe(socket);
    socket.pipe(onward);
    for (const end of [onward, socket])
      void finished(end)
        .catch(() => undefined)
        .then(() => {
          onward.destroy();
          socket.destroy();
        });
  });
  server.listen(port, HOST);
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  const disconnect = (): void => {
    for (const link of links) link.destroy();
  };
  return {
    port: (server.address() as net.AddressInfo).port,
    faults,
    requests,
    disconnect,
    async alone(work) {
      shut = true;
      disconnect();
      try {
        await work();
      } finally {
        shut = false;
      }
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      disconnect();
      server.closeAllConnections();
      await closed;
    },
  };
}
