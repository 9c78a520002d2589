import { z } from 'zod';
import { numberOf } from './numbers.ts';
import { wholeNumber } from './paging.ts';

/** A person's own devices that can ring. */
export const PHONE_KINDS = ['desk', 'softphone', 'mobile'] as const;
export const PhoneKind = z.enum(PHONE_KINDS);
export type PhoneKind = z.infer<typeof PhoneKind>;
/** Own devices that ring: all, one kind, or two kinds. */
export const PHONE_MODES = [
  'all',
  ...PHONE_KINDS,
  'desk,softphone',
  'desk,mobile',
  'softphone,mobile',
] as const;
export const PhoneMode = z.enum(PHONE_MODES);
export type PhoneMode = z.infer<typeof PhoneMode>;

/** Names of the kinds in other exchanges and their apps; `video` is none of them, because it is a property of a call. */
const KINDS_OF: Readonly<Record<string, readonly PhoneKind[]>> = {
  all: PHONE_KINDS,
  both: PHONE_KINDS,
  webrtc_only: ['softphone', 'mobile'],
  sip_only: ['desk'],
  desk: ['desk'],
  sip: ['desk'],
  softphone: ['softphone'],
  web: ['softphone'],
  webrtc: ['softphone'],
  mobile: ['mobile'],
  mobil: ['mobile'],
  video: [],
};
const modeOf = (kinds: ReadonlySet<PhoneKind>): PhoneMode =>
  kinds.size === PHONE_KINDS.length
    ? 'all'
    : (PHONE_KINDS.filter((kind) => kinds.has(kind)).join(',') as PhoneMode);
/** A word, or several separated by commas or in a list; an empty text means all. */
const WrittenMode = z.union([z.string(), z.array(z.string().max(20)).max(10)]).transform((written, ctx) => {
  const words = typeof written === 'string' ? written.split(',') : written;
  const kinds = new Set<PhoneKind>();
  for (const word of words.map((one) => one.trim())) {
    const named = word === '' && words.length === 1 ? PHONE_KINDS : KINDS_OF[word];
    if (named === undefined) {
      ctx.addIssue({ code: 'invalid_value', values: Object.keys(KINDS_OF), input: word });
      return z.NEVER;
    }
    for (const kind of named) kinds.add(kind);
  }
  if (kinds.size > 0) return modeOf(kinds);
  ctx.addIssue('must name a device that rings; do not disturb refuses all calls');
  return z.NEVER;
});

const ForwardNumber = numberOf(
  /^(\+?[0-9]{1,32})?$/,
  'not a number: digits, a + in front, or nothing for off',
);
const Seconds = z.int().min(5).max(120);
const fields = {
  dnd_enabled: z.boolean().describe('The own devices do not ring; callers find the person busy.'),
  call_forward_number: ForwardNumber.describe(
    'Target of every call, also with `dnd_enabled`; empty for off.',
  ),
  cf_busy_number: ForwardNumber.describe(
    'Target of calls while busy or in do not disturb, and of rejected calls; empty for off.',
  ),
  cf_noanswer_number: ForwardNumber.describe(
    'Target of calls that are not answered, or reach no device; empty for off.',
  ),
  cf_noanswer_timeout: Seconds.describe('Seconds the devices ring before that.'),
};
const MODE = 'Which of the own devices ring.';
const RINGING = {
  allowed_phone_mode: WrittenMode.describe(
    `${MODE} Also taken: \`both\`, \`webrtc_only\`, \`sip_only\`, \`web\`, \`mobil\`, \`sip\`, and lists of them.`,
  ),
  phone_modes: WrittenMode.describe('The same; takes precedence over the other.'),
};
/** Call settings of an extension. */
export const Features = z
  .object({
    extension: z.string(),
    ...fields,
    allowed_phone_mode: PhoneMode.describe(MODE),
  })
  .meta({ id: 'Features' });
export type Features = z.infer<typeof Features>;
export const FeaturesReply = z.object({
  success: z.literal(true),
  message: z.string().optional().describe('One sentence for people, after a change.'),
  features: Features,
});
export type FeaturesReply = z.infer<typeof FeaturesReply>;
/** Body of a change; absent fields stay unchanged. */
export const FeaturesChange = z.strictObject({ ...fields, ...RINGING }).partial();
export type FeaturesChange = z.infer<typeof FeaturesChange>;
/** Body of features.php, JSON or form; a form has texts: `true`, `false`, `1`, `0`, and digits. */
export const FeaturesRequest = z
  .object({
    ...fields,
    ...RINGING,
    dnd_enabled: z.union([z.boolean(), z.enum(['true', 'false', '1', '0'])]),
    cf_noanswer_timeout: z.union([Seconds, wholeNumber(5, 120, /^[1-9][0-9]{0,2}$/)]),
  })
  .partial();
export type FeaturesRequest = z.infer<typeof FeaturesRequest>;
export const FeaturesPath = z.strictObject({
  extension: z.string().regex(/^[0-9]{1,20}$/, 'must be an extension'),
});
