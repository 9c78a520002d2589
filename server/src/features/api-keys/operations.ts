import { ApiKeyChange, ApiKeyCreated, ApiKeyId, ApiKeyReply, NewApiKey } from '@offhook/contract/keys.ts';
import { Done, NoFields } from '@offhook/contract/session.ts';
import { z } from 'zod';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { ApiKeys } from './service.ts';

/** What administrators do with API keys; no key manages keys. */
export function apiKeyOperations(define: DefineOperation, keys: ApiKeys): AnyOperation[] {
  const level = 'admin';
  const tag = 'api-keys';
  return [
    define({
      action: 'api_keys.create',
      confirm: true,
      method: 'POST',
      path: '/api/v1/api-keys',
      level,
      errors: ['invalid_request', 'name_taken', 'limit_reached', 'store_unavailable'],
      summary: 'Create an API key; the key is shown this once',
      tag,
      params: z.strictObject({}),
      body: NewApiKey,
      reply: ApiKeyCreated,
      status: 201,
      run: async (actor, { body }) => ({ success: true, ...(await keys.create(actor, body)) }),
    }),
    define({
      action: 'api_keys.change',
      confirm: true,
      method: 'PATCH',
      path: '/api/v1/api-keys/:id',
      level,
      errors: ['invalid_request', 'not_found', 'name_taken', 'store_unavailable'],
      summary: 'Change an API key; its live sockets are closed, so that they begin anew with its rights',
      tag,
      params: ApiKeyId,
      body: ApiKeyChange,
      reply: ApiKeyReply,
      run: async (actor, { params, body }) => ({
        success: true,
        api_key: await keys.change(actor, Number(params.id), body),
      }),
    }),
    define({
      action: 'api_keys.revoke',
      method: 'DELETE',
      path: '/api/v1/api-keys/:id',
      level,
      errors: ['invalid_request', 'not_found', 'store_unavailable'],
      summary: 'Revoke an API key at once',
      tag,
      params: ApiKeyId,
      body: NoFields,
      reply: Done,
      run: async (actor, { params }) => {
        await keys.revoke(actor, Number(params.id));
        return { success: true };
      },
    }),
  ];
}
