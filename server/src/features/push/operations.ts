import { push as operations } from '@offhook/contract/operations/push.ts';
import type { PushPlatform } from '@offhook/contract/push.ts';
import type { Actor, Served } from '../../ports/operations.ts';
import type { Push } from './service.ts';

export function pushOperations(push: Push): Served<typeof operations> {
  async function remove(actor: Actor, platform: PushPlatform): Promise<void> {
    await push.services.remove(actor, platform);
    push.changed();
  }
  return {
    operations,
    handlers: {
      device: ({ caller }) => ({ device: push.device(caller) }),
      register: async (actor, { body }) => ({ device: await push.register(actor, body) }),
      async unregister(actor) {
        await push.unregister(actor);
      },
      services: () => ({ services: push.services.list((platform) => push.count(platform)) }),
      async setFcm(actor, { body }) {
        const service = await push.services.set(actor, { platform: 'fcm', body }, push.count('fcm'));
        push.changed();
        return { service };
      },
      async setApns(actor, { body }) {
        const service = await push.services.set(actor, { platform: 'apns', body }, push.count('apns'));
        push.changed();
        return { service };
      },
      removeFcm: (actor) => remove(actor, 'fcm'),
      removeApns: (actor) => remove(actor, 'apns'),
      test: async (actor, { params, body }) => ({
        results: await push.test(actor, params.platform, body.extension),
      }),
    },
  };
}
