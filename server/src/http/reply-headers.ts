import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../ports/http.ts';
import type { HostSettings } from './host.ts';
import type { Pace } from './pace.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
const FOR_OTHER_ORIGINS = ['vary', 'access-control-allow-origin', 'access-control-expose-headers'];
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, X-App-Language, X-Request-Id',
  'access-control-max-age': '600',
};

/** Headers of replies that do not depend on the path: request id, version, rate limits, security and CORS. */
export class ReplyHeaders {
  readonly #version: string;
  readonly #pace: Pace;
  readonly #cors: ReadonlySet<string>;
  readonly #security: Readonly<Record<string, string>>;
  readonly #boot = randomBytes(4).toString('hex');
  #requests = 0;

  constructor({ corsOrigins, publicUrl }: HostSettings, version: string, pace: Pace) {
    this.#version = version;
    this.#pace = pace;
    this.#cors = new Set(corsOrigins);
    this.#security = securityHeaders(publicUrl.startsWith('https:'));
  }
  /** Keeps the client's request id if it is valid, so that both logs share it. */
  requestId(given?: string | string[]): string {
    if (typeof given === 'string' && REQUEST_ID.test(given)) return given;
    return `${this.#boot}-${(this.#requests += 1).toString(36)}`;
  }
  /** Headers of every reply. */
  of(id: string, caller: Caller | null): Record<string, string> {
    return { 'x-request-id': id, 'offhook-version': this.#version, ...this.#pace.headers(caller) };
  }
  addSecurity(reply: FastifyReply): void {
    reply.headers(this.#security);
  }
  /** True for an origin listed in the settings; its scripts may then read the reply. */
  addCors(origin: string | undefined, reply: FastifyReply): boolean {
    if (this.#cors.size > 0) reply.header('vary', 'Origin');
    if (origin === undefined || !this.#cors.has(origin)) return false;
    reply.header('access-control-allow-origin', origin);
    reply.header(
      'access-control-expose-headers',
      'ETag, Location, Retry-After, X-Request-Id, Offhook-Version, RateLimit, RateLimit-Policy, Content-Language',
    );
    return true;
  }
  /** Updates the rate limits, which may have changed while the request ran. */
  refresh(request: FastifyRequest, reply: FastifyReply): void {
    // The reply to malformed HTTP is sent without the hooks that run before the handler.
    const caller = (request.caller as Caller | null | undefined) ?? null;
    if (caller !== null) reply.headers(this.#pace.headers(caller));
    else if (!reply.hasHeader('x-request-id')) reply.headers(this.of(request.id, null));
  }
  /** Headers of a 304 for a request without an origin. */
  unchanged(id: string, caller: Caller | null, etag: string): Record<string, string> {
    const pace = this.#pace.headers(caller);
    const headers = {
      'x-request-id': id,
      'offhook-version': this.#version,
      'ratelimit-policy': pace['ratelimit-policy'],
      ratelimit: pace.ratelimit,
      etag,
      'cache-control': 'no-store',
    };
    return this.#cors.size > 0 ? { ...headers, vary: 'Origin' } : headers;
  }
  /** Replies 304. A stored reply keeps its own headers; only the CORS headers are written for this request. */
  notModified(reply: FastifyReply, etag: string): void {
    const { id, caller } = reply.request;
    const headers = this.unchanged(id, caller, etag);
    for (const name of this.#cors.size > 0 ? FOR_OTHER_ORIGINS : []) {
      const value = reply.getHeader(name);
      if (typeof value === 'string') headers[name] = value;
    }
    reply.hijack();
    reply.raw.writeHead(304, headers).end();
  }
}
export const sendPreflight = (reply: FastifyReply): void => {
  reply.code(204).headers(PREFLIGHT).send();
};

/** Constants instead of helmet, whose plugin rebuilds its fifteen functions and the policy for every request. */
function securityHeaders(tls: boolean): Record<string, string> {
  return {
    'content-security-policy':
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-permitted-cross-domain-policies': 'none',
    ...(tls ? { 'strict-transport-security': 'max-age=31536000; includeSubDomains' } : {}),
  };
}
