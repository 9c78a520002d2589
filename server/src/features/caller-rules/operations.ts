import { callerRules as operations } from '@offhook/contract/operations/caller-rules.ts';
import type { Served } from '../../ports/operations.ts';
import type { CallerRules } from './service.ts';

export const callerRuleOperations = (rules: CallerRules): Served<typeof operations> => ({
  operations,
  handlers: {
    list: () => ({ success: true, ...rules.list() }),
    create: async (actor, { body }) => ({ success: true, rule: await rules.create(actor, body) }),
    async remove(actor, { params }) {
      await rules.remove(actor, params.id);
      return { success: true };
    },
  },
});
