/** Configuration of calls outside: trunks, routes and call limits. */
import { z } from 'zod';
import {
  Destination,
  Language,
  MediaAddress,
  NumberChange,
  Outside,
  ROUTE_CLASSES,
  RouteClass,
  Seconds,
  Slug,
  Srtp,
  Title,
  ref,
  secret,
} from './config-fields.ts';

export const TrunkConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    enabled: z.boolean().default(true),
    host: z
      .union([
        z.ipv4(),
        z.ipv6(),
        z.hostname().refine((name) => !name.endsWith('.'), 'must not end in a dot'),
      ])
      .describe(
        'Host name or address; requests from it belong to this trunk, or to one of the trunks with this host. The address of this machine is rejected in any spelling; a name is not resolved.',
      ),
    srv: z
      .boolean()
      .default(false)
      .describe(
        'True: `host` is a domain whose SRV records name the servers, which are tried in order of priority and weight; `port` counts only where it has no such records.',
      ),
    port: z.int().min(1).max(65535).default(5060),
    transport: z
      .enum(['udp', 'tcp', 'tls'])
      .default('udp')
      .describe(
        'With `tls` its certificate must be of a known authority and for `host`, with `srv` for the name of the server.',
      ),
    username: z
      .string()
      .regex(/^[A-Za-z0-9+._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 + . _ -')
      .nullable()
      .default(null)
      .describe('Credentials for its challenges.'),
    password: secret(
      z.string().regex(/^[!-:<-[\]-~]{1,128}$/, 'must be 1 to 128 printable characters other than ; \\'),
    ),
    register: z.boolean().default(false),
    codecs: z
      .array(z.enum(['ulaw', 'alaw', 'g722', 'opus']))
      .min(1)
      .max(4)
      .refine((c) => new Set(c).size === c.length, 'must contain each value once')
      .default(['alaw', 'ulaw', 'g722']),
    outbound_number: Outside.nullable()
      .default(null)
      .describe('Number shown for outgoing calls; null for the extension itself.'),
    show_extensions: z
      .boolean()
      .default(false)
      .describe("An extension's own `caller_id` is shown instead where it has one."),
    max_calls: z
      .int()
      .min(1)
      .max(10_000)
      .nullable()
      .default(30)
      .describe('Limit of calls in both directions; null for none.'),
    srtp: Srtp.describe('Encrypted media.'),
    media_address: MediaAddress,
    language: Language.nullable()
      .default(null)
      .describe('Of the prompts that its callers hear; null for that of the site.'),
  })
  .meta({ id: 'TrunkConfig' });
export const InboundRouteConfig = z
  .strictObject({
    name: Slug,
    title: Title.nullable().default(null),
    trunk: ref('trunk').nullable().default(null).describe('Null for all.'),
    number: Outside.nullable()
      .default(null)
      .describe('The number that was called, as received; null for any.'),
    prefix: z.boolean().default(false).describe('`number` is a prefix.'),
    caller: Outside.nullable().default(null).describe('Only calls whose caller number begins with this.'),
    owner_seconds: Seconds(5, 120)
      .nullable()
      .default(null)
      .describe(
        'How long the owner of the calling customer is rung before the call goes on to `to`; at once where the customer has no owner, or the owner has no free phone, does not want calls or forwards them. Null: no owner is rung.',
      ),
    language: Language.nullable()
      .default(null)
      .describe('Of the prompts that its callers hear; null for that of the trunk.'),
    to: Destination,
  })
  .refine((r) => !r.prefix || r.number !== null, {
    path: ['number'],
    message: 'is missing: the number to use as a prefix',
  })
  .meta({ id: 'InboundRouteConfig' });
export const OutboundRouteConfig = z
  .strictObject({
    name: Slug,
    title: Title.nullable().default(null),
    position: z.int().min(0).max(10_000).default(100).describe('The first match decides.'),
    patterns: z
      .array(
        z
          .string()
          .regex(/^\+?[0-9XZN]{0,32}[.!]?$/, 'must be digits and X, Z, N, with . or ! at the end')
          .refine(
            (p) => /[0-9+]/.test(p) || (/^[XZN]+$/.test(p) && p.length >= 5),
            'must have a digit or +, or at least five of X, Z and N',
          ),
      )
      .min(1)
      .max(100)
      .describe('X is any digit, Z 1 to 9, N 2 to 9; `.` one or more of anything, `!` none or more.'),
    class: RouteClass.default('national').describe(
      'Default of a new route with a pattern for any country (`+X.`, `00X.`, `011X.`, `0X.`): `international`.',
    ),
    trunks: z
      .array(z.strictObject({ trunk: ref('trunk'), ...NumberChange }))
      .min(1)
      .max(10)
      .describe('Tried in this order.'),
  })
  .meta({ id: 'OutboundRouteConfig' });

/** Classes that a call limit can cover; emergency calls have none. */
export const LIMITED_CLASSES = RouteClass.exclude(['emergency']);
const Most = (max: number) => z.int().min(1).max(max).nullable().default(null);
export const CallLimitConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    classes: z
      .array(LIMITED_CLASSES)
      .min(1)
      .max(ROUTE_CLASSES.length)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default(['international', 'premium'])
      .describe('Classes of outbound routes whose calls are counted.'),
    extensions: z
      .array(ref('extension'))
      .max(1_000)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default([])
      .describe('Extensions whose calls are counted; empty for all.'),
    shared: z
      .boolean()
      .default(false)
      .describe('True: one count for all these extensions; false: each extension has a count of its own.'),
    max_calls: Most(1_000).describe('Calls at the same time.'),
    calls_per_hour: Most(100_000).describe("Answered calls in an hour of the site's clock."),
    calls_per_day: Most(100_000).describe("Answered calls on a day of the site's zone."),
    minutes_per_hour: Most(100_000).describe(
      'Talk time in an hour. A call belongs to the hour and day in which it began.',
    ),
    minutes_per_day: Most(1_000_000).describe('Talk time on a day.'),
    max_minutes: z
      .int()
      .min(1)
      .max(1_440)
      .default(120)
      .describe(
        'Longest call; it is ended then. A call reserves as many minutes of `minutes_per_hour` and `minutes_per_day`, or what is left of them, and returns those it did not use.',
      ),
    countries: z
      .array(z.string().regex(/^\+[1-9][0-9]{0,5}$/, 'must be + and 1 to 6 digits, the first not 0'))
      .max(300)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default([])
      .describe(
        'Beginnings of the numbers that may be called, such as `+49`; empty for all. Numbers of the classes `international` and `premium`, and those dialled with `+` or `00`, must begin with one of them.',
      ),
    hours: ref('time_condition')
      .nullable()
      .default(null)
      .describe('Calls only while this time condition is open; null for any time.'),
  })
  .meta({ id: 'CallLimitConfig' });
