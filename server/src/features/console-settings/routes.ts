import { ConsoleSettings, ConsoleSettingsReply } from '@offhook/contract/console-settings.ts';
import { z } from 'zod';
import { ServiceError } from '../../core/errors.ts';
import type { App } from '../../ports/http.ts';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { SiteConsole } from './service.ts';

const path = '/api/v1/settings/console';

/** What the console of this site is told before it shows anything. */
export function consoleSettingsRoutes(app: App, site: SiteConsole): void {
  app.get(
    path,
    {
      config: { level: 'user', scope: 'any', setup: true },
      schema: {
        tags: ['console'],
        summary: 'What the site sets for its console',
        response: { 200: ConsoleSettingsReply },
      },
    },
    (request) => {
      if (request.person().key?.board !== undefined) {
        throw new ServiceError('forbidden', 'a display is shown its board only');
      }
      return { success: true as const, settings: site.settings() };
    },
  );
}
export const consoleSettingsOperations = (define: DefineOperation, site: SiteConsole): AnyOperation[] => [
  define({
    method: 'PUT',
    level: 'admin',
    tag: 'console',
    action: 'console.configure',
    path,
    // Taking the second factor away is what a stolen session would do first.
    confirm: (wanted) => typeof wanted === 'object' && wanted !== null && 'second_factor' in wanted,
    errors: ['invalid_request', 'store_unavailable'],
    summary: 'Set what the site sets for its console',
    params: z.strictObject({}),
    body: ConsoleSettings,
    reply: ConsoleSettingsReply,
    run: async (actor, { body }) => ({ success: true, settings: await site.change(actor, body) }),
  }),
];
