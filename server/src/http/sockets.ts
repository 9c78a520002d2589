import { ServerResponse } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../core/errors.ts';
import { say } from '../core/said.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import type { UpgradeRequest } from '../ports/http.ts';
import { watchArrival } from './arrival.ts';
import type { ArrivalLimits } from './arrival.ts';
import { rawAnswer } from './problem.ts';
import { allowOf, pathOf } from './route-table.ts';
import type { RouteTable } from './route-table.ts';

const upgrades = new WeakMap<IncomingMessage, UpgradeRequest>();
/** The upgrade that a request asks for; null for none. */
export const upgradeOf = (request: IncomingMessage): UpgradeRequest | null => upgrades.get(request) ?? null;

/** True for requests that `node:http` passes on with their socket; it ignores every other `Upgrade`, as HTTP allows. */
export const wantsWebSocket = (request: IncomingMessage): boolean =>
  request.method === 'GET' && request.headers.upgrade?.trim().toLowerCase() === 'websocket';

interface Newest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly before: ServerResponse | null;
}
/** The newest request of a connection, and the response before it until that is sent; read for every request. */
const NEWEST = Symbol('newest request');
type Connection = Duplex & { [NEWEST]?: Newest };
const PARSE_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
  HPE_HEADER_OVERFLOW: ['header_too_large', 'the request headers are larger than 16384 bytes'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['body_too_large', 'the chunk extensions are too large'],
};

/**
 * Handles traffic that does not reach the router: upgrades, CONNECT, expectations, and requests that are not
 * HTTP. Each is answered with a problem document, by the same route table. Returns the function that ends the
 * uploads under way.
 */
export function attachSockets(
  server: Server,
  table: RouteTable,
  routing: (request: IncomingMessage, response: ServerResponse) => void,
  options: {
    readonly bodyLimit: number;
    readonly arrival: ArrivalLimits;
    readonly edge: () => Record<string, string>;
    /** True for a request whose body another node limits. */
    readonly forwarded?: (request: IncomingMessage) => boolean;
    /** Answers a request without the router and returns true, or returns false. */
    readonly answers?: (request: IncomingMessage, response: ServerResponse) => boolean;
  },
): () => void {
  const { bodyLimit, arrival, edge, forwarded = () => false, answers = () => false } = options;
  const bytesOf = ({ url = '', method = '' }: IncomingMessage): number | undefined =>
    table.find(pathOf(url))?.methods.get(method)?.bodyBytes;
  const endUploads = watchArrival(
    server,
    arrival,
    (request) => forwarded(request) || bytesOf(request) !== undefined,
  );
  const others = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const socket: Connection = request.socket;
    const before = socket[NEWEST]?.response;
    socket[NEWEST] = { request, response, before: before?.closed === false ? before : null };
    if (answers(request, response)) return;
    for (const listener of others) Reflect.apply(listener, server, [request, response]);
  });

  /** Connections that no longer speak HTTP; every further chunk would fail again. */
  const broken = new WeakSet<Duplex>();
  server.on(
    'clientError',
    (error: NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number }, socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') {
        if (broken.has(socket)) return;
        broken.add(socket);
      }
      const bytes = refusal(error, table, edge());
      const finish = (answer?: Buffer): void => {
        if (socket.writable) socket.end(answer);
        // The client may never close; anything it still sends is discarded.
        setTimeout(() => socket.destroy(), 1_000).unref();
      };
      const newest = (socket as Connection)[NEWEST];
      const inBody = newest?.request.complete === false;
      const answer = (): void => {
        if (!inBody) return finish(bytes);
        // The late body arrived while the responses before its own were sent.
        if (newest.request.complete) return;
        // A response whose head is sent cannot be replaced.
        finish(newest.response.headersSent ? undefined : bytes);
      };
      const before = inBody ? newest.before : newest?.response;
      if (before === undefined || before === null || before.closed) answer();
      else before.once('close', answer);
    },
  );

  const intoRouter = (request: IncomingMessage, socket: Duplex): ServerResponse => {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    socket.on('error', () => socket.destroy());
    response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
    response.once('finish', () => {
      if (!taken.has(socket)) socket.end();
    });
    return response;
  };
  const taken = new WeakSet<Duplex>();
  server.on('upgrade', (request, socket, head) => {
    const response = intoRouter(request, socket);
    upgrades.set(request, {
      socket,
      head,
      take() {
        taken.add(socket);
        response.detachSocket(socket as Parameters<ServerResponse['detachSocket']>[0]);
        return socket;
      },
    });
    routing(request, response);
  });
  server.on('connect', (request, socket) => routing(request, intoRouter(request, socket)));

  server.on('checkContinue', (request, response) => {
    // Sends no 100 Continue for a body that will be rejected.
    const most = forwarded(request) ? Infinity : (bytesOf(request) ?? bodyLimit);
    if (!(Number(request.headers['content-length'] ?? 0) > most)) response.writeContinue();
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return endUploads;
}

/** Parser errors for an unknown method or target; the second is that of RTSP's methods, the third that of `PRI`. */
const LINE_ERRORS: readonly (string | undefined)[] = [
  'HPE_INVALID_METHOD',
  'HPE_INVALID_CONSTANT',
  'HPE_INVALID_VERSION',
  'HPE_INVALID_URL',
];
/** Answers by the route table if only the method or the bytes of the target made the request line unreadable. */
function refusal(
  error: NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number },
  table: RouteTable,
  edge: Readonly<Record<string, string>>,
): Buffer {
  if (LINE_ERRORS.includes(error.code)) {
    const packet = error.rawPacket?.toString('latin1') ?? '';
    // The parser reports `PRI` only behind the end of its line.
    const back = error.code === 'HPE_INVALID_VERSION' ? 2 : 0;
    const start = packet.lastIndexOf('\n', Math.max(0, (error.bytesParsed ?? 0) - back)) + 1;
    const line = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) (\S{1,8192}) HTTP\/1\.[01]\r?\n/.exec(
      packet.slice(start),
    );
    if (line !== null) {
      const [, method = '', target = ''] = line;
      const entry = table.find(pathOf(target));
      if (entry === undefined)
        return rawAnswer(
          new ServiceError(
            'not_found',
            'there is no such path; the paths are listed in /api/v1/openapi.json',
          ),
          edge,
        );
      const allow = allowOf(entry);
      // The path accepts the method, so the method was not the error.
      if (!allow.split(', ').includes(method)) {
        return rawAnswer(new ServiceError('method_not_allowed', say`this path accepts only ${allow}`), {
          ...edge,
          allow,
        });
      }
    }
  }
  const [code, detail] = PARSE_ERRORS[error.code ?? ''] ?? [
    'invalid_request',
    'this is not an HTTP/1.1 request',
  ];
  return rawAnswer(new ServiceError(code, detail), edge);
}
