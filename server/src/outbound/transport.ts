import http from 'node:http';
import https from 'node:https';
import dns from 'node:dns/promises';
import net from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { Readable, pipeline } from 'node:stream';
import { messageOf } from '../core/errors.ts';
import { Queue } from '../core/queue.ts';
import type { Clock } from '../ports/clock.ts';
import type { Address, Guard } from './address-guard.ts';
import { readRetryAfter } from './schedule.ts';

export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'PROPFIND' | 'REPORT';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | OutboundStream;
  /** Bytes of the answer's body that are kept; a longer body is cut there and costs its connection. */
  readonly max_bytes: number;
  /** True if the target may get it twice; only then it is sent again after a kept connection was reset. */
  readonly repeatable: boolean;
  /** Limit of the whole request; `ATTEMPT_TIMEOUT_MS` without it. */
  readonly timeout_ms?: number;
}
/** A body that is read while it is sent, such as a file. */
export interface OutboundStream {
  readonly bytes: number;
  /** Exactly `bytes`; each call reads from the beginning. */
  read(): AsyncIterable<Uint8Array>;
}
/** Result of one request. `status` is null where no answer came; then `error` names the reason. */
export interface OutboundResult {
  /** `unsent`: nothing of the request left. `unknown`: no answer came, but the target may have done what was requested. */
  readonly kind: 'answered' | 'unsent' | 'unknown';
  readonly status: number | null;
  readonly error: string | null;
  readonly body: Buffer;
  /** False where the body is longer than `max_bytes` or broke off. */
  readonly whole: boolean;
  readonly retry_after_seconds: number | null;
  readonly latency_ms: number;
}
type Untimed = Omit<OutboundResult, 'latency_ms'>;
/** Result of a request on one connection; `reset` if it was a kept one that the target had closed. */
interface Try {
  readonly result: Untimed;
  readonly reset: boolean;
}
export type Resolve = (host: string) => Promise<readonly Address[]>;

export const ATTEMPT_TIMEOUT_MS = 15_000;
const IDLE_SOCKET_MS = 30_000;

/** Resolves at most two names at once, because each takes one of the few threads that also hash passwords. */
export function createResolve(): Resolve {
  const queue = new Queue({ places: 2 });
  return (host) => queue.run(() => dns.lookup(host, { all: true }));
}

const bytesOf = (body: string | OutboundStream): number =>
  typeof body === 'string' ? Buffer.byteLength(body) : body.bytes;
const failed = (sent: boolean, error: string): Untimed => ({
  kind: sent ? 'unknown' : 'unsent',
  status: null,
  error: error.slice(0, 300),
  body: Buffer.alloc(0),
  whole: false,
  retry_after_seconds: null,
});

/** The result of a request that never left. */
export const unsent = (error: string): OutboundResult => ({ ...failed(false, error), latency_ms: 0 });

/**
 * Sends requests over kept connections and never follows a redirect. `guard` checks the URL of each request, the
 * resolved addresses of a new connection, and the remote address of a kept one.
 */
export class Transport {
  readonly #guard: Guard;
  readonly #clock: Clock;
  readonly #resolve: Resolve;
  readonly #agents: Readonly<Record<'http' | 'https', http.Agent>>;
  #underWay = 0;
  constructor(parts: { readonly guard: Guard; readonly clock: Clock; readonly resolve: Resolve }) {
    this.#guard = parts.guard;
    this.#clock = parts.clock;
    this.#resolve = parts.resolve;
    const settings = {
      keepAlive: true,
      timeout: IDLE_SOCKET_MS,
      maxFreeSockets: 256,
      scheduling: 'lifo',
    } as const;
    this.#agents = { http: new http.Agent(settings), https: new https.Agent(settings) };
  }

  /** Number of requests that wait for their answer. */
  get under_way(): number {
    return this.#underWay;
  }
  /** Sends a request and reads its answer within `timeout_ms`; never throws. Aborting `signal` ends it. */
  async send(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResult> {
    const began = performance.now();
    this.#underWay += 1;
    const stop = new AbortController();
    const over = (): void => stop.abort(signal.reason);
    signal.addEventListener('abort', over, { once: true });
    const waiting = new AbortController();
    const { timeout_ms = ATTEMPT_TIMEOUT_MS } = request;
    this.#clock.sleep(timeout_ms, waiting.signal).then(
      () => stop.abort(new Error(`no answer within ${Math.round(timeout_ms / 1_000)} s`)),
      () => undefined,
    );
    const timed = (result: Untimed): OutboundResult => ({
      ...result,
      latency_ms: Math.round(performance.now() - began),
    });
    try {
      signal.throwIfAborted();
      const url = this.#guard.readTarget(request.url);
      const { result, reset } = await this.#try(url, request, stop.signal);
      if (!reset || !request.repeatable || stop.signal.aborted) return timed(result);
      const again = (await this.#try(url, request, stop.signal)).result;
      // The target may have read the first one.
      return timed(again.kind === 'unsent' ? { ...again, kind: 'unknown' } : again);
    } catch (error) {
      return timed(failed(false, messageOf(error)));
    } finally {
      this.#underWay -= 1;
      waiting.abort();
      signal.removeEventListener('abort', over);
    }
  }
  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #checked(host: string, addresses: readonly Address[]): readonly Address[] {
    const allowed = this.#guard.allowed(host, addresses);
    if (allowed.length === 0) throw new Error(`${host} does not resolve to an address that may be called`);
    return allowed;
  }
  readonly #lookup: LookupFunction = (host, { all }, give) => {
    this.#resolve(host)
      .then((addresses) => this.#checked(host, addresses))
      .then(
        (found) => {
          if (all === true) give(null, [...found]);
          else give(null, found[0]!.address, found[0]!.family);
        },
        (error: NodeJS.ErrnoException) => give(error, []),
      );
  };

  #try(url: URL, { method, headers, body, max_bytes }: OutboundRequest, stop: AbortSignal): Promise<Try> {
    return new Promise((done) => {
      const secure = url.protocol === 'https:';
      const request = (secure ? https : http).request(url, {
        method,
        agent: this.#agents[secure ? 'https' : 'http'],
        headers: body === undefined ? headers : { ...headers, 'content-length': bytesOf(body) },
        lookup: this.#lookup,
      });
      let sent = false;
      let answered = false;
      const end = (): void => {
        request.destroy(stop.reason instanceof Error ? stop.reason : new Error('stopped'));
      };
      stop.addEventListener('abort', end, { once: true });
      request.on('socket', (socket: Socket) => {
        const connected = (): void => {
          const { remoteAddress: address } = socket;
          try {
            // The target of a kept connection may no longer be allowed.
            if (address !== undefined) this.#checked(url.hostname, [{ address, family: net.isIP(address) }]);
            sent = true;
          } catch (error) {
            request.destroy(error as Error);
          }
        };
        if (!socket.connecting) connected();
        else socket.once(secure ? 'secureConnect' : 'connect', connected);
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (answered) return;
        const reset = request.reusedSocket && error.code === 'ECONNRESET';
        done({ result: failed(sent, error.message), reset });
      });
      request.on('close', () => {
        stop.removeEventListener('abort', end);
        // A server of another protocol causes neither an answer nor an error.
        if (answered) return;
        done({ result: failed(sent, 'the connection was closed without an answer'), reset: false });
      });
      request.on('response', (response) => {
        answered = true;
        const parts: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          if (size < max_bytes) parts.push(chunk.subarray(0, max_bytes - size));
          size += chunk.length;
          if (size > max_bytes) request.destroy();
        });
        response.on('error', () => undefined);
        // Whole, cut or broken off: the status was received.
        response.on('close', () => {
          // The answer came before the whole body was sent, such as 413.
          if (!request.writableFinished) request.destroy();
          const result: Untimed = {
            kind: 'answered',
            status: response.statusCode ?? null,
            error: null,
            body: Buffer.concat(parts),
            whole: response.complete && size <= max_bytes,
            retry_after_seconds: readRetryAfter(response.headers['retry-after'], this.#clock.now()),
          };
          done({ result, reset: false });
        });
      });
      if (typeof body !== 'object') request.end(body);
      else {
        const source = Readable.from(body.read(), { objectMode: false });
        source.on('error', (error) => request.destroy(error));
        // Errors end the request, and its events report the result.
        pipeline(source, request, () => undefined);
      }
    });
  }
}
