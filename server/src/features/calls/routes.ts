import { CallPath } from '@offhook/contract/call-control.ts';
import { CallReply, CallsReply } from '@offhook/contract/calls.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { Clock } from '../../ports/clock.ts';
import type { App } from '../../ports/http.ts';
import type { LiveView } from '../../ports/live.ts';
import type { LiveCalls } from './live.ts';

/** Reading the calls that go on, from memory. */
export function callRoutes(app: App, calls: LiveCalls, live: LiveView, clock: Clock): void {
  const tags = ['calls'];
  const known = () => ({
    success: true as const,
    as_of: rfc3339(live.as_of > 0 ? live.as_of : clock.now()),
    stale: !live.live,
  });
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
    (request) => ({ ...known(), calls: calls.list(request.person()) }),
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
    (request) => ({ ...known(), call: calls.one(request.person(), request.params.id) }),
  );
}
