import { applies as operations } from '@offhook/contract/operations/config-applies.ts';
import type { Actor, Served } from '../../../ports/operations.ts';
import { checkWholeSite } from '../../../rights/rights.ts';
import type { ConfigApplies } from './service.ts';

/** Plans, applies, versions and files changed by hand. */
export function applyOperations(applies: ConfigApplies): Served<typeof operations> {
  const success = true as const;
  /** A key limited to some objects may not read or apply the whole configuration. */
  const whole =
    <A extends Actor, I, R>(run: (actor: A, input: I) => R) =>
    async (actor: A, input: I): Promise<Awaited<R>> => {
      checkWholeSite(actor.caller);
      return await run(actor, input);
    };
  return {
    operations,
    handlers: {
      plan: whole(() => applies.plan()),
      apply: whole(async (actor, { body }) => ({ success, apply: await applies.apply(actor, body) })),
      applies: whole(async (_, { query }) => ({ success, ...(await applies.page(query)) })),
      applyState: whole(async (_, { params }) => ({ success, apply: await applies.one(Number(params.id)) })),
      cancelApply: whole(async (actor, { params }) => ({
        success,
        apply: await applies.cancel(actor, Number(params.id)),
      })),
      versions: whole(async (_, { query }) => ({ success, ...(await applies.versions(query)) })),
      version: whole((_, { params }) => applies.version(Number(params.version))),
      versionObject: whole((_, { params: { version, kind, key } }) =>
        applies.object(Number(version), kind, key),
      ),
      // API keys have no access to `restore`.
      restore: async (actor, { params, body }) => ({
        success,
        apply: await applies.restore(actor, Number(params.version), body),
      }),
      drift: whole(() => applies.drift()),
    },
  };
}
