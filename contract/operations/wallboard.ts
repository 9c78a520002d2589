import { z } from 'zod';
import {
  QueueStatsQuery,
  QueueStatsReply,
  ServiceLevel,
  ServiceLevelReply,
  WallboardQuery,
  WallboardReply,
} from '../wallboard.ts';
import { area } from '../operation.ts';

export const wallboard = area('wallboard', {
  figures: {
    method: 'GET',
    path: '/api/v1/wallboard',
    level: 'agent',
    scope: 'queues:read',
    query: WallboardQuery,
    reply: WallboardReply,
    errors: ['invalid_request', 'overloaded', 'store_unavailable'],
    summary: 'Figures of every queue the caller may see and of its agents, today or over a span',
  },
  stats: {
    method: 'GET',
    path: '/api/v1/queues/:name/stats',
    level: 'agent',
    scope: 'queues:read',
    params: z.object({ name: z.string().max(64) }),
    query: QueueStatsQuery,
    reply: QueueStatsReply,
    errors: ['invalid_request', 'no_such_queue', 'overloaded', 'store_unavailable'],
    summary: 'Figures of one queue, today or over a span, whole or as a series of intervals',
  },
  setServiceLevel: {
    method: 'PUT',
    path: '/api/v1/queues/:name/service-level',
    action: 'queues.set_service_level',
    audit: 'queue.service_level',
    level: 'admin',
    params: z.strictObject({ name: z.string().max(64) }),
    body: ServiceLevel,
    reply: ServiceLevelReply,
    errors: ['no_such_queue', 'store_unavailable'],
    summary: 'Set the service-level formula of a queue; also applies to past figures',
  },
});
