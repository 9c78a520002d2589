import { z } from 'zod';

/** Which of the own devices ring. */
export const PHONE_MODES = ['all', 'desk', 'softphone', 'mobile'] as const;
export const PhoneMode = z.enum(PHONE_MODES);
export type PhoneMode = z.infer<typeof PhoneMode>;

const ForwardNumber = z
  .string()
  .regex(/^(\+?[0-9]{1,32})?$/, 'not a number: digits, a + in front, or nothing for off');
const Seconds = z.int().min(5).max(120);
const fields = {
  dnd_enabled: z.boolean().describe('The own devices do not ring; callers find the person busy.'),
  call_forward_number: ForwardNumber.describe(
    'Where every call goes, also with `dnd_enabled`; empty for off.',
  ),
  cf_busy_number: ForwardNumber.describe(
    'Where a call goes that finds the person busy or not to be disturbed, or is refused; empty for off.',
  ),
  cf_noanswer_number: ForwardNumber.describe(
    'Where a call goes that nobody answers, or that finds no device; empty for off.',
  ),
  cf_noanswer_timeout: Seconds.describe('Seconds the devices ring before that.'),
  allowed_phone_mode: PhoneMode.describe('Which of the own devices ring.'),
};

/** What an extension has set for its own calls. */
export const Features = z.object({ extension: z.string(), ...fields }).meta({ id: 'Features' });
export type Features = z.infer<typeof Features>;
export const FeaturesReply = z.object({
  success: z.literal(true),
  message: z.string().optional().describe('One sentence for people, after a change.'),
  features: Features,
});
export type FeaturesReply = z.infer<typeof FeaturesReply>;
/** Body of a change; what is left out stays as it is. */
export const FeaturesChange = z.strictObject(fields).partial();
export type FeaturesChange = z.infer<typeof FeaturesChange>;
/** Body of features.php, JSON or form; a form has texts: `true`, `false`, `1`, `0`, and digits. */
export const FeaturesRequest = z
  .object({
    ...fields,
    dnd_enabled: z.union([z.boolean(), z.enum(['true', 'false', '1', '0'])]),
    cf_noanswer_timeout: z.union([
      Seconds,
      z
        .string()
        .regex(/^[1-9][0-9]{0,2}$/, 'not a whole number')
        .transform(Number)
        .pipe(Seconds),
    ]),
  })
  .partial();
export type FeaturesRequest = z.infer<typeof FeaturesRequest>;
export const FeaturesPath = z.strictObject({
  extension: z.string().regex(/^[0-9]{1,20}$/, 'not an extension'),
});
