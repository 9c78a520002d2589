import { QueuePath, QueueReply, QueuesReply } from '@offhook/contract/queues.ts';
import type { App } from '../../ports/http.ts';
import type { Queues } from './service.ts';

/** Reading queues; an agent sees its own. */
export function queueRoutes(app: App, queues: Queues): void {
  const tags = ['queues'];
  app.get(
    '/api/v1/queues',
    {
      config: { level: 'agent', scope: 'queues:read' },
      schema: { tags, summary: 'The queues as they are now', response: { 200: QueuesReply } },
    },
    (request) => queues.list(request.person()),
  );
  app.get(
    '/api/v1/queues/:name',
    {
      config: { level: 'agent', scope: 'queues:read', errors: ['invalid_request', 'no_such_queue'] },
      schema: {
        tags,
        summary: 'One queue: its settings, members, callers and offers',
        params: QueuePath,
        response: { 200: QueueReply },
      },
    },
    (request) => queues.one(request.person(), request.params.name),
  );
}
