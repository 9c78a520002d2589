import { z } from 'zod';
import { pageCursor, pageLimit } from './paging.ts';
import { DeviceSession, SessionUser } from './session.ts';

/** A person's sign-in data for administrators. */
export const SignInPerson = z
  .object({
    extension: z.string(),
    username: z.string(),
    name: z.string(),
    level: SessionUser.shape.level,
    active: z.boolean().describe('Whether the person can sign in, and be called.'),
    second_factor: z.boolean(),
    sessions: z.int().describe('Number of signed-in devices.'),
    last_sign_in: z
      .string()
      .nullable()
      .describe('Newest sign-in; null without one. A session that ended is known for 30 days.'),
  })
  .meta({ id: 'SignInPerson' });
export type SignInPerson = z.infer<typeof SignInPerson>;
/** Sorted by extension. */
export const PeopleQuery = z.strictObject({
  limit: pageLimit(200, '100'),
  cursor: pageCursor(/^[0-9]{1,20}$/),
  q: z
    .string()
    .max(128)
    .optional()
    .describe('Words of the name, the user name or the extension, in any order.'),
});
export type PeopleQuery = z.infer<typeof PeopleQuery>;
export const PeopleReply = z.object({
  success: z.literal(true),
  people: z.array(SignInPerson),
  total: z.int(),
  next_cursor: z.string().nullable(),
});
export type PeopleReply = z.infer<typeof PeopleReply>;
export const PersonReply = z.object({ success: z.literal(true), person: SignInPerson });
export const PersonPath = z.object({
  extension: z.string().regex(/^[0-9]{1,20}$/, 'must be an extension'),
});
export const PersonSessionPath = PersonPath.extend({
  id: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a session'),
});
export const PersonSessions = z.object({
  success: z.literal(true),
  sessions: z.array(DeviceSession.omit({ current: true })),
});
export const SessionsEnded = z.object({ success: z.literal(true), ended: z.int() });
