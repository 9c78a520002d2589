import { z } from 'zod';
import { Outside } from './config-fields.ts';

/** Limit of rules per site. */
export const MAX_CALLER_RULES = 1_000;

export const RuleAction = z.enum(['block', 'allow']);
export type RuleAction = z.infer<typeof RuleAction>;
const Note = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not contain control characters');

/** Body of `POST /api/v1/caller-rules`. */
export const NewCallerRule = z
  .strictObject({
    action: RuleAction.default('block').describe(
      'Where several rules match a caller, `allow` wins: also over a blocked customer.',
    ),
    match: z
      .enum(['number', 'prefix', 'anonymous'])
      .default('number')
      .describe('`anonymous`: callers without a number, or who hide it; they can only be blocked.'),
    number: Outside.nullable()
      .default(null)
      .describe(
        'Number in any common spelling. A prefix begins with +, 00 or the national prefix of the site’s country. Null for `anonymous`.',
      ),
    note: Note.nullable().default(null),
  })
  .meta({ id: 'NewCallerRule' });
export type NewCallerRule = z.output<typeof NewCallerRule>;

/** Blocks or allows calls that arrive over a trunk. */
export const CallerRule = z
  .object({
    id: z.int(),
    action: RuleAction,
    match: NewCallerRule.shape.match.unwrap(),
    number: z.string().nullable().describe('In E.164, or its digits where it has no such form.'),
    note: z.string().nullable(),
    created_by: z.string().describe('Person or key; the extension, where a feature code created it.'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'CallerRule' });
export type CallerRule = z.infer<typeof CallerRule>;

export const CallerRuleReply = z.object({ success: z.literal(true), rule: CallerRule });
export const CallerRules = z.object({
  success: z.literal(true),
  enforced: z
    .boolean()
    .describe('False where the engine does not have the newest rules yet: it is away or slow.'),
  rules: z.array(CallerRule).describe(`Newest first; at most ${MAX_CALLER_RULES}.`),
});
export const CallerRuleId = z.strictObject({
  id: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'must be the id of a rule')
    .transform(Number),
});
