import { applies as operations } from '@offhook/contract/operations/config-applies.ts';
import type { Served } from '../../../ports/operations.ts';
import type { ConfigApplies } from './service.ts';

/** Plans, applies, versions and files changed by hand. */
export function applyOperations(applies: ConfigApplies): Served<typeof operations> {
  return {
    operations,
    handlers: {
      plan: ({ language }) => applies.plan(language),
      apply: async (actor, { body }) => ({ apply: await applies.apply(actor, body) }),
      applies: (_, { query }) => applies.page(query),
      applyState: async (_, { params }) => ({ apply: await applies.one(Number(params.id)) }),
      cancelApply: async (actor, { params }) => ({ apply: await applies.cancel(actor, Number(params.id)) }),
      versions: (_, { query }) => applies.versions(query),
      version: (_, { params }) => applies.version(Number(params.version)),
      versionObject: (_, { params: { version, kind, key } }) => applies.object(Number(version), kind, key),
      // API keys have no access to `restore`.
      restore: async (actor, { params, body }) => ({
        apply: await applies.restore(actor, Number(params.version), body),
      }),
      drift: () => applies.drift(),
    },
  };
}
