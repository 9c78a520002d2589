import { AuditPage, AuditQuery } from '@offhook/contract/audit.ts';
import type { App } from '../../ports/http.ts';
import type { AuditTrail } from './service.ts';

/** `GET /api/v1/audit`, for administrators. */
export function auditRoutes(app: App, audit: AuditTrail): void {
  app.get(
    '/api/v1/audit',
    {
      config: { level: 'admin', errors: ['invalid_request', 'store_unavailable'] },
      schema: {
        tags: ['audit'],
        summary: 'Who did what, newest first',
        querystring: AuditQuery,
        response: { 200: AuditPage },
      },
    },
    async (request) => ({ success: true as const, ...(await audit.page(request.query)) }),
  );
}
