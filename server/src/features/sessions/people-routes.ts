import {
  PeopleQuery,
  PeopleReply,
  PersonPath,
  PersonReply,
  PersonSessionPath,
  PersonSessions,
  SessionsEnded,
} from '@offhook/contract/people.ts';
import { Done, NoFields } from '@offhook/contract/session.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { App } from '../../ports/http.ts';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { SignIns } from './people.ts';

/** How other people sign in, for administrators. */
export function peopleRoutes(app: App, signIns: SignIns): void {
  app.get(
    '/api/v1/people',
    {
      config: { level: 'admin', errors: ['invalid_request', 'store_unavailable'] },
      schema: {
        tags: ['people'],
        summary: 'Who can sign in, and how',
        querystring: PeopleQuery,
        response: { 200: PeopleReply },
      },
    },
    async (request) => ({ success: true as const, ...(await signIns.page(request.query)) }),
  );
  app.get(
    '/api/v1/people/:extension',
    {
      config: { level: 'admin', errors: ['invalid_request', 'not_found', 'store_unavailable'] },
      schema: {
        tags: ['people'],
        summary: 'How a person signs in',
        params: PersonPath,
        response: { 200: PersonReply },
      },
    },
    async (request) => ({
      success: true as const,
      person: await signIns.one(request.params.extension),
    }),
  );
  app.get(
    '/api/v1/people/:extension/sessions',
    {
      config: { level: 'admin', errors: ['invalid_request', 'not_found', 'store_unavailable'] },
      schema: {
        tags: ['people'],
        summary: 'Devices of a person',
        params: PersonPath,
        response: { 200: PersonSessions },
      },
    },
    async (request) => ({
      success: true as const,
      sessions: (await signIns.sessions(request.params.extension)).map((row) => ({
        ...row,
        created_at: rfc3339(row.created_at),
        last_used_at: rfc3339(row.last_used_at),
        expires_at: rfc3339(row.expires_at),
      })),
    }),
  );
}
export function peopleOperations(define: DefineOperation, signIns: SignIns): AnyOperation[] {
  const common = {
    level: 'admin',
    tag: 'people',
    errors: ['invalid_request', 'not_found', 'store_unavailable'],
    body: NoFields,
  } as const;
  return [
    define({
      ...common,
      method: 'DELETE',
      action: 'people.end_sessions',
      path: '/api/v1/people/:extension/sessions',
      summary: 'Sign a person out everywhere',
      params: PersonPath,
      reply: SessionsEnded,
      run: async (actor, { params }) => ({
        success: true,
        ended: await signIns.end(actor, params.extension, null),
      }),
    }),
    define({
      ...common,
      method: 'DELETE',
      action: 'people.end_session',
      path: '/api/v1/people/:extension/sessions/:id',
      summary: 'Sign a person out of one device',
      params: PersonSessionPath,
      reply: SessionsEnded,
      run: async (actor, { params }) => ({
        success: true,
        ended: await signIns.end(actor, params.extension, Number(params.id)),
      }),
    }),
    define({
      ...common,
      method: 'POST',
      action: 'people.disable_otp',
      confirm: true,
      path: '/api/v1/people/:extension/otp/disable',
      errors: [...common.errors, 'forbidden'],
      summary: 'Switch the second factor of somebody else off, who lost it',
      params: PersonPath,
      reply: Done,
      run: async (actor, { params }) => {
        await signIns.disableOtp(actor, params.extension);
        return { success: true };
      },
    }),
  ];
}
