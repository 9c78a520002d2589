import { z } from 'zod';
import { Personal } from './extensions.ts';

/** Direction marks could reverse the text around a note in a list; joiners are kept, because names and emoji need them. */
const NOT_IN_A_NOTE = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/u;
const Note = z
  .string()
  .max(140)
  .refine((text) => text.trim() !== '', 'must have a text; use null for none')
  .refine((text) => !NOT_IN_A_NOTE.test(text), 'must not contain control characters');

/** Personal status of a person. */
export const OwnPresence = z
  .object({
    personal: Personal,
    note: z.string().nullable(),
    expires_at: z.string().nullable().describe('Time at which both are cleared; null: never.'),
  })
  .meta({ id: 'OwnPresence' });
export type OwnPresence = z.infer<typeof OwnPresence>;
export const PresenceReply = z.object({ success: z.literal(true), presence: OwnPresence });
export type PresenceReply = z.infer<typeof PresenceReply>;
/** Body of PUT /api/v1/presence: replaces the whole status; absent fields are cleared. */
export const PresenceChange = z.strictObject({
  personal: Personal.describe('`dnd` is do not disturb, the same as `*78`; every other word ends it.'),
  note: Note.nullable().default(null),
  expires_at: z.iso
    .datetime({ offset: true })
    .nullable()
    .default(null)
    .describe('In the future, at most 366 days ahead.'),
});
export type PresenceChange = z.infer<typeof PresenceChange>;
