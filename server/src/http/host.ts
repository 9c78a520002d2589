import { randomBytes } from 'node:crypto';
import Fastify from 'fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { serializerCompiler } from '@fastify/type-provider-zod';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { inputValidator } from '../core/check-input.ts';
import { connectionsFor, descriptors } from '../core/descriptors.ts';
import { ServiceError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { say } from '../core/said.ts';
import { languageOf } from '../core/words/words.ts';
import type { App, Authenticator, Caller, Credential } from '../ports/http.ts';
import type { ArrivalLimits } from './arrival.ts';
import { asyncapiDocument } from './asyncapi.ts';
import { boundBodyMemory } from './body-memory.ts';
import { BODY_LIMIT, addBodyParsers, checkBodyHeaders, drainBody, fillEmptyBody } from './body.ts';
import { addDocument } from './documents.ts';
import { addIdempotency } from './idempotency.ts';
import type { IdempotencyStore } from './idempotency.ts';
import { createMetrics } from './metrics.ts';
import { checkAccess } from './operations.ts';
import type { Metrics } from './metrics.ts';
import { addOpenApi, openapiDocument } from './openapi.ts';
import type { OpenApiDocument } from './openapi.ts';
import { count, isHost, readCredential, requestOrigin, secretInQuery } from './origin.ts';
import { createPace } from './pace.ts';
import { answerOf, asServiceError } from './problem.ts';
import { allowOf, createRouteTable, pathOf } from './route-table.ts';
import type { RouteTable } from './route-table.ts';
import { checkRoute, emptyBodyOf } from './route-rules.ts';
import { attachSockets, upgradeOf, wantsWebSocket } from './sockets.ts';

/** Settings the host needs, a subset of the service's configuration. */
export interface HostSettings {
  readonly corsOrigins: readonly string[];
  /** `https://host[:port]`, or empty to use the address of each request. */
  readonly publicUrl: string;
  readonly trustProxy: readonly string[];
}
export interface HostLimits extends ArrivalLimits {
  readonly headersTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly maxConnections: number;
  /** Limit of request bodies in memory, in bytes. */
  readonly bodyMemoryBytes: number;
  /** Length of the accept backlog: all clients reconnect at once after a restart. The system may allow fewer. */
  readonly backlog: number;
}
export const HOST_LIMITS: HostLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  checkIntervalMs: 2_000,
  uploadIdleMs: 20_000,
  uploadBytesPerSecond: 16_384,
  // 24 MiB at the lowest rate take 26 minutes.
  uploadMs: 1_800_000,
  keepAliveMs: 65_000,
  maxConnections: 20_000,
  bodyMemoryBytes: 128 * 1024 * 1024,
  backlog: 4_096,
};
export interface HostOptions {
  /** Clock of the write rate limit; a monotonic one by default. */
  readonly clock?: { now(): number };
  readonly config: HostSettings;
  readonly authenticator: Authenticator;
  /**
   * True for a session confirmed in the last five minutes; without this function no session is. API keys need no confirmation.
   */
  readonly confirmed?: (caller: Caller) => boolean;
  /** True for a person who must set up a second factor first. */
  readonly lacksFactor?: (caller: Caller) => boolean;
  readonly log: Log;
  readonly version: string;
  readonly metrics?: Metrics;
  /** Store for the replies of repeated requests; without it the header `Idempotency-Key` is rejected. */
  readonly idempotency?: IdempotencyStore;
  readonly limits?: Partial<HostLimits>;
}
export interface Host {
  readonly app: App;
  readonly table: RouteTable;
  readonly metrics: Metrics;
  /** Starts listening; resolves with the bound address. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** Rejects every API request from now on with 503 and closes its connection; running requests may finish. */
  drain(): void;
  /** The app must be ready. */
  openapi(): OpenApiDocument;
  close(): Promise<void>;
}

/** Route for paths that the table cannot hold. */
const NOWHERE = '/*';
const FOR_OTHER_ORIGINS = ['vary', 'access-control-allow-origin', 'access-control-expose-headers'];
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The HTTP server without routes: features add theirs to `app` before it listens. */
export async function createHost(options: HostOptions): Promise<Host> {
  const { config, authenticator } = options;
  const log = options.log.child({ part: 'http' });
  const limits = { ...HOST_LIMITS, ...options.limits };
  const metrics = options.metrics ?? createMetrics();
  const table = createRouteTable();
  const cors = new Set(config.corsOrigins);
  const security = securityHeaders(config.publicUrl.startsWith('https:'));
  const boot = randomBytes(4).toString('hex');
  const debugs = log.isLevelEnabled?.('debug') ?? true;
  let requests = 0;
  let draining = false;

  /** Takes the client's request id when it is valid, so that both logs share it. */
  const requestId = (given?: string | string[]): string =>
    typeof given === 'string' && REQUEST_ID.test(given) ? given : `${boot}-${(requests += 1).toString(36)}`;
  const pace = createPace(options.clock ?? performance);
  /** Headers of every reply. */
  const edge = (id: string, caller: Caller | null): Record<string, string> => ({
    'x-request-id': id,
    'offhook-version': options.version,
    ...pace.headers(caller),
  });

  const app: App = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    bodyLimit: BODY_LIMIT,
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    keepAliveTimeout: limits.keepAliveMs,
    // `arrival.ts` enforces the time limit of bodies.
    requestTimeout: Math.max(limits.requestTimeoutMs, limits.uploadMs),
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: (request) => requestId(request.headers?.['x-request-id']),
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      maxHeaderSize: 16_384,
      requireHostHeader: false,
      shouldUpgradeCallback: wantsWebSocket,
    },
    rewriteUrl: (request) => (table.find(pathOf(request.url ?? '')) === undefined ? NOWHERE : request.url!),
    frameworkErrors: (_error, request, reply) =>
      send(
        new ServiceError('not_found', 'there is no such path; the paths are listed in /api/v1/openapi.json'),
        request,
        reply,
      ),
    // The listeners of sockets.ts reply instead.
    clientErrorHandler: () => {},
  }).withTypeProvider<ZodTypeProvider>();
  const open = descriptors();
  const maxConnections = open === null ? limits.maxConnections : connectionsFor(open, limits.maxConnections);
  Object.assign(app.server, { maxConnections, dropMaxConnection: true });
  app.setValidatorCompiler(inputValidator);
  app.setSerializerCompiler(serializerCompiler);
  addBodyParsers(app);
  boundBodyMemory(app, limits.bodyMemoryBytes);
  const endUploads = attachSockets(app.server, table, (request, response) => app.routing(request, response), {
    bodyLimit: BODY_LIMIT,
    arrival: limits,
    edge: () => edge(requestId(), null),
  });
  app.addHook('preClose', (done) => {
    endUploads();
    done();
  });

  app.decorate('permit', (caller, paced) => pace.permit(caller, paced));
  app.decorate('bounded', (caller, run) => pace.bounded(caller, run));
  app.decorate('confirmed', (caller: Caller) => {
    if (caller.key !== null || options.confirmed?.(caller) === true) return;
    throw new ServiceError(
      'confirmation_required',
      'this session was not confirmed in the last 5 minutes: POST /api/v1/session/confirm, then send the request again',
    );
  });
  app.decorate('admitted', (caller: Caller) => {
    if (caller.key !== null || options.lacksFactor?.(caller) !== true) return;
    throw new ServiceError(
      'second_factor_required',
      'this site requires a second factor: POST /api/v1/session/otp, then /api/v1/session/otp/confirm',
    );
  });
  app.decorateRequest('caller', null);
  app.decorateRequest('upgrade', null);
  app.decorateRequest('credential', function (this: FastifyRequest) {
    return readCredential(this);
  });
  app.decorateRequest('ownOrigin', function (this: FastifyRequest) {
    return config.publicUrl === '' ? requestOrigin(this) : config.publicUrl;
  });
  app.decorateRequest('sameOrigin', function (this: FastifyRequest) {
    const { origin } = this.raw.headers;
    return (
      origin !== undefined && origin !== '' && (origin === config.publicUrl || origin === requestOrigin(this))
    );
  });
  app.decorateRequest('person', function (this: FastifyRequest) {
    if (this.caller === null) throw new ServiceError('not_authenticated', 'sign in first');
    return this.caller;
  });
  app.decorateRequest('personNow', async function (this: FastifyRequest) {
    const credential = this.credential();
    identify(this, credential, credential && (await authenticator.authenticate(credential.token)));
    return this.person();
  });

  app.decorateReply('notModified', function (this: FastifyReply, etag: string) {
    // A stored reply keeps its own headers; only those that admit a script of another origin are made for this request.
    const { id, caller } = this.request;
    const headers: Record<string, string> = { ...edge(id, caller), etag, 'cache-control': 'no-store' };
    for (const name of cors.size > 0 ? FOR_OTHER_ORIGINS : []) {
      const value = this.getHeader(name);
      if (typeof value === 'string') headers[name] = value;
    }
    this.hijack();
    this.raw.writeHead(304, headers).end();
  });

  app.addHook('onRoute', (route) => {
    const emptyBody = emptyBodyOf([route.method].flat().join(), route);
    if (emptyBody !== undefined) route.config = { ...route.config, emptyBody };
    for (const method of [route.method].flat()) {
      checkRoute(method, route);
      table.add(method, route.url, route.config!);
    }
    const { confirm } = route.config ?? {};
    if (typeof confirm === 'function')
      route.preValidation = [
        async (request: FastifyRequest) => {
          if (confirm(request.body, request.headers)) app.confirmed(request.person());
        },
        ...[route.preValidation ?? []].flat(),
      ];
    if (emptyBody !== undefined) route.preValidation = [fillEmptyBody, ...[route.preValidation ?? []].flat()];
    if (route.config?.bodyBytes !== undefined) route.bodyLimit = route.config.bodyBytes;
  });

  /** Checks everything that needs no body. Throws the error the request is rejected with. */
  function admit(request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const { raw } = request;
    const path = pathOf(request.originalUrl);
    reply.headers(security);
    reply.headers(edge(request.id, null));
    checkFraming(request, reply);
    if (path.startsWith('/api/')) reply.header('cache-control', 'no-store');
    if (draining && (path.startsWith('/api/') || upgradeOf(raw) !== null)) {
      reply.raw.shouldKeepAlive = false;
      throw new ServiceError('overloaded', 'the service is stopping; try again shortly');
    }
    if (cors.size > 0) reply.header('vary', 'Origin');
    const { origin } = raw.headers;
    const listed = origin !== undefined && cors.has(origin);
    if (listed) {
      reply.header('access-control-allow-origin', origin);
      reply.header(
        'access-control-expose-headers',
        'ETag, Location, Retry-After, X-Request-Id, Offhook-Version, RateLimit, RateLimit-Policy, Content-Language',
      );
    }
    if (request.is404) {
      const entry = table.find(path);
      if (entry === undefined)
        throw new ServiceError(
          'not_found',
          'there is no such path; the paths are listed in /api/v1/openapi.json',
        );
      if (raw.method === 'OPTIONS' && listed) return;
      reply.header('allow', allowOf(entry));
      throw new ServiceError('method_not_allowed', say`this path takes ${allowOf(entry)}`);
    }
    const route = request.routeOptions.config;
    request.upgrade = upgradeOf(raw);
    if (request.upgrade !== null) {
      if (route.upgrade !== true)
        throw new ServiceError(
          'not_found',
          'this path accepts no WebSocket; the event stream is /api/v1/stream',
        );
      if (origin !== undefined && !listed && !request.sameOrigin()) {
        throw new ServiceError(
          'foreign_origin',
          'Origin: this origin is not allowed; an administrator can add it to the allowed origins',
        );
      }
    }
    const secret = secretInQuery(request.originalUrl);
    if (secret !== undefined) {
      throw new ServiceError(
        'token_in_url',
        say`"${secret}" is not allowed in the address, which logs keep; send it in a header`,
      );
    }
    if (route.level === 'public' && route.identify !== true) return checkBodyHeaders(request);
    const credential = request.credential();
    const caller = credential === null ? null : authenticator.authenticate(credential.token);
    // Awaiting a value that is already there would cost a tenth of a request's time.
    if (caller instanceof Promise) return caller.then((found) => identified(request, credential, found));
    identified(request, credential, caller);
  }
  function identified(request: FastifyRequest, credential: Credential | null, caller: Caller | null): void {
    identify(request, credential, caller);
    checkBodyHeaders(request);
  }
  function identify(request: FastifyRequest, credential: Credential | null, caller: Caller | null): void {
    const { level = 'admin' } = request.routeOptions.config;
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
    if (level !== 'public') checkAccess(caller, { level, scope: request.routeOptions.config.scope });
    if (level !== 'public' && request.routeOptions.config.setup !== true) app.admitted(caller);
    if (request.routeOptions.config.confirm === true) app.confirmed(caller);
    request.caller = caller.cookie === credential.cookie ? caller : { ...caller, cookie: credential.cookie };
  }
  app.addHook('onRequest', (request, reply, done) => {
    const started = performance.now();
    reply.raw.once('close', () => {
      const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
      const seconds = (performance.now() - started) / 1000;
      metrics.observe(route, request.is404 ? 'other' : request.method, reply.statusCode, seconds);
      if (!debugs) return;
      log.debug(
        {
          request_id: request.id,
          method: request.method,
          path: pathOf(request.originalUrl).slice(0, 200),
          status: reply.statusCode,
          ms: Math.round(seconds * 1000),
          ip: request.ip,
          extension: request.caller?.extension,
        },
        'request',
      );
    });
    let waiting;
    try {
      waiting = admit(request, reply);
    } catch (error) {
      return done(error as Error);
    }
    if (waiting === undefined) done();
    // oxlint-disable-next-line promise/no-callback-in-promise -- the framework waits for an async hook even where nothing waits
    else waiting.then(() => done(), done);
  });
  // The rate limits may have changed while the request ran.
  app.addHook('onSend', (request, reply, payload, done) => {
    // Malformed HTTP reaches this hook without the hooks that run before it.
    const caller = (request.caller as Caller | null | undefined) ?? null;
    if (caller !== null) reply.headers(pace.headers(caller));
    else if (!reply.hasHeader('x-request-id')) reply.headers(edge(request.id, null));
    done(null, payload);
  });
  // Reached only by an accepted preflight.
  app.setNotFoundHandler((_request, reply) => {
    reply
      .code(204)
      .headers({
        'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers':
          'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-App-Language, X-Request-Id',
        'access-control-max-age': '600',
      })
      .send();
  });

  function send(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = asServiceError(thrown);
    const answer = answerOf(error, request.id, languageOf(request.raw.headers));
    if (answer.status >= 500) {
      const cause = error.extras.cause ?? error;
      const fields = {
        request_id: request.id,
        code: error.code,
        path: pathOf(request.originalUrl).slice(0, 200),
      };
      if (error.code === 'internal') log.error({ ...fields, error: describe(cause) }, 'a request failed');
      else log.warn({ ...fields, detail: error.message.slice(0, 300) }, 'a request was refused');
    }
    drainBody(request, reply);
    reply.code(answer.status).headers(answer.headers).send(answer.body);
  }
  app.setErrorHandler((error, request, reply) => send(error, request, reply));

  addIdempotency(app, options.idempotency);
  await addOpenApi(app, options.version);
  addDocument(app, '/api/v1/openapi.json', () => openapiDocument(app, table));
  addDocument(app, '/api/v1/asyncapi.json', () => asyncapiDocument(table, options.version));

  return {
    app,
    table,
    metrics,
    async listen({ host, port }) {
      // For `localhost`, Fastify opens a second server without our socket listeners.
      await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port, backlog: limits.backlog });
      const address = app.server.address();
      if (address === null || typeof address === 'string') throw new Error('the server has no address');
      return { host: address.address, port: address.port };
    },
    drain() {
      draining = true;
    },
    openapi: () => openapiDocument(app, table),
    async close() {
      draining = true;
      await app.close();
    },
  };
}

/** Rejects a request that two programs could read as two different requests (request smuggling). */
function checkFraming({ raw }: FastifyRequest, reply: FastifyReply): void {
  const { headers, rawHeaders } = raw;
  const refuse = (detail: string): never => {
    reply.raw.shouldKeepAlive = false;
    throw new ServiceError('invalid_request', detail);
  };
  if (raw.httpVersionMajor !== 1) refuse('this server speaks HTTP/1.1');
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    refuse('this transfer encoding is not read here');
  }
  const { host } = headers;
  if (raw.method === 'CONNECT') return;
  if (host === undefined ? raw.httpVersionMinor > 0 : !isHost(host) || count(rawHeaders, 'host') > 1) {
    refuse('there must be one valid Host header');
  }
}
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  return { name: error.name, message: error.message, stack: error.stack };
}

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
