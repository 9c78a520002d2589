/**
 * Objects of the configuration. The schemas are those of the API and of the store; secrets are
 * optional, accepted and never returned; a missing one keeps the stored value.
 */
import { z } from 'zod';
import { LEVELS } from './ids.ts';
import { numberOf } from './numbers.ts';

/** Machine name of an object. */
export const Slug = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?$/, 'must be 1 to 40 of a-z 0-9 _ -');
/** A number of the site, as it is dialled. */
export const OwnNumber = z.string().regex(/^[1-9][0-9]{1,9}$/, 'must be 2 to 10 digits, the first not 0');
/** An outside number, or a prefix of one. */
export const Outside = numberOf(/^\+?[0-9]{1,32}$/, 'not 1 to 32 digits, with or without a + in front');
/** Text for people: one line of any script, without characters that a file of the engine or a page would interpret. */
export const Title = z
  .string()
  .max(80)
  .regex(
    /^(?=.{1,80}$)[\p{L}\p{N}.'’()&/+_-][\p{L}\p{M}\p{N}\p{Join_Control}.'’()&/+_-]*(?: [\p{L}\p{M}\p{N}\p{Join_Control}.'’()&/+_-]+)*$/u,
    "must be 1 to 80 letters, digits, single spaces or . ' ( ) & / + _ -",
  );
/** Address, floor and room, as people who come to help read it. */
const Location = z
  .string()
  .trim()
  .min(1)
  .max(160)
  .regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not contain control characters');
const DisplayName = z
  .string()
  .max(64)
  .regex(
    /^(?=.{1,64}$)[\p{L}\p{N}.'’()&/+_-][\p{L}\p{M}\p{N}\p{Join_Control}.'’()&/+_-]*(?: [\p{L}\p{M}\p{N}\p{Join_Control}.'’()&/+_-]+)*$/u,
    "must be 1 to 64 letters, digits, single spaces or . ' ( ) & / + _ -",
  )
  .refine((s) => new TextEncoder().encode(s).length <= 79, 'must have at most 79 bytes in UTF-8');
/** Language of prompts, as folders of sounds are named. */
export const LANGUAGE = /^[a-z]{2}(?:_[A-Z]{2})?$/;
export const Language = z.string().regex(LANGUAGE, 'must be a language such as en, fr or pt_BR');
const Pin = z.string().regex(/^[0-9]{4,12}$/, 'must be 4 to 12 digits');
const secret = <T extends z.ZodType>(schema: T) => schema.optional().meta({ writeOnly: true });

/** Name of a node, as `OFFHOOK_NODE` of its machine. */
const Node = z
  .string()
  .regex(/^[a-z][a-z0-9]{0,15}$/, 'must be 1 to 16 lower-case letters and digits that begin with a letter');
/** Keys of the kinds that other objects refer to. */
const KEYS = {
  extension: OwnNumber,
  queue: Slug,
  ring_group: Slug,
  menu: Slug,
  time_condition: Slug,
  holidays: Slug,
  conference: Slug,
  mailbox: OwnNumber,
  music_class: Slug,
  prompt: Slug,
  trunk: Slug,
  phone_layout: Slug,
  engine: Node,
  service: z.string().regex(/^[0-9*#]{1,20}$/, 'must be a service number'),
} as const;
type NamedKind = keyof typeof KEYS;
/**
 * Schemas that refer to another object, by their field `by` or as a whole. Kept beside the schemas, because their
 * metadata is published.
 */
export const REFERENCES = z.registry<{ readonly kind: NamedKind; readonly by?: string }>();
const ref = (kind: NamedKind): z.ZodString => KEYS[kind].clone().register(REFERENCES, { kind });

/** A sound: an uploaded prompt, or one supplied with the engine. */
export const SoundRef = z.union([
  z.strictObject({ prompt: Slug }).register(REFERENCES, { kind: 'prompt', by: 'prompt' }),
  z.strictObject({
    built_in: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}(\/[a-z0-9][a-z0-9_-]{0,63}){0,2}$/, 'must be the name of a sound'),
  }),
]);
export type SoundRef = z.output<typeof SoundRef>;

/** Change of a number: digits removed from its beginning, then others prepended. */
const Change = {
  strip: z.int().min(0).max(32).default(0).describe('Number of digits removed from the beginning.'),
  prepend: z
    .union([z.literal(''), Outside])
    .default('')
    .describe('Digits prepended after that.'),
};
const to = <K extends NamedKind>(kind: K) =>
  z.strictObject({ kind: z.literal(kind), key: KEYS[kind] }).register(REFERENCES, { kind, by: 'key' });
/** Target of a call. */
export const Destination = z
  .discriminatedUnion('kind', [
    to('extension'),
    to('queue'),
    to('ring_group'),
    to('menu'),
    to('time_condition'),
    to('conference'),
    to('mailbox'),
    to('service'),
    z
      .strictObject({ kind: z.literal('trunk'), key: Slug, ...Change })
      .describe(
        'An inbound route passes the called number on, with this change; other objects have no such number and pass only `prepend`.',
      )
      .register(REFERENCES, { kind: 'trunk', by: 'key' }),
    z.strictObject({
      kind: z.literal('hang_up'),
      reason: z.enum(['normal', 'busy', 'congestion', 'not_found']).default('normal'),
      play: SoundRef.nullable().default(null).describe('Heard before it.'),
    }),
  ])
  .meta({ id: 'ConfigDestination' });
export type Destination = z.output<typeof Destination>;

/** Encryption of media by keys in the signalling (SDES); `offered` also accepts calls without. */
const Srtp = z.enum(['off', 'offered', 'required']).default('off');
/** Overrides the media address of the object `network`. */
const MediaAddress = z
  .union([z.ipv4(), z.ipv6()])
  .nullable()
  .default(null)
  .describe(
    'Address to which the other side is to send its media, instead of that of the network; media is bound to it where this machine has it. Null: that of the network.',
  );
const Recording = z.enum(['never', 'always']).default('never');
const Home = ref('engine').nullable().default(null);
/** Cost class of an outside number, for call permissions; all extensions may call emergency numbers. */
export const ROUTE_CLASSES = [
  'emergency',
  'local',
  'national',
  'mobile',
  'international',
  'premium',
] as const;
export const RouteClass = z.enum(ROUTE_CLASSES);

export const ExtensionConfig = z
  .strictObject({
    extension: OwnNumber,
    username: z
      .string()
      .regex(/^[a-z0-9](?:[a-z0-9._@-]{0,62}[a-z0-9])?$/, 'must be 1 to 64 of a-z 0-9 . _ @ -')
      .describe('Name for signing in, beside the extension.'),
    name: DisplayName,
    email: z.email().max(200).nullable().default(null),
    mobile: Outside.nullable().default(null),
    department: Title.nullable().default(null),
    level: z.enum(LEVELS).exclude(['public']).default('user'),
    active: z.boolean().default(true).describe('False: no sign-in, no registration and no calls.'),
    devices: z
      .array(z.enum(['sip', 'webrtc', 'mobile']))
      .max(3)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default(['sip', 'webrtc', 'mobile']),
    voicemail: z.boolean().default(true),
    voicemail_pin: secret(Pin).describe('Generated by default.'),
    sip_password: secret(
      z.string().regex(/^[A-Za-z0-9_-]{22,128}$/, 'must be 22 to 128 of A-Z a-z 0-9 _ -'),
    ).describe('Generated by default; phones receive it when their person signs in.'),
    forward_outside: z.boolean().default(false).describe('Its calls may be forwarded to a number outside.'),
    recording: Recording,
    caller_id: Outside.nullable()
      .default(null)
      .describe('Number shown outside; null for that of the trunk, or the extension itself.'),
    location: Location.nullable()
      .default(null)
      .describe('Where its phone is, for emergency calls from a network without a location.'),
    pickup_group: Slug.nullable().default(null),
    call_permission: z
      .array(RouteClass)
      .max(ROUTE_CLASSES.length)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default(ROUTE_CLASSES.filter((c) => c !== 'international' && c !== 'premium'))
      .describe(
        'Classes of outbound routes its phones may use; by default all but `international` and `premium`.',
      ),
    srtp: Srtp.describe('Encrypted media of its desk phones; browsers and apps always encrypt.'),
    media_address: MediaAddress,
    language: Language.nullable()
      .default(null)
      .describe('Of the prompts that its own calls play; null for that of the site.'),
    engine: Home.describe(
      'Engine at which its phones register; null for that of the node that leads the site.',
    ),
  })
  .meta({ id: 'ExtensionConfig' });

const Seconds = (min: number, max: number) => z.int().min(min).max(max);
export const QueueConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber,
    title: Title,
    strategy: z
      .enum(['ringall', 'leastrecent', 'fewestcalls', 'random', 'rrmemory', 'linear', 'rrordered', 'wrandom'])
      .default('ringall'),
    members: z
      .array(
        z.strictObject({
          extension: ref('extension'),
          static: z.boolean().default(false).describe('A member by configuration that cannot sign out.'),
          penalty: z
            .int()
            .min(0)
            .max(100)
            .default(0)
            .describe(
              'Agents with a higher value ring later; an agent that signs in itself gets this value.',
            ),
        }),
      )
      .max(1_000)
      .default([]),
    ring_seconds: Seconds(1, 600).default(15).describe('How long one agent rings.'),
    retry_seconds: Seconds(1, 60).default(1).describe('Between two rounds of ringing.'),
    wrap_up_seconds: Seconds(0, 3_600).default(0),
    max_wait_seconds: Seconds(0, 86_400).default(0).describe('0 for ever.'),
    max_callers: z.int().min(0).max(10_000).default(0).describe('0 for any number.'),
    weight: z
      .int()
      .min(0)
      .max(100)
      .default(0)
      .describe('The queue with more weight gets a shared agent first.'),
    ring_in_use: z.boolean().default(false).describe('Also rings agents who are in another call.'),
    join_when_empty: z.boolean().default(true),
    leave_when_empty: z.boolean().default(false),
    exit: z
      .strictObject({ key: z.string().regex(/^[0-9*#]$/, 'must be one key of 0-9 * #'), to: Destination })
      .nullable()
      .default(null)
      .describe('Key with which a waiting caller leaves the queue.'),
    otherwise: Destination.nullable()
      .default(null)
      .describe('Target of callers nobody answered; null: an announcement and the end of the call.'),
    recording: Recording,
    music_class: ref('music_class').nullable().default(null),
    announcement: SoundRef.nullable().default(null).describe('Played once, before the caller waits.'),
    agent_announcement: SoundRef.nullable().default(null).describe('Played to the agent who answers.'),
    periodic_announcement: z
      .strictObject({ sound: SoundRef, every_seconds: Seconds(10, 3_600) })
      .nullable()
      .default(null),
    announce_position: z.boolean().default(false),
    announce_hold_time: z.boolean().default(false),
    announce_every_seconds: Seconds(0, 3_600).default(0).describe('Position and hold time; 0 for never.'),
    announce_to_first: z
      .boolean()
      .default(false)
      .describe('The first caller hears announcements too; agents ring only after them.'),
    service_level_seconds: Seconds(1, 3_600).default(20),
    thresholds: z
      .strictObject({
        waiting: z
          .strictObject({ warn: z.int().min(1).max(10_000), alarm: z.int().min(1).max(10_000) })
          .nullable()
          .default(null),
        longest_wait_seconds: z
          .strictObject({ warn: Seconds(1, 86_400), alarm: Seconds(1, 86_400) })
          .nullable()
          .default(null),
        service_level_percent: z
          .strictObject({ warn: z.int().min(0).max(100), alarm: z.int().min(0).max(100) })
          .nullable()
          .default(null),
      })
      .default({ waiting: null, longest_wait_seconds: null, service_level_percent: null })
      .describe('When a wallboard marks this queue.'),
    engine: Home.describe(
      'Engine at which its callers wait, that of all its members; null for that of the node that leads the site.',
    ),
  })
  .meta({ id: 'QueueConfig' });

export const RingGroupConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber,
    title: Title,
    strategy: z.enum(['all', 'in_order']).default('all'),
    members: z.array(ref('extension')).min(1).max(50).describe('Extensions.'),
    ring_seconds: Seconds(5, 300).default(20).describe('All at once, or one after the other.'),
    recording: Recording,
    otherwise: Destination.nullable().default(null),
  })
  .meta({ id: 'RingGroupConfig' });

export const MenuConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber.nullable().default(null),
    title: Title,
    greeting: SoundRef.nullable().default(null),
    choices: z
      .array(
        z.strictObject({ key: z.string().regex(/^[0-9*#]$/, 'must be one key of 0-9 * #'), to: Destination }),
      )
      .max(12)
      .default([]),
    dial_extensions: z.boolean().default(false).describe('A caller who knows an extension may dial it.'),
    timeout_seconds: Seconds(1, 30).default(5),
    attempts: z.int().min(1).max(10).default(3),
    otherwise: Destination.describe('After the last attempt.'),
  })
  .meta({ id: 'MenuConfig' });

const Day = z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']);
/** `9:00` is accepted and stored as `09:00`. */
const Clock = z
  .string()
  .overwrite((time) => (/^[0-9]:[0-5][0-9]$/.test(time) ? `0${time}` : time))
  .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$/, 'must be a time such as 08:30');
export const TimeConditionConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber.nullable().default(null),
    title: Title,
    hours: z
      .array(
        z
          .strictObject({ days: z.array(Day).min(1).max(7), from: Clock, to: Clock })
          .refine((h) => h.from !== h.to && h.from !== '24:00', {
            path: ['to'],
            message: 'must not be equal to from; a complete day is 00:00 to 24:00',
          }),
      )
      .max(50)
      .default([])
      .describe("Open hours in the site's zone; `to` is not included, one before `from` is of the next day."),
    holidays: z.array(ref('holidays')).max(20).default([]),
    override: z.enum(['none', 'open', 'closed']).default('none').describe('Night switch.'),
    switched_by: z
      .array(ref('extension'))
      .max(200)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default([])
      .describe('Extensions that may switch it by a key or a feature code; it needs a `number` for that.'),
    when_open: Destination,
    when_closed: Destination,
    on_holiday: Destination.nullable().default(null).describe('Null for `when_closed`.'),
  })
  .meta({ id: 'TimeConditionConfig' });
export const HolidaysConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    days: z
      .array(
        z
          .strictObject({
            title: Title,
            year: z.int().min(2000).max(2100).nullable().default(null).describe('Null for every year.'),
            month: z.int().min(1).max(12),
            day: z.int().min(1).max(31),
          })
          .refine((d) => d.day <= new Date(Date.UTC(d.year ?? 2000, d.month, 0)).getUTCDate(), {
            path: ['day'],
            message: 'the month has no such day',
          }),
      )
      .max(400)
      .default([]),
  })
  .meta({ id: 'HolidaysConfig' });

export const ConferenceConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber,
    title: Title,
    pin: secret(Pin.nullable()),
    leader_pin: secret(Pin.nullable()),
    wait_for_leader: z.boolean().default(false),
    max_members: z.int().min(0).max(500).default(50).describe('0 for any number.'),
    music_class: ref('music_class').nullable().default(null).describe('Heard alone.'),
    announce: z.boolean().default(true).describe('Plays a tone when a party joins or leaves.'),
  })
  .meta({ id: 'ConferenceConfig' });
export const MailboxConfig = z
  .strictObject({
    number: OwnNumber,
    title: Title,
    pin: secret(Pin).describe('Generated by default.'),
  })
  .meta({ id: 'MailboxConfig' });
export const ParkingLotConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    number: OwnNumber,
    first_slot: z.int().min(10).max(999_999_999),
    last_slot: z.int().min(10).max(999_999_999),
    timeout_seconds: Seconds(10, 86_400).default(120),
    music_class: ref('music_class').nullable().default(null),
  })
  .refine((p) => p.last_slot >= p.first_slot && p.last_slot - p.first_slot <= 999, {
    path: ['last_slot'],
    message: 'not 1 to 1000 slots, first to last',
  })
  .meta({ id: 'ParkingLotConfig' });
export const MusicClassConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    prompts: z.array(ref('prompt')).min(1).max(100),
    order: z.enum(['random', 'as_listed']).default('random'),
  })
  .meta({ id: 'MusicClassConfig' });
export const PromptConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    sound: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be the id of a sound')
      .describe('Of an upload to `/api/v1/config/sounds`.'),
  })
  .meta({ id: 'PromptConfig' });

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
        'Host name or address; requests from it belong to this trunk. The address of this machine is rejected in any spelling; a name is not resolved.',
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
      .array(z.strictObject({ trunk: ref('trunk'), ...Change }))
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
export const FeatureCodeConfig = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-z_]{1,30}\.[a-z_]{1,30}$/, 'must be the id of a feature code, such as agent.login')
      .describe('As docs/feature-codes.md lists them.'),
    code: z.string().regex(/^[*#][0-9*#]{1,6}$/, 'must be * or # and 1 to 6 digits'),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'FeatureCodeConfig' });
export const PauseReasonConfig = z
  .strictObject({
    id: Slug,
    name: Title,
    position: z.int().min(0).max(1_000).default(0),
    paid: z.boolean().default(true),
    longest_seconds: Seconds(1, 86_400).nullable().default(null),
    supervisor_only: z.boolean().default(false),
  })
  .meta({ id: 'PauseReasonConfig' });
export const ServiceConfig = z
  .strictObject({
    number: z.string().regex(/^(?:[1-9][0-9]{1,9}|[*#][0-9*#]{1,6})$/, 'must be a number or a code'),
    kind: z.enum(['echo', 'music_on_hold', 'voicemail']),
    title: Title,
  })
  .meta({ id: 'ServiceConfig' });
export const SettingsConfig = z
  .strictObject({
    name: z.literal('site').default('site'),
    recording_announcement: SoundRef.nullable()
      .default(null)
      .describe('Announcement for both sides before recording by rule.'),
    language: Language.default('en').describe(
      'Of prompts, where neither the route, the trunk nor the person has another one.',
    ),
    customer_languages: z
      .array(Language)
      .max(20)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default([])
      .describe('Further languages of customers of the phonebook, so that the engine has their prompts.'),
    sign_out_hours: z
      .int()
      .min(1)
      .max(168)
      .nullable()
      .default(12)
      .describe('Hours after which a person is signed out of a shared phone; null for never.'),
  })
  .meta({ id: 'SettingsConfig' });

const Address = z.union([z.ipv4(), z.ipv6()]);
/** An address that other machines can send to: not unspecified, loopback or multicast. */
const Reachable = Address.refine(
  (ip) => !/^(?:0|127|2[2-5][0-9])\.|^::1?$|^ff/i.test(ip),
  'must be an address that others can reach',
);
const Net = z.union([z.cidrv4(), z.cidrv6()]);
const Port = z.int().min(1).max(65535);
const MediaPorts = z
  .strictObject({ from: z.int().min(1024).max(65532), to: z.int().min(1027).max(65535) })
  .refine((r) => r.to - r.from >= 3, { path: ['to'], message: 'must have at least four ports' });
export const NetworkConfig = z
  .strictObject({
    name: z.literal('site').default('site'),
    external_address: Reachable.nullable()
      .default(null)
      .describe(
        'Address of this machine as phones and trunks outside `local_nets` see it; null without NAT.',
      ),
    external_address_source: z
      .enum(['fixed', 'stun', 'interface'])
      .default('fixed')
      .describe(
        'Origin of the external address: `fixed` is `external_address`; `stun` is the answer of `stun_server`, and `interface` the address of `external_interface`, both followed while the service runs. Until there is one, `external_address` counts.',
      ),
    stun_server: z
      .union([
        z.ipv4(),
        z.ipv6(),
        z.hostname().refine((name) => !name.endsWith('.'), 'must not end in a dot'),
      ])
      .nullable()
      .default(null)
      .describe('STUN server outside that is asked for the address of this machine (UDP).'),
    stun_port: Port.default(3478),
    external_interface: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$/, 'must be the name of a network interface, such as ppp0')
      .nullable()
      .default(null)
      .describe('Network interface of this machine that has the external address.'),
    external_media_address: Reachable.nullable()
      .default(null)
      .describe('The same for media; null for `external_address`.'),
    local_nets: z
      .array(Net)
      .max(100)
      .default([])
      .describe('Networks such as 192.168.0.0/16 that reach this machine by its own address.'),
    rtp_ports: MediaPorts.nullable()
      .default(null)
      .describe('UDP ports for media; null for `OFFHOOK_RTP_PORTS`.'),
    ice_hosts: z
      .array(
        z.strictObject({
          local: Reachable,
          external: Reachable,
          keep_local: z
            .boolean()
            .default(true)
            .describe('Browsers are offered the local address too, to which TURN relays.'),
        }),
      )
      .max(20)
      .default([])
      .describe('Own addresses that browsers and mobile apps outside reach by another one (1:1 NAT).'),
    tls_port: Port.nullable()
      .default(null)
      .describe('Port of SIP over TLS at the address of `OFFHOOK_SIP_LISTEN`; null for none.'),
    ldap_port: Port.nullable()
      .default(null)
      .describe(
        'Port at which desk phones read the phonebook by LDAP and LDAPS, at the address of `OFFHOOK_SIP_LISTEN`, usually 389 or 1389; null for none.',
      ),
    turn_port: Port.nullable()
      .default(null)
      .describe(
        'Port of the TURN server for browsers and mobile apps, UDP and TCP at the address of `OFFHOOK_SIP_LISTEN`, usually 3478; null for none.',
      ),
    turn_tls_port: Port.nullable()
      .default(null)
      .describe('Port of TURN over TLS with the certificate of SIP; null for none.'),
    turn_relay_ports: MediaPorts.nullable()
      .default(null)
      .describe('UDP ports from which relayed media reaches the engine; null for 49152 to 65535.'),
    turn_nets: z
      .array(Net)
      .max(100)
      .default([])
      .describe(
        'Networks that media may be relayed to beside the engine itself, which is all that phones need.',
      ),
    locations: z
      .array(z.strictObject({ net: Net, location: Location }))
      .max(500)
      .default([])
      .describe(
        'Where the phones of a network are, for emergency calls; the smallest network with the address of the phone counts, before the location of the extension.',
      ),
    emergency_contacts: z
      .array(ref('extension'))
      .max(50)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default([])
      .describe(
        'People whose pages show an emergency call at once, with its location, beside those of supervisors and administrators.',
      ),
  })
  .meta({ id: 'NetworkConfig' });

/** Longest list of keys that a phone layout can have. */
const MOST_KEYS = 60;
export const PhoneLayoutConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    keys: z
      .array(
        z.strictObject({
          does: z
            .enum(['extension', 'speed_dial', 'parking_slot', 'queue', 'night_switch'])
            .describe(
              '`extension` shows a person and calls or picks up; `parking_slot` shows a parked call and takes it; `queue` shows waiting callers; `night_switch` switches a time condition and shows that it is switched.',
            ),
          value: z
            .string()
            .regex(/^[+*#0-9a-z_-]{1,40}$/, 'must be 1 to 40 of 0-9 + * # a-z _ -')
            .describe('The extension, number, slot, or name of the queue or time condition.'),
          label: DisplayName.nullable().default(null).describe('Null for the name of what it shows.'),
        }),
      )
      .max(MOST_KEYS)
      .default([])
      .describe('Keys behind those of the lines, in this order.'),
  })
  .meta({ id: 'PhoneLayoutConfig' });
export const PHONE_LANGUAGES = ['en', 'de', 'tr', 'es', 'fr', 'it', 'nl', 'pl', 'pt', 'ru'] as const;
export const PhoneConfig = z
  .strictObject({
    name: Slug,
    title: Title.nullable().default(null),
    vendor: Slug.describe('Folder of its templates, such as `yealink`.'),
    mac: z
      .string()
      .overwrite((mac) => mac.replaceAll(/[:.-]/g, '').toLowerCase())
      .regex(/^[0-9a-f]{12}$/, 'must be 12 hexadecimal digits')
      .nullable()
      .default(null)
      .describe('Null: the first phone that fetches with its token.'),
    extensions: z
      .array(ref('extension'))
      .max(6)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default([])
      .describe('Its lines, in this order; none where it is shared.'),
    shared: z
      .boolean()
      .default(false)
      .describe('People sign in at it by a feature code with their extension and the PIN of their mailbox.'),
    location: Location.nullable()
      .default(null)
      .describe('Where a shared phone is, for emergency calls; a network with its address counts before.'),
    layout: ref('phone_layout').nullable().default(null),
    language: z.enum(PHONE_LANGUAGES).default('en'),
    transport: z
      .enum(['udp', 'tcp', 'tls'])
      .default('udp')
      .describe('Of SIP; `tls` needs `tls_port` of the network, and encrypts media as its extensions say.'),
    token: secret(z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be 43 of A-Z a-z 0-9 _ -')).describe(
      'Part of the address at which it fetches its configuration. Generated by default.',
    ),
    sip_password: secret(
      z.string().regex(/^[A-Za-z0-9_-]{22,128}$/, 'must be 22 to 128 of A-Z a-z 0-9 _ -'),
    ).describe('What a shared phone registers with. Generated by default.'),
  })
  .meta({ id: 'PhoneConfig' });

/** An engine beside that of the leading node. */
export const EngineConfig = z
  .strictObject({
    node: Node.describe('`OFFHOOK_NODE` of its machine.'),
    title: Title,
    host: Address.describe(
      'Address of its SIP, as the other engines of the site see it; requests from it belong to this engine.',
    ),
    port: Port.default(5060),
  })
  .meta({ id: 'EngineConfig' });

/** Every kind of object: its schema and its key field. */
export const CONFIG_KINDS = {
  extension: { schema: ExtensionConfig, key: 'extension', path: 'extensions' },
  queue: { schema: QueueConfig, key: 'name', path: 'queues' },
  ring_group: { schema: RingGroupConfig, key: 'name', path: 'ring-groups' },
  menu: { schema: MenuConfig, key: 'name', path: 'menus' },
  time_condition: { schema: TimeConditionConfig, key: 'name', path: 'time-conditions' },
  holidays: { schema: HolidaysConfig, key: 'name', path: 'holidays' },
  conference: { schema: ConferenceConfig, key: 'name', path: 'conferences' },
  mailbox: { schema: MailboxConfig, key: 'number', path: 'mailboxes' },
  parking_lot: { schema: ParkingLotConfig, key: 'name', path: 'parking-lots' },
  music_class: { schema: MusicClassConfig, key: 'name', path: 'music-classes' },
  prompt: { schema: PromptConfig, key: 'name', path: 'prompts' },
  trunk: { schema: TrunkConfig, key: 'name', path: 'trunks' },
  inbound_route: { schema: InboundRouteConfig, key: 'name', path: 'inbound-routes' },
  outbound_route: { schema: OutboundRouteConfig, key: 'name', path: 'outbound-routes' },
  call_limit: { schema: CallLimitConfig, key: 'name', path: 'call-limits' },
  feature_code: { schema: FeatureCodeConfig, key: 'id', path: 'feature-codes' },
  pause_reason: { schema: PauseReasonConfig, key: 'id', path: 'pause-reasons' },
  service: { schema: ServiceConfig, key: 'number', path: 'services' },
  phone: { schema: PhoneConfig, key: 'name', path: 'phones' },
  phone_layout: { schema: PhoneLayoutConfig, key: 'name', path: 'phone-layouts' },
  engine: { schema: EngineConfig, key: 'node', path: 'engines' },
  settings: { schema: SettingsConfig, key: 'name', path: 'settings' },
  network: { schema: NetworkConfig, key: 'name', path: 'network' },
} as const;
export type ConfigKind = keyof typeof CONFIG_KINDS;
/** A stored object of one kind, including its secrets. */
export type ConfigBody<K extends ConfigKind> = z.output<(typeof CONFIG_KINDS)[K]['schema']>;
/** Kinds with at most one object in a site, with the key `site`. */
export const SINGLE_KINDS: ReadonlySet<ConfigKind> = new Set<ConfigKind>(['settings', 'network']);
export const KINDS = Object.keys(CONFIG_KINDS) as readonly ConfigKind[];
/** Fields that are accepted and never returned. */
export const CONFIG_SECRETS: Readonly<Record<ConfigKind, readonly string[]>> = Object.fromEntries(
  KINDS.map((kind) => [
    kind,
    Object.entries(CONFIG_KINDS[kind].schema.shape)
      .filter(([, field]) => (field as z.ZodType).meta()?.['writeOnly'] === true)
      .map(([name]) => name),
  ]),
) as unknown as Record<ConfigKind, readonly string[]>;
