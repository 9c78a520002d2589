/** Fields of several objects of the configuration: names, numbers, sounds, references and targets of calls. */
import { z } from 'zod';
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
export const Location = z
  .string()
  .trim()
  .min(1)
  .max(160)
  .regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not contain control characters');
export const DisplayName = z
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
export const Pin = z.string().regex(/^[0-9]{4,12}$/, 'must be 4 to 12 digits');
export const secret = <T extends z.ZodType>(schema: T) => schema.optional().meta({ writeOnly: true });

/** Name of a node, as `OFFHOOK_NODE` of its machine. */
export const Node = z
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
export const ref = (kind: NamedKind): z.ZodString => KEYS[kind].clone().register(REFERENCES, { kind });

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
export const NumberChange = {
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
      .strictObject({ kind: z.literal('trunk'), key: Slug, ...NumberChange })
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
export const Srtp = z.enum(['off', 'offered', 'required']).default('off');
/** Overrides the media address of the object `network`. */
export const MediaAddress = z
  .union([z.ipv4(), z.ipv6()])
  .nullable()
  .default(null)
  .describe(
    'Address to which the other side is to send its media, instead of that of the network; media is bound to it where this machine has it. Null: that of the network.',
  );
export const Recording = z.enum(['never', 'always']).default('never');
export const Home = ref('engine').nullable().default(null);
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

export const Seconds = (min: number, max: number) => z.int().min(min).max(max);
export const Port = z.int().min(1).max(65535);
