/** Typed requests of what the site sets for its console. */
import type { z } from 'zod';
import type { ConsoleSettings, ConsoleSettingsReply } from '@offhook/contract/console-settings.ts';
import type { Request } from './rest.ts';

type Reply<S extends z.ZodType> = Promise<z.output<S>>;

export function createPeopleRest(request: Request) {
  return {
    consoleSettings: {
      get: (signal?: AbortSignal): Reply<typeof ConsoleSettingsReply> =>
        request('GET', '/api/v1/settings/console', undefined, { signal }),
      set: (settings: z.input<typeof ConsoleSettings>): Reply<typeof ConsoleSettingsReply> =>
        request('PUT', '/api/v1/settings/console', settings),
    },
  };
}
