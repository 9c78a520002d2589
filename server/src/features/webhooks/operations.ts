import { webhooks as operations } from '@offhook/contract/operations/webhooks.ts';
import type { Served } from '../../ports/operations.ts';
import type { WebhookService } from './service.ts';

/** Webhooks and their delivery logs; an API key with `webhooks:manage` reaches its own (wire.md section 7). */
export function webhookOperations(webhooks: WebhookService): Served<typeof operations> {
  const success = true as const;
  return {
    operations,
    handlers: {
      list: ({ caller }) => ({ success, webhooks: webhooks.list(caller) }),
      get: ({ caller }, { params }) => ({ success, webhook: webhooks.one(caller, Number(params.id)) }),
      create: async (actor, { body }) => ({ success, ...(await webhooks.create(actor, body)) }),
      change: async (actor, { params, body }) => ({
        success,
        webhook: await webhooks.change(actor, Number(params.id), body),
      }),
      async remove(actor, { params }) {
        await webhooks.remove(actor, Number(params.id));
        return { success };
      },
      deliveries: async ({ caller }, { params, query }) => ({
        success,
        ...(await webhooks.deliveries(caller, Number(params.id), query)),
      }),
      rotateSecret: async (actor, { params }) => ({
        success,
        ...(await webhooks.rotate(actor, Number(params.id))),
      }),
      test: (actor, { params }) => webhooks.test(actor, Number(params.id)),
      retry: async (actor, { params }) => ({
        success,
        webhook: await webhooks.retry(actor, Number(params.id)),
      }),
      replay: async (actor, { params, body }) => ({
        success,
        webhook: await webhooks.replay(actor, Number(params.id), body),
      }),
      settings: () => ({ success, settings: webhooks.targets.settings() }),
      setSettings: async (actor, { body }) => ({
        success,
        settings: await webhooks.targets.change(actor, body),
      }),
    },
  };
}
