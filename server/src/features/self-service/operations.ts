import { features as operations } from '@offhook/contract/operations/features.ts';
import type { FeaturesChange, FeaturesRequest } from '@offhook/contract/features.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Served } from '../../ports/operations.ts';
import type { SelfService } from './service.ts';

const SAVED = 'Your settings are saved.';

/** A form can only send texts for `dnd_enabled`; JSON must send a boolean. */
function changeOf(body: FeaturesRequest, json: boolean): FeaturesChange {
  const { dnd_enabled: dnd, ...rest } = body;
  if (dnd === undefined) return rest;
  if (json && typeof dnd !== 'boolean') {
    throw new ServiceError('invalid_request', 'dnd_enabled: expected true or false');
  }
  return { ...rest, dnd_enabled: dnd === true || dnd === 'true' || dnd === '1' };
}

/** Call settings of an extension. */
export function selfServiceOperations(service: SelfService): Served<typeof operations> {
  return {
    operations,
    handlers: {
      own: ({ caller }) => ({ features: service.read(caller, caller.extension) }),
      async setOwn({ caller, ip, request }, { body }) {
        const json = /^application\/json/i.test(request.headers['content-type'] ?? '');
        const change = changeOf(body, json);
        const features = await service.change({ caller, ip }, caller.extension, change);
        return { message: SAVED, features };
      },
      get: ({ caller }, { params }) => ({ features: service.read(caller, params.extension) }),
      set: async (actor, { params, body }) => ({
        message: SAVED,
        features: await service.change(actor, params.extension, body),
      }),
    },
  };
}
