import { apiKeys as operations } from '@offhook/contract/operations/api-keys.ts';
import type { Served } from '../../ports/operations.ts';
import type { ApiKeys } from './service.ts';

/** Operations for administrators; an API key cannot manage keys. */
export const apiKeyOperations = (keys: ApiKeys): Served<typeof operations> => ({
  operations,
  handlers: {
    list: () => ({ api_keys: keys.list() }),
    get: (_, { params }) => ({ api_key: keys.one(Number(params.id)) }),
    create: (actor, { body }) => keys.create(actor, body),
    change: async (actor, { params, body }) => ({
      api_key: await keys.change(actor, Number(params.id), body),
    }),
    revoke: async (actor, { params }) => {
      await keys.revoke(actor, Number(params.id));
    },
  },
});
