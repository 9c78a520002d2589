import { ServiceLevel, ServiceLevelReply } from '@offhook/contract/wallboard.ts';
import { z } from 'zod';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { Wallboard } from './service.ts';

export const wallboardOperations = (define: DefineOperation, wallboard: Wallboard): AnyOperation[] => [
  define({
    action: 'queues.set_service_level',
    method: 'PUT',
    path: '/api/v1/queues/:name/service-level',
    level: 'admin',
    errors: ['no_such_queue', 'store_unavailable'],
    summary: "Set how a queue's service level is computed; figures of the past follow",
    tag: 'wallboard',
    params: z.strictObject({ name: z.string().max(64) }),
    body: ServiceLevel,
    reply: ServiceLevelReply,
    run: async (actor, { params, body }) => {
      await wallboard.setServiceLevel(actor, params.name, body);
      return { success: true, queue: params.name, service_level: body };
    },
  }),
];
