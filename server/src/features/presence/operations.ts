import { presence as operations } from '@offhook/contract/operations/presence.ts';
import type { Served } from '../../ports/operations.ts';
import type { Presence } from './service.ts';

export const presenceOperations = (service: Presence): Served<typeof operations> => ({
  operations,
  handlers: {
    get: ({ caller }) => ({ presence: service.read(caller) }),
    set: async (actor, { body }) => ({ presence: await service.change(actor, body) }),
  },
});
