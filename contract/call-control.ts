import { z } from 'zod';

/** The id of a call or of a leg, as events and lists show it. */
export const CallRef = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,32}:[A-Za-z0-9_.@-]{1,160}$/, 'not the id of a call or a leg');
export const CallPath = z.strictObject({ id: CallRef });
/** What can be dialled: digits, and a plus in front. Whether it may be is another question. */
export const ToNumber = z.string().regex(/^\+?[0-9*#]{1,32}$/, 'not a number: digits, and a + in front');
const Extension = z.string().regex(/^[0-9]{1,20}$/, 'not an extension');

/** The devices of an extension by the place they stand at. */
export const DEVICES = ['all', 'desk', 'web', 'mobile'] as const;
export const Device = z.enum(DEVICES);
export type Device = z.infer<typeof Device>;

export const NewCall = z
  .strictObject({
    to: ToNumber.describe('Whom to call.'),
    from: Extension.optional().describe(
      'Whose devices ring first: oneself, where it is not given. An API key must say.',
    ),
    device: Device.optional().describe('Which of the own devices rings; all where it is not given.'),
    caller_id: Extension.optional().describe(
      'The number the called side is shown: the own extension, or one the site allows.',
    ),
    ring_seconds: z.int().min(5).max(60).optional().describe('How long the own devices ring; 30.'),
    time_limit_seconds: z
      .int()
      .min(10)
      .max(86_400)
      .optional()
      .describe('The call ends so long after the own device answered.'),
  })
  .meta({ id: 'NewCall' });
export type NewCall = z.infer<typeof NewCall>;

/** Which leg: the own one, where it is not given. */
export const LegChoice = z.strictObject({
  leg_id: CallRef.optional().describe('The leg this is about; the own one where it is not given.'),
});
export type LegChoice = z.infer<typeof LegChoice>;

/** One thing that was asked of the engine. Its outcome is `operation.completed`; what it led to carries its id. */
export const CallOperation = z
  .object({
    id: z.string(),
    action: z.string(),
    state: z
      .enum(['succeeded', 'pending'])
      .describe('`pending`: the engine has begun; `operation.completed` tells how it ended.'),
    call_id: z.string().nullable(),
    leg_id: z.string().nullable(),
  })
  .meta({ id: 'CallOperation' });
export type CallOperation = z.infer<typeof CallOperation>;
export const OperationReply = z.object({ success: z.literal(true), operation: CallOperation });
export type OperationReply = z.infer<typeof OperationReply>;
