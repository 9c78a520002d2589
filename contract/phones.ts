import { z } from 'zod';
import { Slug } from './config-fields.ts';
import { PAGE_FIELDS, pageCursor } from './paging.ts';

const Mac = z.string().describe('12 hexadecimal digits.');
const Fetch = z.object({
  at: z.iso.datetime(),
  address: z.string(),
  user_agent: z.string(),
  file: z.string(),
  version: z.string().describe('Of what it was given; changes with the content of its configuration.'),
});
/** A desk phone as it is applied, and what is known of the device. */
export const PhoneState = z
  .object({
    name: z.string(),
    title: z.string().nullable(),
    vendor: z.string(),
    extensions: z.array(z.string()),
    shared: z.boolean().describe('People sign in at it by code.'),
    signed_in: z
      .object({ extension: z.string(), name: z.string(), since: z.iso.datetime() })
      .nullable()
      .describe('The person at a shared phone.'),
    mac: Mac.nullable().describe('Of its object, else of the phone that fetched first with its token.'),
    paired_at: z.iso.datetime().nullable().describe('First fetch with its current token.'),
    version: z.string().nullable().describe('Null where there are no templates for its vendor.'),
    fetched: Fetch.nullable().describe('The newest fetch.'),
    up_to_date: z.boolean().describe('True where it has fetched the current version.'),
    registered: z
      .boolean()
      .nullable()
      .describe(
        'Whether a desk phone is registered at its first line, or this shared one; null while unknown.',
      ),
  })
  .meta({ id: 'PhoneState' });
export type PhoneState = z.infer<typeof PhoneState>;
/** A phone that asked at the common address `/provision/`. */
export const WaitingPhone = z
  .object({
    mac: Mac,
    vendor: z.string().nullable().describe('By the beginning of its MAC address.'),
    address: z.string(),
    user_agent: z.string(),
    first_at: z.iso.datetime(),
    last_at: z.iso.datetime(),
    phone: z.string().nullable().describe('The phone it is assigned to until it fetches.'),
  })
  .meta({ id: 'WaitingPhone' });
export type WaitingPhone = z.infer<typeof WaitingPhone>;
export const PhonesQuery = z.strictObject({
  limit: PAGE_FIELDS.limit,
  cursor: pageCursor(/^[a-z0-9_-]{1,40}$/),
});
export const PhonesReply = z.object({
  success: z.literal(true),
  total: z.int(),
  phones: z.array(PhoneState),
  waiting: z.array(WaitingPhone).describe('Newest first; at most 200 are remembered.'),
  next_cursor: z.string().nullable(),
});
export type PhonesReply = z.infer<typeof PhonesReply>;
export const PhonePath = z.strictObject({ name: Slug });
export const PhoneReply = z.object({ success: z.literal(true), phone: PhoneState });
export const HandOver = z.object({
  success: z.literal(true),
  address: z
    .string()
    .describe('To be typed into the phone, or scanned. It holds the token: whoever has it is the phone.'),
});
export const AssignPhone = z.strictObject({
  mac: z.string().regex(/^[0-9a-f]{12}$/, 'must be 12 hexadecimal digits'),
  address: z
    .union([z.ipv4(), z.ipv6()])
    .optional()
    .describe(
      'Its `address` in `waiting`, as it was read: refused where another device has asked with its MAC address since.',
    ),
});
export const NotifyPhone = z.strictObject({
  event: z.enum(['check', 'reboot']).describe('`check`: it fetches again; `reboot`: it starts anew.'),
});
