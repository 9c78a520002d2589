import type { FastifyRequest } from 'fastify';
import { networkOf } from '../core/networks.ts';
import { say } from '../core/said.ts';
import { createShares } from '../core/shares.ts';
import type { App } from '../ports/http.ts';
import { BODY_LIMIT, hasBody } from './body.ts';

const RETRY_SECONDS = 10;
/** Bodies of so many bytes take no more than their connections do, and are not counted. */
const SMALL = 4 * 1024;

/**
 * Bounds the bytes that bodies take in memory, together and of one caller, from their head until their request is answered. A
 * caller without a session is its network. A body without a length counts as the longest of its route; a sound goes to the disk
 * and counts as nothing.
 */
export function boundBodyMemory(app: App, bytes: number): void {
  const memory = createShares({
    total: bytes,
    retry_after_seconds: RETRY_SECONDS,
    own: say`your other requests hold the memory that this body needs; send it when they are answered`,
    others: say`other requests hold the memory that this body needs`,
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
    // A client that is gone does not end its request: what was read of it is held until the handler is done.
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (request, _reply, payload, done) => {
        held.get(request)?.();
        done(null, payload);
      },
    ];
  });
}
