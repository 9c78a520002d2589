import { CallPath } from '@offhook/contract/call-control.ts';
import { CallReply, CallsReply } from '@offhook/contract/calls.ts';
import type { App } from '../../ports/http.ts';
import type { LiveCalls } from './live.ts';

/** Reading the calls that go on, from memory. */
export function callRoutes(app: App, calls: LiveCalls): void {
  const tags = ['calls'];
  app.get(
    '/api/v1/calls',
    {
      config: { level: 'user', scope: 'calls:read' },
      schema: {
        tags,
        summary: 'The calls that go on: the own ones, for supervisors all',
        response: { 200: CallsReply },
      },
    },
    (request) => calls.list(request.person()),
  );
  app.get(
    '/api/v1/calls/:id',
    {
      config: { level: 'user', scope: 'calls:read', errors: ['invalid_request', 'not_found'] },
      schema: {
        tags,
        summary: 'One call that goes on, also by the id of a call that was joined into it',
        params: CallPath,
        response: { 200: CallReply },
      },
    },
    (request) => calls.one(request.person(), request.params.id),
  );
}
