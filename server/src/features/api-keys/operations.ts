import { apiKeys as operations } from '@offhook/contract/operations/api-keys.ts';
import type { Served } from '../../ports/operations.ts';
import type { ApiKeys } from './service.ts';

/** Operations for administrators; an API key cannot manage keys. */
export const apiKeyOperations = (keys: ApiKeys): Served<typeof operations> => ({
  operations,
  handlers: {
    list: () => ({ success: true, api_keys: keys.list() }),
    get: (_, { params }) => ({ success: true, api_key: keys.one(Number(params.id)) }),
    create: async (actor, { body }) => ({ success: true, ...(await keys.create(actor, body)) }),
    change: async (actor, { params, body }) => ({
      success: true,
      api_key: await keys.change(actor, Number(params.id), body),
    }),
    revoke: async (actor, { params }) => {
      await keys.revoke(actor, Number(params.id));
      return { success: true };
    },
  },
});
