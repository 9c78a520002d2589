import { z } from 'zod';
import { Slug } from './config-fields.ts';

const To = z.enum(['open', 'closed']).nullable().describe('Null where it follows its hours.');
/** A time condition that phones can switch. */
export const NightSwitch = z
  .object({
    name: z.string().describe('Of the time condition.'),
    title: z.string(),
    number: z.string().describe('Dialled after the feature code.'),
    to: To,
  })
  .meta({ id: 'NightSwitch' });
export type NightSwitch = z.infer<typeof NightSwitch>;
export const NightSwitchesReply = z.object({
  success: z.literal(true),
  stale: z.boolean().describe('True while the engine is away.'),
  night_switches: z.array(NightSwitch).describe('In order of name.'),
});
export const NightSwitchPath = z.strictObject({ name: Slug });
export const SetNightSwitch = z.strictObject({ to: To });
export const NightSwitchReply = z.object({ success: z.literal(true), night_switch: NightSwitch });
/** Data of `night_switch.changed`. */
export const NightSwitchChange = z.object({
  name: z.string().describe('Of the time condition.'),
  to: To,
  by: z
    .string()
    .nullable()
    .describe('Extension of the phone that switched it; null where it was no phone, or is not known.'),
});
export type NightSwitchChange = z.infer<typeof NightSwitchChange>;
