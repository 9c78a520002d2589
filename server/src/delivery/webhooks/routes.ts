import {
  DeliveriesQuery,
  WebhookDeliveries,
  WebhookId,
  WebhookReply,
  WebhookSettingsReply,
  Webhooks as WebhooksReply,
} from '@offhook/contract/webhooks.ts';
import type { App } from '../../ports/http.ts';
import type { Webhooks } from './service.ts';

/** Reading webhooks and their delivery logs. */
export function webhookRoutes(app: App, webhooks: Webhooks): void {
  const tags = ['webhooks'];
  const access = { level: 'admin', scope: 'webhooks:manage' } as const;
  app.get(
    '/api/v1/webhooks',
    {
      config: access,
      schema: { tags, summary: 'The webhooks of this site', response: { 200: WebhooksReply } },
    },
    (request) => ({ success: true as const, webhooks: webhooks.list(request.person()) }),
  );
  app.get(
    '/api/v1/settings/webhooks',
    {
      config: { level: 'admin' },
      schema: {
        tags,
        summary: 'Which addresses that are not public webhooks may call',
        response: { 200: WebhookSettingsReply },
      },
    },
    () => ({ success: true as const, settings: webhooks.targets.settings() }),
  );
  app.get(
    '/api/v1/webhooks/:id',
    {
      config: { ...access, errors: ['invalid_request', 'not_found'] },
      schema: { tags, summary: 'One webhook', params: WebhookId, response: { 200: WebhookReply } },
    },
    (request) => ({
      success: true as const,
      webhook: webhooks.one(request.person(), Number(request.params.id)),
    }),
  );
  app.get(
    '/api/v1/webhooks/:id/deliveries',
    {
      config: { ...access, errors: ['invalid_request', 'not_found', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'What became of its deliveries, newest first',
        params: WebhookId,
        querystring: DeliveriesQuery,
        response: { 200: WebhookDeliveries },
      },
    },
    async (request) => ({
      success: true as const,
      ...(await webhooks.deliveries(request.person(), Number(request.params.id), request.query)),
    }),
  );
}
