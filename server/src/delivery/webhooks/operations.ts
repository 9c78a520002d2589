import { Done, NoFields } from '@offhook/contract/session.ts';
import {
  NewWebhook,
  WebhookChange,
  WebhookId,
  WebhookReplay,
  WebhookReply,
  WebhookSecretReply,
  WebhookSettings,
  WebhookSettingsReply,
  WebhookTested,
} from '@offhook/contract/webhooks.ts';
import { z } from 'zod';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { Webhooks } from './service.ts';

/** What changes webhooks; an API key with `webhooks:manage` reaches its own (wire.md section 7). */
export function webhookOperations(define: DefineOperation, webhooks: Webhooks): AnyOperation[] {
  const shared = { level: 'admin', scope: 'webhooks:manage', tag: 'webhooks' } as const;
  const path = '/api/v1/webhooks/:id';
  const missing = ['invalid_request', 'not_found', 'store_unavailable'] as const;
  return [
    define({
      ...shared,
      action: 'webhooks.create',
      confirm: true,
      method: 'POST',
      path: '/api/v1/webhooks',
      errors: [
        'invalid_request',
        'webhook_target_refused',
        'forbidden',
        'limit_reached',
        'store_unavailable',
      ],
      summary: 'Create a webhook; its secret is shown this once',
      params: z.strictObject({}),
      body: NewWebhook,
      reply: WebhookSecretReply,
      status: 201,
      run: async (actor, { body }) => ({ success: true, ...(await webhooks.create(actor, body)) }),
    }),
    define({
      ...shared,
      action: 'webhooks.change',
      confirm: (change) => typeof change === 'object' && change !== null && 'url' in change,
      method: 'PATCH',
      path,
      errors: [...missing, 'webhook_target_refused', 'forbidden'],
      summary: 'Change a webhook, or enable and disable it',
      params: WebhookId,
      body: WebhookChange,
      reply: WebhookReply,
      run: async (actor, { params, body }) => ({
        success: true,
        webhook: await webhooks.change(actor, Number(params.id), body),
      }),
    }),
    define({
      ...shared,
      action: 'webhooks.delete',
      method: 'DELETE',
      path,
      errors: missing,
      summary: 'Delete a webhook and its delivery log',
      params: WebhookId,
      body: NoFields,
      reply: Done,
      run: async (actor, { params }) => {
        await webhooks.remove(actor, Number(params.id));
        return { success: true };
      },
    }),
    define({
      ...shared,
      action: 'webhooks.rotate_secret',
      confirm: true,
      method: 'POST',
      path: `${path}/rotate-secret`,
      errors: missing,
      summary: 'A new secret, shown this once; the one before signs too for 24 hours',
      params: WebhookId,
      body: NoFields,
      reply: WebhookSecretReply,
      run: async (actor, { params }) => ({
        success: true,
        ...(await webhooks.rotate(actor, Number(params.id))),
      }),
    }),
    define({
      ...shared,
      action: 'webhooks.test',
      method: 'POST',
      path: `${path}/test`,
      errors: ['invalid_request', 'not_found', 'too_many_requests'],
      summary: 'Send one event of the type webhook.test and say what came back',
      params: WebhookId,
      body: NoFields,
      reply: WebhookTested,
      run: (actor, { params }) => webhooks.test(actor, Number(params.id)),
    }),
    define({
      ...shared,
      action: 'webhooks.retry',
      method: 'POST',
      path: `${path}/retry`,
      errors: [...missing, 'webhook_disabled'],
      summary: 'Send what waits for its next attempt at once',
      params: WebhookId,
      body: NoFields,
      reply: WebhookReply,
      status: 202,
      run: async (actor, { params }) => ({
        success: true,
        webhook: await webhooks.retry(actor, Number(params.id)),
      }),
    }),
    define({
      // Without a scope: a key must not widen what a key may call.
      level: 'admin',
      tag: 'webhooks',
      action: 'webhooks.configure',
      method: 'PUT',
      path: '/api/v1/settings/webhooks',
      errors: ['invalid_request', 'store_unavailable'],
      confirm: true,
      summary: 'Set which addresses that are not public webhooks may call',
      params: z.strictObject({}),
      body: WebhookSettings,
      reply: WebhookSettingsReply,
      run: async (actor, { body }) => ({
        success: true,
        settings: await webhooks.targets.change(actor, body),
      }),
    }),
    define({
      ...shared,
      action: 'webhooks.replay',
      method: 'POST',
      path: `${path}/replay`,
      errors: [...missing, 'webhook_disabled', 'replay_running'],
      summary: 'Send again what was passed from one seq to another, before what is new',
      params: WebhookId,
      body: WebhookReplay,
      reply: WebhookReply,
      status: 202,
      run: async (actor, { params, body }) => ({
        success: true,
        webhook: await webhooks.replay(actor, Number(params.id), body),
      }),
    }),
  ];
}
