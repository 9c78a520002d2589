/** The route test: the way of a call through the configuration, without the engine. */
import { z } from 'zod';
import { OwnNumber, Slug } from './config-fields.ts';

export const RouteTestRequest = z
  .strictObject({
    number: z
      .string()
      .regex(/^\+?[0-9*#]{1,40}$/, 'must be 1 to 40 of 0-9 * #, with or without a + in front')
      .describe('As it is dialled, or as a trunk sends it.'),
    from: z.union([
      z.strictObject({ extension: OwnNumber }),
      z.strictObject({
        trunk: Slug,
        caller: z
          .string()
          .regex(/^\+?[0-9]{0,32}$/, 'must be up to 32 digits, with or without a + in front')
          .default('')
          .describe('Empty for one who does not show it.'),
      }),
    ]),
    at: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('RFC 3339; now where it is left out. Open hours and holidays are read at this moment.'),
    view: z.enum(['applied', 'draft']).default('applied'),
  })
  .meta({ id: 'RouteTestRequest' });

const ObjectName = z.object({ kind: z.string(), key: z.string() });
export const RouteTestStep = z
  .object({
    object: ObjectName.nullable().describe('What decided; null for the exchange itself.'),
    rule: z.string().describe('What of it: the field or the pattern.'),
    detail: z.string().describe('One sentence for people.'),
  })
  .meta({ id: 'RouteTestStep' });
export const RouteTestEnd = z
  .object({
    when: z
      .string()
      .nullable()
      .describe(
        'Null for where the call goes; else for what it goes there, e.g. `key 1` or `nobody answers`.',
      ),
    kind: z.enum([
      'rings',
      'queue',
      'trunk',
      'mailbox',
      'conference',
      'menu',
      'service',
      'feature_code',
      'parking',
      'ends',
      'refused',
      'nothing',
    ]),
    object: ObjectName.nullable(),
    detail: z.string().describe('One sentence for people.'),
    endpoints: z.array(z.string()).describe('What rings.'),
    ways: z
      .array(z.object({ trunk: z.string(), number: z.string(), shown_as: z.string() }))
      .describe(
        'Trunks in the order in which they are tried, with the number that is called and the one shown.',
      ),
    cause: z.int().nullable().describe('Of a call that is refused or ended: the cause, as in ITU-T Q.850.'),
  })
  .meta({ id: 'RouteTestEnd' });
export const RouteTest = z
  .object({
    number: z.string(),
    at: z.iso.datetime({ offset: true }),
    zone: z.string().describe("The site's, in which open hours and holidays are."),
    steps: z.array(RouteTestStep).describe('In order.'),
    ends: z
      .array(RouteTestEnd)
      .describe('Where the call goes first, then its branches, followed for one level.'),
    complete: z.boolean().describe('False where there were more steps than are told.'),
  })
  .meta({ id: 'RouteTest' });
export const RouteTestReply = z.object({ success: z.literal(true), test: RouteTest });
export type RouteTestRequest = z.input<typeof RouteTestRequest>;
export type RouteTestStep = z.output<typeof RouteTestStep>;
export type RouteTestEnd = z.output<typeof RouteTestEnd>;
export type RouteTest = z.output<typeof RouteTest>;
export type RouteTestReply = z.output<typeof RouteTestReply>;
