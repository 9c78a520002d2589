import { History, HistoryAction, HistoryActionReply, HistoryQuery } from '@offhook/contract/history.ts';
import type { App } from '../../ports/http.ts';
import type { HistoryService } from './service.ts';

/** GET /api/mobile/history.php, its alias, and what the alias alone takes (wire.md section 4). */
export function historyRoutes(app: App, history: HistoryService): void {
  for (const path of ['/api/mobile/history.php', '/api/mobile/call_history.php']) {
    app.get(
      path,
      {
        config: {
          level: 'user',
          scope: 'history:read',
          errors: ['invalid_request', 'forbidden', 'store_unavailable'],
        },
        schema: {
          summary: "The caller's own calls, newest first, one row for one conversation",
          tags: ['history'],
          querystring: HistoryQuery,
          response: { 200: History },
        },
      },
      (request) => history.list(request.person(), request.query),
    );
  }
  app.post(
    '/api/mobile/call_history.php',
    {
      config: {
        level: 'user',
        body: 'form',
        errors: ['invalid_request', 'unknown_action', 'store_unavailable'],
      },
      schema: {
        summary: "Hide calls from the caller's own view, or clear it",
        tags: ['history'],
        body: HistoryAction,
        response: { 200: HistoryActionReply },
      },
    },
    (request) => history.act(request.person(), request.body),
  );
}
