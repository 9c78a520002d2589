import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { health as operations } from '@offhook/contract/operations/health.ts';
import type { Readiness as ReadinessBody } from '@offhook/contract/health.ts';
import { ServiceError, messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { say } from '../core/said.ts';
import type { Served } from '../ports/operations.ts';
import type { Metrics } from './metrics.ts';
import { rawAnswer } from './problem.ts';

/** A condition the service needs to do its work; `detail` is for administrators. */
export interface Check {
  readonly name: string;
  /** False if the service can do its main work while the check fails. */
  readonly needed?: boolean | (() => boolean);
  run(): Promise<{ readonly ok: boolean; readonly detail: string }>;
}
export interface HealthOptions {
  readonly metrics: Metrics;
  readonly engineUp: () => boolean;
  readonly checks: readonly Check[];
}
const CHECK_MS = 2_000;

/** Runs every check concurrently; one without a result in 2 s counts as failing. */
export async function readiness(checks: readonly Check[]): Promise<Required<ReadinessBody>> {
  const results = await Promise.all(
    checks.map(async (check) => {
      const timer = Promise.withResolvers<{ ok: boolean; detail: string }>();
      const timeout = setTimeout(() => timer.resolve({ ok: false, detail: 'no answer in 2 s' }), CHECK_MS);
      const result = await Promise.race([check.run(), timer.promise]).catch((error: unknown) => ({
        ok: false,
        detail: messageOf(error),
      }));
      clearTimeout(timeout);
      return {
        name: check.name,
        needed: typeof check.needed === 'function' ? check.needed() : (check.needed ?? true),
        ...result,
      };
    }),
  );
  return {
    status: results.every((r) => r.ok || !r.needed) ? 'ready' : 'not_ready',
    checks: Object.fromEntries(results.map((r) => [r.name, r.ok ? 'ok' : 'failing'])),
    details: Object.fromEntries(results.map((r) => [r.name, r.detail])),
  };
}

/** `/healthz`, `/readyz`, `/metrics`. */
export const healthOperations = ({
  metrics,
  engineUp,
  checks,
}: HealthOptions): Served<typeof operations> => ({
  operations,
  handlers: {
    live({ reply }) {
      reply.header('cache-control', 'no-store');
      return { status: 'ok', engine: engineUp() ? 'up' : 'down' };
    },
    async ready({ caller, reply }) {
      const { details, ...short } = await readiness(checks);
      reply.header('cache-control', 'no-store').code(short.status === 'ready' ? 200 : 503);
      return caller?.level === 'admin' ? { ...short, details } : short;
    },
    async metrics({ reply }) {
      reply.header('cache-control', 'no-store').type(metrics.registry.contentType);
      return metrics.registry.metrics();
    },
  },
});

/** The loopback listener: the same metrics and health with details, without sign-in. Resolves once it listens. */
export async function listenMetrics(
  address: { readonly host: string; readonly port: number },
  { metrics, engineUp, checks }: HealthOptions,
  log: Log,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const answer = async (
    path: string,
  ): Promise<{ status: number; type: string; body: string } | undefined> => {
    switch (path) {
      case '/metrics':
        return { status: 200, type: metrics.registry.contentType, body: await metrics.registry.metrics() };
      case '/healthz':
        return json(200, { status: 'ok', engine: engineUp() ? 'up' : 'down' });
      case '/readyz': {
        const body = await readiness(checks);
        return json(body.status === 'ready' ? 200 : 503, body);
      }
      default:
        return undefined;
    }
  };
  const server: Server = createServer((request, response) => {
    request.resume();
    const path = (request.url ?? '').split('?', 1)[0]!;
    // Blocks DNS rebinding: a web page whose host name resolves to this address must not read it.
    const local = /^(?:127\.[0-9.]+|localhost|\[::1\])(?::\d+)?$/.test(request.headers.host ?? '');
    answer(local ? path : '').then(
      (found) => {
        if (found === undefined) {
          request.socket.end(
            rawAnswer(
              new ServiceError(
                'not_found',
                'there is no such path; this address has /metrics, /healthz and /readyz',
              ),
            ),
          );
        } else if (request.method !== 'GET') {
          const error = new ServiceError('method_not_allowed', say`this path accepts only ${'GET'}`);
          request.socket.end(rawAnswer(error, { allow: 'GET' }));
        } else {
          response.writeHead(found.status, { 'content-type': found.type, 'cache-control': 'no-store' });
          response.end(found.body);
        }
      },
      (error: unknown) => {
        log.error({ error: messageOf(error) }, 'the metrics could not be read');
        request.socket.end(rawAnswer(new ServiceError('internal', 'the service failed')));
      },
    );
  });
  server.requestTimeout = 5_000;
  server.maxConnections = 64;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  const bound = server.address();
  return {
    port: bound !== null && typeof bound === 'object' ? bound.port : address.port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
const json = (status: number, body: object): { status: number; type: string; body: string } => ({
  status,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
});
