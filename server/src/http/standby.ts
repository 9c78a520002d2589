import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../core/errors.ts';
import { languageOf } from '../core/words.ts';
import { readiness } from './health.ts';
import type { Check } from './health.ts';
import { answerOf, rawAnswer } from './problem.ts';

export interface StandbyListener {
  readonly engineUp: () => boolean;
  readonly checks: readonly Check[];
  /** Address of the active node; null where none is known. */
  readonly active: () => string | null;
  /** Routes for other nodes of the site; each returns false for a request that it does not answer. */
  readonly nodes?: {
    request(request: IncomingMessage, response: ServerResponse): boolean;
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  };
}

/** Answers and ends the connection, also where the other side keeps its half open. */
export function refuseUpgrade(socket: Duplex, error: ServiceError): void {
  socket.end(rawAnswer(error), () => socket.destroy());
}

/**
 * Serves liveness, readiness (always 503, so that load balancers skip a standby) and, to every other request, an error
 * that names the active node. Resolves once it listens.
 */
export async function listenAsStandby(
  address: { readonly host: string; readonly port: number },
  { engineUp, checks, active, nodes }: StandbyListener,
): Promise<{ close(): Promise<void> }> {
  const refusal = (): ServiceError => {
    const node = active();
    return new ServiceError(
      'node_not_active',
      'this node is a standby; send the request to the leading node',
      {
        body: { active: node },
      },
    );
  };
  const health = async (path: string): Promise<{ status: number; body: object } | null> => {
    if (path === '/healthz')
      return { status: 200, body: { status: 'ok', engine: engineUp() ? 'up' : 'down' } };
    if (path !== '/readyz') return null;
    const { details: _, ...short } = await readiness(checks);
    return { status: 503, body: { ...short, status: 'standby' } };
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    request.resume();
    const path = (request.url ?? '').split('?', 1)[0]!;
    const found = request.method === 'GET' ? await health(path) : null;
    if (found !== null) {
      response.writeHead(found.status, {
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
      });
      response.end(JSON.stringify(found.body));
      return;
    }
    const { status, headers, body } = answerOf(refusal(), undefined, languageOf(request.headers));
    response.writeHead(status, { ...headers, 'cache-control': 'no-store', connection: 'close' });
    response.end(body);
  };
  const server = createServer((request, response) => {
    if (nodes?.request(request, response) === true) return;
    answer(request, response).catch(() => response.destroy());
  });
  /** Upgraded sockets, which `server.close` waits for but does not end. */
  const upgraded = new Set<Duplex>();
  server.on('upgrade', (request, socket, head) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    // Node no longer handles errors of such a socket, nor limits how long it stays open.
    socket.on('error', () => socket.destroy());
    if (nodes?.upgrade(request, socket, head) !== true) refuseUpgrade(socket, refusal());
  });
  // A request of another node may carry a whole configuration, which takes longer than a health check.
  server.requestTimeout = nodes === undefined ? 5_000 : 30_000;
  server.headersTimeout = 5_000;
  server.maxConnections = 1_024;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...address, host: address.host === 'localhost' ? '127.0.0.1' : address.host }, resolve);
  });
  return {
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}
