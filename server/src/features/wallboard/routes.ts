import {
  QueueStatsQuery,
  QueueStatsReply,
  WallboardQuery,
  WallboardReply,
} from '@offhook/contract/wallboard.ts';
import { z } from 'zod';
import type { App } from '../../ports/http.ts';
import type { Wallboard } from './service.ts';

/** Figures of queues and agents, today or over any span. */
export function wallboardRoutes(app: App, wallboard: Wallboard): void {
  const tags = ['wallboard'];
  app.get(
    '/api/v1/wallboard',
    {
      config: {
        level: 'agent',
        scope: 'queues:read',
        errors: ['invalid_request', 'overloaded', 'store_unavailable'],
      },
      schema: {
        tags,
        summary: 'Figures of every queue the caller may see and of its agents, today or over a span',
        querystring: WallboardQuery,
        response: { 200: WallboardReply },
      },
    },
    async (request, reply) => {
      const body = await wallboard.wallboardBody(request.person(), request.query);
      // The body is JSON already: a buffer passes the serialiser by.
      return reply.header('content-type', 'application/json; charset=utf-8').send(body as never);
    },
  );
  app.get(
    '/api/v1/queues/:name/stats',
    {
      config: {
        level: 'agent',
        scope: 'queues:read',
        errors: ['invalid_request', 'no_such_queue', 'overloaded', 'store_unavailable'],
      },
      schema: {
        tags,
        summary: 'Figures of one queue, today or over a span, whole or as a series of intervals',
        params: z.object({ name: z.string().max(64) }),
        querystring: QueueStatsQuery,
        response: { 200: QueueStatsReply },
      },
    },
    (request) => wallboard.queue(request.person(), request.params.name, request.query),
  );
}
