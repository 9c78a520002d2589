import { webhooks as operations } from '@offhook/contract/operations/webhooks.ts';
import type { Served } from '../../ports/operations.ts';
import type { WebhookService } from './service.ts';

/** Webhooks and their delivery logs; an API key with `webhooks:manage` reaches its own (wire.md section 7). */
export function webhookOperations(webhooks: WebhookService): Served<typeof operations> {
  return {
    operations,
    handlers: {
      list: ({ caller }) => ({ webhooks: webhooks.list(caller) }),
      get: ({ caller }, { params }) => ({ webhook: webhooks.one(caller, Number(params.id)) }),
      create: (actor, { body }) => webhooks.create(actor, body),
      change: async (actor, { params, body }) => ({
        webhook: await webhooks.change(actor, Number(params.id), body),
      }),
      remove: (actor, { params }) => webhooks.remove(actor, Number(params.id)),
      deliveries: ({ caller }, { params, query }) => webhooks.deliveries(caller, Number(params.id), query),
      rotateSecret: (actor, { params }) => webhooks.rotate(actor, Number(params.id)),
      test: (actor, { params }) => webhooks.test(actor, Number(params.id)),
      retry: async (actor, { params }) => ({ webhook: await webhooks.retry(actor, Number(params.id)) }),
      replay: async (actor, { params, body }) => ({
        webhook: await webhooks.replay(actor, Number(params.id), body),
      }),
      settings: () => ({ settings: webhooks.targets.settings() }),
      setSettings: async (actor, { body }) => ({ settings: await webhooks.targets.change(actor, body) }),
    },
  };
}
