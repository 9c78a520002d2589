import http from 'node:http';
import https from 'node:https';
import dns from 'node:dns/promises';
import net from 'node:net';
import type { LookupFunction } from 'node:net';
import { MAX_EXCERPT_BYTES } from '@offhook/contract/webhooks.ts';
import { messageOf } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import { Queue } from '../core/queue.ts';
import { readRetryAfter } from './schedule.ts';
import type { Address, Guard } from './address-guard.ts';

/** One attempt and what came of it. `status` is null where no answer came; then `error` says why. */
export interface Outcome {
  readonly status: number | null;
  readonly error: string | null;
  /** Begin of the answer's body, at most 1 KiB. */
  readonly excerpt: string;
  readonly latency_ms: number;
  readonly retry_after_seconds: number | null;
}
export interface Transport {
  /** Never throws. Redirects are answers like any other. Aborting `signal` ends the attempt. */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<Outcome>;
  /** Attempts that wait for their answer now; one for each webhook at most. */
  readonly under_way: number;
  close(): void;
}
export type Resolve = (host: string) => Promise<readonly Address[]>;

export const ATTEMPT_TIMEOUT_MS = 15_000;
/** What is read of an answer's body; a longer one costs its connection. */
const MAX_BODY_BYTES = 65_536;
const IDLE_SOCKET_MS = 30_000;

/** Resolving takes a thread of the few that hash passwords too, so no more than two names at once. */
export function createResolve(): Resolve {
  const queue = new Queue({ places: 2 });
  return (host) => queue.run(() => dns.lookup(host, { all: true }));
}

/**
 * Sends over kept connections. The address is judged by `guard` when a connection is made, and that very address is
 * connected to: a name that means something else by then gets nothing.
 */
export function createTransport(options: {
  readonly guard: Guard;
  readonly clock: Clock;
  readonly resolve: Resolve;
}): Transport {
  const { guard, clock, resolve } = options;
  const settings = {
    keepAlive: true,
    timeout: IDLE_SOCKET_MS,
    maxFreeSockets: 256,
    scheduling: 'lifo',
  } as const;
  const agents = { 'http:': new http.Agent(settings), 'https:': new https.Agent(settings) };

  const refused = (host: string): Error =>
    new Error(`${host} does not resolve to an address that may be called`);
  async function find(host: string): Promise<readonly Address[]> {
    const addresses = guard.allowed(host, await resolve(host));
    if (addresses.length === 0) throw refused(host);
    return addresses;
  }
  const lookup: LookupFunction = (host, { all }, tell) => {
    find(host).then(
      (found) => {
        if (all === true) tell(null, [...found]);
        else tell(null, found[0]!.address, found[0]!.family);
      },
      (error: NodeJS.ErrnoException) => tell(error, []),
    );
  };

  function once(
    url: URL,
    headers: Readonly<Record<string, string>>,
    body: string,
    stop: AbortSignal,
  ): Promise<Omit<Outcome, 'latency_ms'> & { readonly reset: boolean }> {
    return new Promise((done) => {
      const failed = (error: string, reset = false): void =>
        done({ status: null, error, excerpt: '', retry_after_seconds: null, reset });
      const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
      const family = net.isIP(host);
      // An address in the URL is connected to without being looked up.
      if (family !== 0 && guard.allowed(host, [{ address: host, family }]).length === 0) {
        failed(refused(host).message);
        return;
      }
      const secure = url.protocol === 'https:';
      const request = (secure ? https : http).request(url, {
        method: 'POST',
        agent: agents[secure ? 'https:' : 'http:'],
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        lookup,
      });
      const give = (): void => {
        request.destroy(stop.reason instanceof Error ? stop.reason : new Error('stopped'));
      };
      stop.addEventListener('abort', give, { once: true });
      let answered = false;
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (answered) return;
        failed(error.message.slice(0, 300), request.reusedSocket && error.code === 'ECONNRESET');
      });
      request.on('close', () => {
        stop.removeEventListener('abort', give);
        // Where another protocol is answered there is neither an answer nor an error.
        if (!answered) failed('the connection was closed without an answer');
      });
      request.on('response', (response) => {
        answered = true;
        const parts: Buffer[] = [];
        let size = 0;
        const end = (): void => {
          const text = Buffer.concat(parts).subarray(0, MAX_EXCERPT_BYTES).toString('utf8');
          done({
            status: response.statusCode ?? null,
            error: null,
            excerpt: text,
            retry_after_seconds: readRetryAfter(response.headers['retry-after'], clock.now()),
            reset: false,
          });
        };
        response.on('data', (chunk: Buffer) => {
          if (size < MAX_EXCERPT_BYTES) parts.push(chunk.subarray(0, MAX_EXCERPT_BYTES));
          size += chunk.length;
          if (size > MAX_BODY_BYTES) request.destroy();
        });
        response.on('error', () => undefined);
        // Whole, cut or broken off: the status was said.
        response.on('close', end);
      });
      request.end(body);
    });
  }

  let underWay = 0;
  return {
    get under_way() {
      return underWay;
    },
    async post(target, headers, body, signal) {
      const began = performance.now();
      underWay += 1;
      const stop = new AbortController();
      const over = (): void => stop.abort(signal.reason);
      signal.addEventListener('abort', over, { once: true });
      const waiting = new AbortController();
      clock.sleep(ATTEMPT_TIMEOUT_MS, waiting.signal).then(
        () => stop.abort(new Error(`no answer within ${ATTEMPT_TIMEOUT_MS / 1_000} s`)),
        () => undefined,
      );
      try {
        signal.throwIfAborted();
        const url = new URL(target);
        let outcome = await once(url, headers, body, stop.signal);
        // The target had closed the kept connection before it saw the request.
        if (outcome.reset && !stop.signal.aborted) outcome = await once(url, headers, body, stop.signal);
        const { status, error, excerpt, retry_after_seconds } = outcome;
        const latency_ms = Math.round(performance.now() - began);
        return { status, error, excerpt, retry_after_seconds, latency_ms };
      } catch (error) {
        const latency_ms = Math.round(performance.now() - began);
        return { status: null, error: messageOf(error), excerpt: '', retry_after_seconds: null, latency_ms };
      } finally {
        underWay -= 1;
        waiting.abort();
        signal.removeEventListener('abort', over);
      }
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}
