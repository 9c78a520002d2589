import type { FastifyRequest } from 'fastify';
import { networkOf } from '../core/networks.ts';
import { say } from '../core/said.ts';
import { createShares } from '../core/shares.ts';
import type { App } from '../ports/http.ts';
import { BODY_LIMIT, hasBody } from './body.ts';

const RETRY_SECONDS = 10;
/** Bodies up to this size cost no more memory than their connection and are not counted. */
const SMALL = 4 * 1024;

/**
 * Bounds the bytes of request bodies in memory, in total and per caller, from the request head until the reply. A
 * caller without a session is counted by its network. A body without a length counts as the route's longest; an
 * uploaded sound is not counted, because it goes to disk.
 */
export function boundBodyMemory(app: App, bytes: number): void {
  const memory = createShares({
    total: bytes,
    retry_after_seconds: RETRY_SECONDS,
    own: say`your other requests use all the memory one caller may use for bodies; send this one when they are answered`,
    others: say`request bodies use all the memory set aside for them; send it again later`,
  });
  const held = new WeakMap<FastifyRequest, () => void>();
  app.addHook('onRoute', (route) => {
    const { body, bodyBytes = BODY_LIMIT } = route.config ?? {};
    if (body === 'audio' || route.method === 'GET') return;
    route.onRequest = [
      ...[route.onRequest ?? []].flat(),
      (request, _reply, done) => {
        const length = request.raw.headers['content-length'];
        const size = length === undefined ? bodyBytes : Number(length);
        if (!hasBody(request) || size <= SMALL) return done();
        try {
          held.set(request, memory.take(request.caller?.person_id ?? networkOf(request.ip), size));
        } catch (error) {
          return done(error as Error);
        }
        done();
      },
    ];
    // A disconnected client does not end its request: the body stays counted until the handler is done.
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (request, _reply, payload, done) => {
        held.get(request)?.();
        done(null, payload);
      },
    ];
  });
}
