import { callerRules as operations } from '@offhook/contract/operations/caller-rules.ts';
import type { Served } from '../../ports/operations.ts';
import type { CallerRules } from './service.ts';

export const callerRuleOperations = (rules: CallerRules): Served<typeof operations> => ({
  operations,
  handlers: {
    list: () => rules.list(),
    create: async (actor, { body }) => ({ rule: await rules.create(actor, body) }),
    remove: (actor, { params }) => rules.remove(actor, params.id),
  },
});
