import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as NetServer } from 'node:net';
import Fastify from 'fastify';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { serializerCompiler } from '@fastify/type-provider-zod';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { inputValidator } from '../core/check-input.ts';
import { connectionsFor, descriptors } from '../core/descriptors.ts';
import { ServiceError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { App, Authenticator, Caller } from '../ports/http.ts';
import { Admission, identifies, noSuchPath } from './admission.ts';
import type { ArrivalLimits } from './arrival.ts';
import { asyncapiDocument } from './asyncapi.ts';
import { boundBodyMemory } from './body-memory.ts';
import { BODY_LIMIT, addBodyParsers, fillEmptyBody, hasBody } from './body.ts';
import { addDocument } from './documents.ts';
import type { Forward } from './forward.ts';
import { addIdempotency } from './idempotency.ts';
import type { IdempotencyStore } from './idempotency.ts';
import { SEQ_HEADER, readOrigin, wasForwarded } from './node-proof.ts';
import { createMetrics } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import { addOpenApi, openapiDocument } from './openapi.ts';
import type { OpenApiDocument } from './openapi.ts';
import { readCredential, requestOrigin } from './origin.ts';
import { createPace } from './pace.ts';
import type { Pace } from './pace.ts';
import { sendProblem, shownPath } from './problem.ts';
import { ReplyHeaders, sendPreflight } from './reply-headers.ts';
import { createRouteTable, pathOf } from './route-table.ts';
import type { RouteTable } from './route-table.ts';
import { checkRoute, emptyBodyOf } from './route-rules.ts';
import { asPlain, createSecureServer } from './secure.ts';
import type { SecureOptions, SecureServer } from './secure.ts';
import { attachSockets, wantsWebSocket } from './sockets.ts';
import { answersUnchanged } from './unchanged.ts';

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
   * True for a session confirmed in the last five minutes; without this function no session counts as confirmed. API
   * keys need no confirmation.
   */
  readonly confirmed?: (caller: Caller) => boolean;
  /** True for a person who must set up a second factor first. */
  readonly lacksFactor?: (caller: Caller) => boolean;
  readonly log: Log;
  readonly version: string;
  readonly metrics?: Metrics;
  /** Store for the replies of repeated requests; without it the header `Idempotency-Key` is rejected. */
  readonly idempotency?: IdempotencyStore;
  /** As `App.recorded`; without it no reply waits. */
  readonly recorded?: () => Promise<void> | null;
  readonly limits?: Partial<HostLimits>;
  /** Called for every request of the API and every upgrade; throws while another node may lead the site. */
  readonly fence?: (() => void) | undefined;
  /** On a site with several nodes: their secret, and the newest seq that an answered write may have caused. */
  readonly nodes?: { readonly secret: string; readonly seq: () => number } | undefined;
  /** Forwards most requests to another node. */
  readonly forward?: Forward;
}
export interface Host {
  readonly app: App;
  readonly table: RouteTable;
  readonly metrics: Metrics;
  /** Starts listening; resolves with the bound address. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** Listens by TLS as well; call it once, after `listen`. */
  listenSecure(
    address: { readonly host: string; readonly port: number },
    options: SecureOptions,
  ): Promise<{ host: string; port: number; use: SecureServer['use'] }>;
  /** Rejects every API request from now on with 503 and closes its connection; running requests may finish. */
  drain(): void;
  /** The app must be ready. */
  openapi(): OpenApiDocument;
  close(): Promise<void>;
}

/** Route of every path that is not in the table. */
const NOWHERE = '/*';

/** The HTTP server without routes: features add theirs to `app` before it listens. */
export async function createHost(options: HostOptions): Promise<Host> {
  const { config, authenticator } = options;
  const log = options.log.child({ part: 'http' });
  const limits = { ...HOST_LIMITS, ...options.limits };
  const metrics = options.metrics ?? createMetrics();
  const table = createRouteTable();
  const pace = createPace(options.clock ?? performance);
  const headers = new ReplyHeaders(config, options.version, pace);
  const app = createApp({ config, limits, table, headers, log });
  const admission = new Admission({ app, table, authenticator, headers, fence: options.fence });

  const open = descriptors();
  const maxConnections = open === null ? limits.maxConnections : connectionsFor(open, limits.maxConnections);
  Object.assign(app.server, { maxConnections, dropMaxConnection: true });
  app.setValidatorCompiler(inputValidator);
  app.setSerializerCompiler(serializerCompiler);
  addBodyParsers(app);
  boundBodyMemory(app, limits.bodyMemoryBytes);
  const routing = (request: IncomingMessage, response: ServerResponse): void =>
    app.routing(request, response);
  const debugs = log.isLevelEnabled?.('debug') ?? true;
  // Only the framework's chain forwards requests to another node and logs each request.
  const short = options.forward === undefined && options.nodes === undefined && !debugs;
  const answers = short
    ? answersUnchanged({ app, table, admission, authenticator, headers, metrics })
    : undefined;
  const attach = (server: Server): (() => void) =>
    attachSockets(server, table, routing, {
      bodyLimit: BODY_LIMIT,
      arrival: limits,
      edge: () => headers.of(headers.requestId(), null),
      forwarded: ({ method = '', url = '' }) => options.forward?.own(method, pathOf(url)) === false,
      ...(answers === undefined ? {} : { answers }),
    });
  const endUploads = [attach(app.server)];
  let secure: SecureServer | undefined;
  app.addHook('preClose', (done) => {
    for (const end of endUploads) end();
    done();
  });
  addCallerChecks(app, options, pace);
  addRequestMethods(app, config, admission);
  app.decorateReply('notModified', function (this: FastifyReply, etag: string) {
    headers.notModified(this, etag);
  });
  app.addHook('onRoute', (route) => addRouteRules(app, table, admission, route));
  const { forward, nodes } = options;
  addHooks(app, { admission, headers, metrics, log, debugs, forward, nodes });
  // Reached only by an accepted preflight.
  app.setNotFoundHandler((_request, reply) => sendPreflight(reply));
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, log));
  addIdempotency(app, options.idempotency);
  await addOpenApi(app, options.version);
  addDocument(app, '/api/v1/openapi.json', () => openapiDocument(app, table));
  addDocument(app, '/api/v1/asyncapi.json', () => asyncapiDocument(table, options.version));

  return {
    app,
    table,
    metrics,
    async listen({ host, port }) {
      // For `localhost`, Fastify opens a second server without the socket listeners of `sockets.ts`.
      await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port, backlog: limits.backlog });
      return addressOf(app.server);
    },
    async listenSecure({ host, port }, secured) {
      const timeouts = { ...limits, requestTimeoutMs: Math.max(limits.requestTimeoutMs, limits.uploadMs) };
      secure = createSecureServer(routing, secured, { ...timeouts, maxConnections });
      const { server, use } = secure;
      endUploads.push(attach(asPlain(server)));
      server.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port, backlog: limits.backlog });
      await once(server, 'listening');
      return { ...addressOf(server), use };
    },
    drain() {
      admission.draining = true;
    },
    openapi: () => openapiDocument(app, table),
    async close() {
      admission.draining = true;
      const server = secure?.server;
      const ended = server?.listening ? once(server, 'close') : undefined;
      server?.close();
      server?.closeIdleConnections();
      await Promise.all([app.close(), ended]);
    },
  };
}

function addressOf(server: NetServer): { host: string; port: number } {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no address');
  return { host: address.address, port: address.port };
}

function createApp(parts: {
  readonly config: HostSettings;
  readonly limits: HostLimits;
  readonly table: RouteTable;
  readonly headers: ReplyHeaders;
  readonly log: Log;
}): App {
  const { config, limits, table, headers, log } = parts;
  return Fastify({
    logger: false,
    exposeHeadRoutes: false,
    bodyLimit: BODY_LIMIT,
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    keepAliveTimeout: limits.keepAliveMs,
    // `arrival.ts` enforces the time limit of bodies.
    requestTimeout: Math.max(limits.requestTimeoutMs, limits.uploadMs),
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: (request) => headers.requestId(request.headers?.['x-request-id']),
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      maxHeaderSize: 16_384,
      requireHostHeader: false,
      shouldUpgradeCallback: wantsWebSocket,
    },
    rewriteUrl: (request) => (table.find(pathOf(request.url ?? '')) === undefined ? NOWHERE : request.url!),
    frameworkErrors: (_error, request, reply) => sendProblem(noSuchPath(), request, reply, log),
    // The listeners of sockets.ts reply instead.
    clientErrorHandler: () => {},
  }).withTypeProvider<ZodTypeProvider>();
}

function addCallerChecks(app: App, { confirmed, lacksFactor, recorded }: HostOptions, pace: Pace): void {
  app.decorate('permit', (caller, paced) => pace.permit(caller, paced));
  app.decorate('bounded', (caller, run) => pace.bounded(caller, run));
  app.decorate('recorded', recorded ?? (() => null));
  app.decorate('confirmed', (caller: Caller) => {
    if (caller.key !== null || confirmed?.(caller) === true) return;
    throw new ServiceError(
      'confirmation_required',
      'this session was not confirmed in the last 5 minutes: POST /api/v1/session/confirm, then send the request again',
    );
  });
  app.decorate('admitted', (caller: Caller) => {
    if (caller.key !== null || lacksFactor?.(caller) !== true) return;
    throw new ServiceError(
      'second_factor_required',
      'this site requires a second factor: POST /api/v1/session/otp, then /api/v1/session/otp/confirm',
    );
  });
}

function addRequestMethods(app: App, { publicUrl }: HostSettings, admission: Admission): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('upgrade', null);
  app.decorateRequest('credential', function (this: FastifyRequest) {
    return readCredential(this);
  });
  app.decorateRequest('ownOrigin', function (this: FastifyRequest) {
    return publicUrl === '' ? requestOrigin(this) : publicUrl;
  });
  app.decorateRequest('sameOrigin', function (this: FastifyRequest) {
    const { origin } = this.raw.headers;
    return origin !== undefined && origin !== '' && (origin === publicUrl || origin === requestOrigin(this));
  });
  app.decorateRequest('person', function (this: FastifyRequest) {
    if (this.caller === null) throw new ServiceError('not_authenticated', 'sign in first');
    return this.caller;
  });
  app.decorateRequest('personNow', async function (this: FastifyRequest) {
    await admission.identify(this);
    return this.person();
  });
}

/** Checks a new route, adds it to the table, and adds the hooks that its configuration requires. */
function addRouteRules(
  app: App,
  table: RouteTable,
  admission: Admission,
  route: RouteOptions & { readonly url: string; readonly path: string },
): void {
  const methods = [route.method].flat();
  const emptyBody = emptyBodyOf(methods.join(), route);
  if (emptyBody !== null) route.config = { ...route.config, emptyBody };
  for (const method of methods) {
    checkRoute(method, route);
    table.add(method, route.url, route.config!);
  }
  const { confirm, bodyBytes } = route.config ?? {};
  if (typeof confirm === 'function')
    route.preValidation = [
      async (request: FastifyRequest) => {
        if (confirm(request.body, request.headers)) app.confirmed(request.person());
      },
      ...[route.preValidation ?? []].flat(),
    ];
  if (emptyBody !== null) route.preValidation = [fillEmptyBody, ...[route.preValidation ?? []].flat()];
  // A client may send the body minutes after the head, and its session may have ended meanwhile.
  if (!methods.includes('GET') && identifies(route.config!))
    route.preValidation = [
      (request: FastifyRequest, _reply: FastifyReply, done: Done) =>
        settle(() => (hasBody(request) ? admission.identify(request) : undefined), done),
      ...[route.preValidation ?? []].flat(),
    ];
  if (bodyBytes !== undefined) route.bodyLimit = bodyBytes;
}

function addHooks(
  app: App,
  parts: {
    readonly admission: Admission;
    readonly headers: ReplyHeaders;
    readonly metrics: Metrics;
    readonly log: Log;
    readonly debugs: boolean;
    readonly forward: HostOptions['forward'];
    readonly nodes: HostOptions['nodes'];
  },
): void {
  const { admission, headers, metrics, log, debugs, forward, nodes } = parts;
  app.addHook('onRequest', (request, reply, done) => {
    const started = performance.now();
    reply.raw.once('close', () => {
      const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
      const seconds = (performance.now() - started) / 1000;
      metrics.observe(route, request.is404 ? 'other' : request.method, reply.statusCode, seconds);
      if (debugs) logRequest(log, request, reply, seconds);
    });
    try {
      if (nodes !== undefined) readOrigin(request, nodes.secret);
      if (forward?.own(request.method, pathOf(request.originalUrl)) === false) {
        admission.pass(request, reply);
        return forward.pass(request, reply, { fail: done, closing: () => admission.draining });
      }
    } catch (error) {
      return done(error as Error);
    }
    settle(() => admission.admit(request, reply), done);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    headers.refresh(request, reply);
    if (nodes !== undefined && request.method !== 'GET' && wasForwarded(request))
      reply.header(SEQ_HEADER, nodes.seq());
    done(null, payload);
  });
}
type Done = (error?: Error) => void;
/** Ends a hook with the result of a check, at once where the check has it at once. */
function settle(check: () => void | Promise<void>, done: Done): void {
  let waiting;
  try {
    waiting = check();
  } catch (error) {
    return done(error as Error);
  }
  if (waiting === undefined) done();
  // oxlint-disable-next-line promise/no-callback-in-promise -- the framework would await every async hook
  else waiting.then(() => done(), done);
}
function logRequest(log: Log, request: FastifyRequest, reply: FastifyReply, seconds: number): void {
  log.debug(
    {
      request_id: request.id,
      method: request.method,
      path: shownPath(request),
      status: reply.statusCode,
      ms: Math.round(seconds * 1000),
      ip: request.ip,
      extension: request.caller?.extension,
    },
    'request',
  );
}
