import { consoleSettings as operations } from '@offhook/contract/operations/console-settings.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Served } from '../../ports/operations.ts';
import type { SiteConsole } from './service.ts';

/** Settings that the console reads before the first page. */
export const consoleSettingsOperations = (site: SiteConsole): Served<typeof operations> => ({
  operations,
  handlers: {
    get({ caller }) {
      if (caller.key?.board !== undefined)
        throw new ServiceError('forbidden', 'a display key can read its own board only');
      return { settings: site.settings() };
    },
    set: async (actor, { body }) => ({ settings: await site.change(actor, body) }),
  },
});
