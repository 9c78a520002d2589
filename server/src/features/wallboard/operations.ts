import { wallboard as operations } from '@offhook/contract/operations/wallboard.ts';
import type { Served } from '../../ports/operations.ts';
import type { Wallboard } from './service.ts';

/** Figures of queues and agents, for today or any span. */
export const wallboardOperations = (wallboard: Wallboard): Served<typeof operations> => ({
  operations,
  handlers: {
    async figures({ caller, reply }, { query }) {
      const body = await wallboard.wallboardBody(caller, query);
      // The body is JSON already: a buffer skips the serialiser.
      return reply.header('content-type', 'application/json; charset=utf-8').send(body);
    },
    stats: ({ caller }, { params, query }) => wallboard.queue(caller, params.name, query),
    async setServiceLevel(actor, { params, body }) {
      await wallboard.setServiceLevel(actor, params.name, body);
      return { queue: params.name, service_level: body };
    },
  },
});
