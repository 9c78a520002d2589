/** Typed requests of how other people sign in, for administrators, and of what the site sets for its console. */
import type { z } from 'zod';
import type { ConsoleSettings, ConsoleSettingsReply } from '@offhook/contract/console-settings.ts';
import type {
  PeopleQuery,
  PeopleReply,
  PersonReply,
  PersonSessions,
  SessionsEnded,
} from '@offhook/contract/people.ts';
import type { Done } from '@offhook/contract/session.ts';
import type { TrunksReply } from '@offhook/contract/trunks.ts';
import { at, queryOf } from './rest.ts';
import type { Request } from './rest.ts';

type Reply<S extends z.ZodType> = Promise<z.output<S>>;

export function createPeopleRest(request: Request) {
  return {
    people: {
      list: (
        query: { readonly [K in keyof PeopleQuery]?: PeopleQuery[K] } = {},
        signal?: AbortSignal,
      ): Reply<typeof PeopleReply> =>
        request('GET', `/api/v1/people${queryOf(query)}`, undefined, { signal }),
      get: (extension: string, signal?: AbortSignal): Reply<typeof PersonReply> =>
        request('GET', at`/api/v1/people/${extension}`, undefined, { signal }),
      sessions: (extension: string, signal?: AbortSignal): Reply<typeof PersonSessions> =>
        request('GET', at`/api/v1/people/${extension}/sessions`, undefined, { signal }),
      endSession: (extension: string, id: number): Reply<typeof SessionsEnded> =>
        request('DELETE', at`/api/v1/people/${extension}/sessions/${id}`),
      endSessions: (extension: string): Reply<typeof SessionsEnded> =>
        request('DELETE', at`/api/v1/people/${extension}/sessions`),
      disableOtp: (extension: string): Reply<typeof Done> =>
        request('POST', at`/api/v1/people/${extension}/otp/disable`),
    },
    /** For supervisors: how the trunks are now. */
    trunks: (signal?: AbortSignal): Reply<typeof TrunksReply> =>
      request('GET', '/api/v1/trunks', undefined, { signal }),
    consoleSettings: {
      get: (signal?: AbortSignal): Reply<typeof ConsoleSettingsReply> =>
        request('GET', '/api/v1/settings/console', undefined, { signal }),
      set: (settings: z.input<typeof ConsoleSettings>): Reply<typeof ConsoleSettingsReply> =>
        request('PUT', '/api/v1/settings/console', settings),
    },
  };
}
