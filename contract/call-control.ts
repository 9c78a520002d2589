import { z } from 'zod';
import { LegDisposition } from './conversations.ts';
import { numberOf } from './numbers.ts';

/** The id of a call or of a leg, as events and lists show it. */
export const CallRef = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,32}:[A-Za-z0-9_.@-]{1,160}$/, 'not the id of a call or a leg');
export const CallPath = z.strictObject({ id: CallRef });
/** What can be dialled: digits and a plus in front, with or without spaces, hyphens and brackets. Whether it may be is another question. */
export const ToNumber = numberOf(/^\+?[0-9*#]{1,32}$/, 'not a number: digits, and a + in front');
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

const OwnDevice = {
  from: Extension.optional().describe('Whose devices ring: oneself, where it is not given.'),
  device: Device.optional(),
  ring_seconds: z.int().min(5).max(60).optional(),
};
const LegId = CallRef.optional();

export const TransferRequest = z
  .strictObject({
    kind: z.enum(['blind', 'attended']),
    to: ToNumber,
    leg_id: LegId.describe('Whose side passes the call on; the own one where it is not given.'),
  })
  .meta({ id: 'TransferRequest' });
export type TransferRequest = z.infer<typeof TransferRequest>;
/** An attended transfer, from the consult to its end. */
export const CallTransfer = z
  .object({
    id: z.string().describe('Id of the operation that began it.'),
    call_id: z.string(),
    leg_id: z.string().describe('The side that passes the call on.'),
    extension: z.string().nullable(),
    to: z.string(),
    state: z
      .enum(['calling', 'consulting', 'swapped', 'completed', 'canceled'])
      .describe(
        '`calling`: the new side rings, the other one is on hold; `consulting`: both speak; `swapped`: the new side is on hold; `canceled`: the call is as it was before, or over.',
      ),
  })
  .meta({ id: 'CallTransfer' });
export type CallTransfer = z.infer<typeof CallTransfer>;
export const TransferReply = z.object({ success: z.literal(true), transfer: CallTransfer });

export const DigitsRequest = z.strictObject({
  digits: z.string().regex(/^[0-9*#]{1,32}$/, 'not digits'),
  leg_id: LegId,
});
export const RecordRequest = z.strictObject({ on: z.boolean(), leg_id: LegId });
export const PickupRequest = z.strictObject({
  ...OwnDevice,
  leg_id: LegId.describe('The leg that rings; any of the call where it is not given.'),
});
export type PickupRequest = z.infer<typeof PickupRequest>;
/** Of whatever rings an extension, where the call is not known. */
export const ExtensionPath = z.strictObject({ extension: Extension });
export const OwnDeviceChoice = z.strictObject(OwnDevice);
export type OwnDeviceChoice = z.infer<typeof OwnDeviceChoice>;
export const RetrieveRequest = z.strictObject({
  ...OwnDevice,
  leg_id: LegId.describe('The leg that put the other side on hold; for a parked call the own devices ring.'),
});
export type RetrieveRequest = z.infer<typeof RetrieveRequest>;
export const ListenRequest = z.strictObject({
  ...OwnDevice,
  leg_id: LegId.describe(
    'Whom to listen to or speak to; the agent in the call, or anybody of the site, where it is not given.',
  ),
});
export type ListenRequest = z.infer<typeof ListenRequest>;

/** Which leg: the own one, where it is not given. */
export const LegChoice = z.strictObject({
  leg_id: LegId.describe('The leg this is about; the own one where it is not given.'),
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
    own_call_id: z
      .string()
      .nullable()
      .describe('The call it made for the own device, where it is another one.'),
  })
  .meta({ id: 'CallOperation' });
export type CallOperation = z.infer<typeof CallOperation>;
export const OperationReply = z.object({ success: z.literal(true), operation: CallOperation });
export type OperationReply = z.infer<typeof OperationReply>;
export const OriginateReply = OperationReply.extend({
  customer_disposition: LegDisposition.nullable().describe(
    'How the customer took the call so far, with the meaning it has in `call.ended`. Null in nearly every reply, because the number is called once the own device was answered: `GET /api/v1/calls/{id}`, `call.ended` and the conversation go on from here.',
  ),
});
export const ParkReply = OperationReply.extend({
  slot: z.string().describe('Where anybody can take the call.'),
});
export const TransferStarted = OperationReply.extend({
  transfer: CallTransfer.nullable().describe('Of an attended transfer.'),
  slot: z
    .string()
    .nullable()
    .describe('Where the other side is parked, after a transfer to a parking number.'),
});
