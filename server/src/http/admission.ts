import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../core/errors.ts';
import { say } from '../core/said.ts';
import type { App, Authenticator, Caller, Credential } from '../ports/http.ts';
import { checkBodyHeaders } from './body.ts';
import { checkAccess } from './operations.ts';
import { count, isHost, secretInQuery } from './origin.ts';
import type { ReplyHeaders } from './reply-headers.ts';
import { allowOf, pathOf } from './route-table.ts';
import type { RouteTable } from './route-table.ts';
import { upgradeOf } from './sockets.ts';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);
/** True for a route whose requests have a caller. */
export const identifies = ({ level, identify }: FastifyContextConfig): boolean =>
  level !== 'public' || identify === true;
export const noSuchPath = (): ServiceError =>
  new ServiceError('not_found', 'there is no such path; the paths are listed in /api/v1/openapi.json');

/** Decides which requests reach their handler; each check throws the error the request is rejected with. */
export class Admission {
  /** True once the service stops: API requests are rejected from then on. */
  draining = false;
  readonly #app: App;
  readonly #table: RouteTable;
  readonly #authenticator: Authenticator;
  readonly #headers: ReplyHeaders;
  readonly #fence: (() => void) | undefined;

  constructor(parts: {
    app: App;
    table: RouteTable;
    authenticator: Authenticator;
    headers: ReplyHeaders;
    fence: (() => void) | undefined;
  }) {
    this.#app = parts.app;
    this.#fence = parts.fence;
    this.#table = parts.table;
    this.#authenticator = parts.authenticator;
    this.#headers = parts.headers;
  }

  /** Checks a request before it is forwarded; the node that answers it makes the other checks. */
  pass(request: FastifyRequest, reply: FastifyReply): void {
    checkFraming(request, reply);
    request.upgrade = upgradeOf(request.raw);
    if (!this.draining) return;
    reply.raw.shouldKeepAlive = false;
    throw new ServiceError('overloaded', 'the service is stopping; try again shortly');
  }
  /** True while requests of the API are answered here; throws while another node may lead the site. */
  open(): boolean {
    this.#fence?.();
    return !this.draining;
  }
  /** Checks everything that needs no body. */
  admit(request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const { raw } = request;
    const path = pathOf(request.originalUrl);
    this.#headers.addSecurity(reply);
    reply.headers(this.#headers.of(request.id, null));
    checkFraming(request, reply);
    if (path.startsWith('/api/')) reply.header('cache-control', 'no-store');
    if (path.startsWith('/api/') || upgradeOf(raw) !== null) {
      if (this.draining) {
        reply.raw.shouldKeepAlive = false;
        throw new ServiceError('overloaded', 'the service is stopping; try again shortly');
      }
      // If another node leads, this one may be behind, and a client with a cursor of that node would get an error.
      this.#fence?.();
    }
    const listed = this.#headers.addCors(raw.headers.origin, reply);
    if (request.is404) return this.#rejectUnrouted(path, listed, request, reply);
    checkUpgrade(request, listed);
    const secret = secretInQuery(request.originalUrl);
    if (secret !== undefined) {
      throw new ServiceError(
        'token_in_url',
        say`"${secret}" is not allowed in the address, which logs keep; send it in a header`,
      );
    }
    if (!identifies(request.routeOptions.config)) return checkBodyHeaders(request);
    const waiting = this.identify(request);
    if (waiting !== undefined) return waiting.then(() => this.#checkRest(request));
    this.#checkRest(request);
  }
  /** Looks the caller up and checks its access; for a body or a handler that took time, again. */
  identify(request: FastifyRequest): void | Promise<void> {
    const credential = request.credential();
    const caller = credential === null ? null : this.#authenticator.authenticate(credential.token);
    // Awaiting a value that is already known would cost a tenth of a request's time.
    if (caller instanceof Promise) return caller.then((found) => this.#identify(request, credential, found));
    this.#identify(request, credential, caller);
  }

  #checkRest(request: FastifyRequest): void {
    // Once only: a confirmation that held when the request began also covers a body that arrives slowly.
    if (request.routeOptions.config.confirm === true) this.#app.confirmed(request.person());
    checkBodyHeaders(request);
  }

  /** 404 or 405; only the preflight of a listed origin passes. */
  #rejectUnrouted(path: string, listed: boolean, request: FastifyRequest, reply: FastifyReply): void {
    const entry = this.#table.find(path);
    if (entry === undefined) throw noSuchPath();
    if (request.raw.method === 'OPTIONS' && listed) return;
    reply.header('allow', allowOf(entry));
    throw new ServiceError('method_not_allowed', say`this path accepts only ${allowOf(entry)}`);
  }
  #identify(request: FastifyRequest, credential: Credential | null, caller: Caller | null): void {
    const { level = 'admin', scope, setup } = request.routeOptions.config;
    // A browser never holds an API key, so a key that comes as a cookie was planted.
    if (caller === null || credential === null || (credential.cookie && caller.key !== null)) {
      if (level === 'public') return;
      throw new ServiceError('not_authenticated', 'sign in first');
    }
    const safe = SAFE.has(request.method) && request.upgrade === null;
    if (credential.cookie && !safe && !request.sameOrigin()) {
      throw new ServiceError(
        'foreign_origin',
        'Origin: a session cookie is accepted only from the origin of this service; other origins use a bearer token',
      );
    }
    if (level !== 'public') checkAccess(caller, { level, scope });
    // A WebSocket is public only for clients that send a ticket instead.
    if ((level !== 'public' || request.upgrade !== null) && setup !== true) this.#app.admitted(caller);
    request.caller = caller.cookie === credential.cookie ? caller : { ...caller, cookie: credential.cookie };
  }
}

/** Accepts a WebSocket only on a route that takes one, and only from the service's own or a listed origin. */
function checkUpgrade(request: FastifyRequest, listed: boolean): void {
  request.upgrade = upgradeOf(request.raw);
  if (request.upgrade === null) return;
  if (request.routeOptions.config.upgrade !== true)
    throw new ServiceError('not_found', 'this path accepts no WebSocket; the event stream is /api/v1/stream');
  if (request.raw.headers.origin !== undefined && !listed && !request.sameOrigin()) {
    throw new ServiceError(
      'foreign_origin',
      'Origin: this origin is not allowed; an administrator can add it to the allowed origins',
    );
  }
}
/** Rejects a request that two programs could read as two different requests (request smuggling). */
function checkFraming({ raw }: FastifyRequest, reply: FastifyReply): void {
  const { headers, rawHeaders } = raw;
  const refuse = (detail: string): never => {
    reply.raw.shouldKeepAlive = false;
    throw new ServiceError('invalid_request', detail);
  };
  if (raw.httpVersionMajor !== 1) refuse('the HTTP version must be 1.1');
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    refuse('this transfer encoding is not supported');
  }
  const { host } = headers;
  if (raw.method === 'CONNECT') return;
  if (host === undefined ? raw.httpVersionMinor > 0 : !isHost(host) || count(rawHeaders, 'host') > 1) {
    refuse('Host: must be one valid header');
  }
}
