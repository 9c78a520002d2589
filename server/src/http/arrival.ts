import type { IncomingMessage, Server } from 'node:http';
import { hasBodyOf } from './body.ts';

/** Limits for the arrival of a request body. */
export interface ArrivalLimits {
  /** Time for a whole body that is no upload. */
  readonly requestTimeoutMs: number;
  /** Time an upload may pass without a byte; also the interval over which `uploadBytesPerSecond` is the mean. */
  readonly uploadIdleMs: number;
  readonly uploadBytesPerSecond: number;
  /** Time for a whole upload. */
  readonly uploadMs: number;
  /** Interval between two checks of the bodies under way. */
  readonly checkIntervalMs: number;
}
interface Body {
  readonly request: IncomingMessage;
  readonly upload: boolean;
  /** Bytes the socket had received at the last check, and at the start of the interval. */
  seen: number;
  counted: number;
  age: number;
  idle: number;
  interval: number;
}

/**
 * Milliseconds that count against a client between two checks, at most `most`: time in which this process was blocked
 * does not count.
 */
const passed = (since: number, most: number): number => Math.min(performance.now() - since, most);

/**
 * Rejects a body that arrives too late as node:http does: by `clientError` with `ERR_HTTP_REQUEST_TIMEOUT`. Returns the
 * function that ends the uploads under way, because stopping the service must not wait for the slowest upload.
 */
export function watchArrival(
  server: Server,
  limits: ArrivalLimits,
  isUpload: (request: IncomingMessage) => boolean,
): () => void {
  const bodies = new Set<Body>();
  let looked = performance.now();

  function isLate(body: Body, ms: number): boolean {
    const { request, upload } = body;
    const received = request.socket.bytesRead;
    // A body that this process has not read yet is not late.
    const moves = received > body.seen || request.readableLength > 0;
    body.seen = received;
    body.age += ms;
    if (!upload) return body.age > limits.requestTimeoutMs;
    body.idle = moves ? 0 : body.idle + ms;
    body.interval += ms;
    if (body.idle > limits.uploadIdleMs || body.age > limits.uploadMs) return true;
    if (body.interval < limits.uploadIdleMs) return false;
    const slow = (received - body.counted) * 1_000 < limits.uploadBytesPerSecond * body.interval;
    body.counted = received;
    body.interval = 0;
    return slow && request.readableLength === 0;
  }
  function look(): void {
    const ms = passed(looked, limits.checkIntervalMs * 2);
    looked = performance.now();
    for (const body of bodies) {
      const { request } = body;
      if (request.complete || request.destroyed) bodies.delete(body);
      else if (isLate(body, ms)) {
        bodies.delete(body);
        const error = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
        server.emit('clientError', error, request.socket);
      }
    }
  }
  server.prependListener('request', (request) => {
    if (!hasBodyOf(request)) return;
    const { bytesRead } = request.socket;
    const upload = isUpload(request);
    bodies.add({ request, upload, seen: bytesRead, counted: bytesRead, age: 0, idle: 0, interval: 0 });
  });
  // Runs after the sockets were read, so that received but unread bytes do not count as late.
  const timer = setInterval(() => setImmediate(look), limits.checkIntervalMs);
  timer.unref();
  server.once('close', () => clearInterval(timer));
  return () => {
    for (const { request, upload } of bodies) if (upload && !request.complete) request.socket.destroy();
  };
}
