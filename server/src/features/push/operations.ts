import { push as operations } from '@offhook/contract/operations/push.ts';
import type { Served } from '../../ports/operations.ts';
import type { Push } from './service.ts';

const success = true as const;

export const pushOperations = (push: Push): Served<typeof operations> => ({
  operations,
  handlers: {
    device: ({ caller }) => ({ success, device: push.device(caller) }),
    register: async (actor, { body }) => ({ success, device: await push.register(actor, body) }),
    async unregister(actor) {
      await push.unregister(actor);
      return { success };
    },
    services: () => ({ success, services: push.services.list((platform) => push.count(platform)) }),
    async setFcm(actor, { body }) {
      const service = await push.services.set(actor, { platform: 'fcm', body }, push.count('fcm'));
      push.changed();
      return { success, service };
    },
    async setApns(actor, { body }) {
      const service = await push.services.set(actor, { platform: 'apns', body }, push.count('apns'));
      push.changed();
      return { success, service };
    },
    async removeService(actor, { params }) {
      await push.services.remove(actor, params.platform);
      push.changed();
      return { success };
    },
    test: async (actor, { params, body }) => ({
      success,
      results: await push.test(actor, params.platform, body.extension),
    }),
  },
});
