import { people as operations } from '@offhook/contract/operations/people.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { Served } from '../../ports/operations.ts';
import type { SignIns } from './people.ts';
import { codeReply } from './replies.ts';
import type { SignInCodes } from './sign-in-codes.ts';

/** Sign-ins of other persons, for administrators. */
export const peopleOperations = (signIns: SignIns, codes: SignInCodes): Served<typeof operations> => ({
  operations,
  handlers: {
    list: (_, { query }) => signIns.page(query),
    get: async (_, { params }) => ({ person: await signIns.one(params.extension) }),
    sessions: async (_, { params }) => ({
      sessions: (await signIns.sessions(params.extension)).map((row) => ({
        ...row,
        created_at: rfc3339(row.created_at),
        last_used_at: rfc3339(row.last_used_at),
        expires_at: rfc3339(row.expires_at),
      })),
    }),
    endSession: async (actor, { params }) => ({
      ended: await signIns.end(actor, params.extension, Number(params.id)),
    }),
    endSessions: async (actor, { params }) => ({ ended: await signIns.end(actor, params.extension, null) }),
    createSignInCode: async ({ caller, request }, { params }) =>
      codeReply(await codes.make({ caller, ip: request.ip }, params.extension), request.ownOrigin()),
    disableOtp: (actor, { params }) => signIns.disableOtp(actor, params.extension),
  },
});
