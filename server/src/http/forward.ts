/** Requests that another node of the site answers. */
import { Agent, request as plainRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { pipeline } from 'node:stream';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError, messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { PROOF_HEADER, SEQ_HEADER, partsOf, prove } from './node-proof.ts';
import type { Origin } from './node-proof.ts';

export interface ForwardOptions {
  /** True for a request that this node answers itself. */
  readonly own: (method: string, path: string) => boolean;
  /** Address of the node that answers all other requests; null while none is known. */
  readonly target: () => string | null;
  /** Secret that the nodes of the site share. */
  readonly secret: string;
  /** Resolves once the streams of this node have the event `seq`, or after a moment. */
  readonly reached: (seq: number) => Promise<void>;
  readonly log: Log;
  readonly deadlineMs?: number;
}
export interface ForwardHost {
  readonly fail: (error: ServiceError) => void;
  readonly closing: () => boolean;
}
export interface Forward {
  readonly own: ForwardOptions['own'];
  /**
   * Forwards a request. `fail` receives the error if the other node does not answer; `closing` is true once this node
   * stops, so that each connection is closed after its answer.
   */
  pass(request: FastifyRequest, reply: FastifyReply, host: ForwardHost): void;
  readonly counts: { forwarded: number; failed: number };
  /** Stops waiting for answers of all nodes but the one at `address`, which leads the site now. */
  leads(address: string): void;
  close(): void;
}
/** Longest wait for an answer; operations on the engine have shorter limits of their own. */
const DEADLINE_MS = 60_000;
const IDLE_MS = 30_000;
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Headers that concern one connection and are never forwarded. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
]);
/** Headers that a client could forge; the proof of this node names the client instead. */
const OF_CLIENT: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-real-ip',
  'x-request-id',
  PROOF_HEADER,
]);

/** The headers that pass this node, without those that concern one connection. */
function passed(headers: IncomingMessage['headers'], left: ReadonlySet<string>): OutgoingHttpHeaders {
  const listed = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !OF_CONNECTION.has(name) && !left.has(name) && !listed.has(name),
    ),
  );
}
const originOf = (request: FastifyRequest): Origin => ({
  ip: request.ip,
  protocol: request.protocol === 'https' ? 'https' : 'http',
  host: request.host,
});
const LEFT_OUT: ReadonlySet<string> = new Set([SEQ_HEADER]);
export const noLeader = (): ServiceError =>
  new ServiceError('node_not_active', 'no node leads the site at the moment; try again shortly');

export function createForward(options: ForwardOptions): Forward {
  const { own, target, secret, reached, log, deadlineMs = DEADLINE_MS } = options;
  const agents = {
    'http:': new Agent({ keepAlive: true, timeout: IDLE_MS }),
    'https:': new SecureAgent({ keepAlive: true, timeout: IDLE_MS }),
  };
  const counts = { forwarded: 0, failed: 0 };
  const unanswered = new Map<ClientRequest, string>();
  const send = (url: URL, request: FastifyRequest): ClientRequest => {
    const { raw, method, originalUrl, upgrade } = request;
    const headers: OutgoingHttpHeaders = {
      ...passed(raw.headers, OF_CLIENT),
      'x-request-id': request.id,
      [PROOF_HEADER]: prove(secret, originOf(request), partsOf({ method, url: originalUrl })),
      ...(upgrade === null ? {} : { connection: 'Upgrade', upgrade: 'websocket' }),
    };
    const sending = url.protocol === 'https:' ? secureRequest : plainRequest;
    const agent = upgrade === null ? agents[url.protocol as keyof typeof agents] : false;
    return sending({ host: hostOf(url), port: portOf(url), path: originalUrl, method, headers, agent });
  };
  return {
    own,
    counts,
    pass(request, reply, { fail, closing }) {
      const address = target();
      if (address === null) return fail(noLeader());
      const { raw, method } = request;
      let sent = false;
      let over = false;
      let out: ClientRequest;
      try {
        out = send(new URL(address), request);
      } catch (error) {
        return fail(new ServiceError('invalid_request', messageOf(error)));
      }
      unanswered.set(out, address);
      out.once('close', () => unanswered.delete(out));
      const late = setTimeout(() => out.destroy(new Error(`no answer in ${deadlineMs} ms`)), deadlineMs);
      const end = (error: unknown): void => {
        if (over) return;
        over = true;
        clearTimeout(late);
        counts.failed += 1;
        log.warn({ request_id: request.id, error: messageOf(error) }, 'the leading node gave no answer');
        // The request was not sent or changes nothing, so the client may repeat it.
        if (!sent || SAFE.has(method)) return fail(noLeader());
        fail(
          new ServiceError(
            'node_no_answer',
            'the leading node gave no answer: it is not known whether the request was carried out; a repeat with the same Idempotency-Key is safe',
          ),
        );
      };
      out.once('socket', (socket) => {
        if (socket.connecting) socket.once('connect', () => (sent = true));
        else sent = true;
      });
      out.on('error', end);
      out.once('upgrade', (answer, socket, head) => {
        over = true;
        clearTimeout(late);
        unanswered.delete(out);
        join(request, reply, { answer, socket, head });
      });
      out.once('response', (answer) => {
        over = true;
        clearTimeout(late);
        unanswered.delete(out);
        const seq = Number(answer.headers[SEQ_HEADER] ?? 0);
        const wait = seq > 0 ? reached(seq) : Promise.resolve();
        void wait.then(() => {
          counts.forwarded += 1;
          reply.hijack();
          if (closing()) reply.raw.shouldKeepAlive = false;
          reply.raw.writeHead(answer.statusCode!, answer.statusMessage, passed(answer.headers, LEFT_OUT));
          pipeline(answer, reply.raw, (error) => {
            if (error != null) reply.raw.destroy();
          });
        });
      });
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) out.destroy();
      });
      raw.on('error', () => out.destroy());
      raw.pipe(out);
    },
    leads(address) {
      for (const [out, to] of unanswered)
        if (to !== address) out.destroy(new Error('another node leads the site now'));
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');
const portOf = ({ port, protocol }: URL): number => Number(port) || (protocol === 'https:' ? 443 : 80);

/** Joins both sides of an accepted upgrade. */
function join(
  { upgrade }: FastifyRequest,
  reply: FastifyReply,
  { answer, socket, head }: { answer: IncomingMessage; socket: Duplex; head: Buffer },
): void {
  reply.hijack();
  const client = upgrade!.take();
  const lines = Object.entries(passed(answer.headers, new Set()))
    .flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${String(one)}\r\n`))
    .join('');
  client.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${lines}\r\n`,
  );
  if (head.length > 0) client.write(head);
  if (upgrade!.head.length > 0) socket.write(upgrade!.head);
  const ended = (): void => {
    client.destroy();
    socket.destroy();
  };
  pipeline(client, socket, ended);
  pipeline(socket, client, ended);
}
