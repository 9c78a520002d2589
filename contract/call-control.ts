import { z } from 'zod';
import { LegDisposition } from './conversations.ts';
import { numberOf } from './numbers.ts';

/** The id of a call or of a leg, as events and lists show it. */
export const CallRef = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,32}:[A-Za-z0-9_.@-]{1,160}$/, 'must be the id of a call or a leg');
export const CallPath = z.strictObject({ id: CallRef });
/**
 * A dialable number: digits with an optional plus in front; spaces, hyphens and brackets are ignored. Call permissions are
 * checked separately.
 */
export const ToNumber = numberOf(/^\+?[0-9*#]{1,32}$/, 'not a number: digits, and a + in front');
const Extension = z.string().regex(/^[0-9]{1,20}$/, 'must be an extension');

/** Devices of an extension, by place of use. */
export const DEVICES = ['all', 'desk', 'web', 'mobile'] as const;
export const Device = z.enum(DEVICES);
export type Device = z.infer<typeof Device>;

export const NewCall = z
  .strictObject({
    to: ToNumber.describe('Whom to call.'),
    from: Extension.optional().describe(
      'Extension whose devices ring first; the caller’s own by default. Required for API keys.',
    ),
    device: Device.optional().describe('Own device to ring; all by default.'),
    caller_id: Extension.optional().describe(
      'The number the called side is shown: the own extension, or one the site allows.',
    ),
    ring_seconds: z.int().min(5).max(60).optional().describe('How long the own devices ring; 30 by default.'),
    time_limit_seconds: z
      .int()
      .min(10)
      .max(86_400)
      .optional()
      .describe('Limit of the call from the answer of the own device.'),
  })
  .meta({ id: 'NewCall' });
export type NewCall = z.infer<typeof NewCall>;

const OwnDevice = {
  from: Extension.optional().describe('Extension whose devices ring; the caller’s own by default.'),
  device: Device.optional(),
  ring_seconds: z.int().min(5).max(60).optional(),
};
const LegId = CallRef.optional();

export const TransferRequest = z
  .strictObject({
    kind: z.enum(['blind', 'attended']),
    to: ToNumber,
    leg_id: LegId.describe('Extension that transfers the call; the caller’s own by default.'),
  })
  .meta({ id: 'TransferRequest' });
export type TransferRequest = z.infer<typeof TransferRequest>;
/** An attended transfer, from consultation to its end. */
export const CallTransfer = z
  .object({
    id: z.string().describe('Id of the operation that started it.'),
    call_id: z.string(),
    leg_id: z.string().describe('Leg that transfers the call.'),
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
  digits: z.string().regex(/^[0-9*#]{1,32}$/, 'must be 1 to 32 of 0-9 * #'),
  leg_id: LegId,
});
export const RecordRequest = z.strictObject({ on: z.boolean(), leg_id: LegId });
export const PickupRequest = z.strictObject({
  ...OwnDevice,
  leg_id: LegId.describe('Ringing leg; any of the call by default.'),
});
export type PickupRequest = z.infer<typeof PickupRequest>;
/** For a ring at an extension without a known call id. */
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
    'Leg to listen to or speak to; by default the agent in the call, else any leg of the site.',
  ),
});
export type ListenRequest = z.infer<typeof ListenRequest>;

/** The leg; by default the caller's own. */
export const LegChoice = z.strictObject({
  leg_id: LegId.describe('Leg of the command; the caller’s own by default.'),
});
export type LegChoice = z.infer<typeof LegChoice>;

/** A command sent to the engine. `operation.completed` reports its result; the events it causes carry its id. */
export const CallOperation = z
  .object({
    id: z.string(),
    action: z.string(),
    state: z
      .enum(['succeeded', 'pending'])
      .describe('`pending`: the engine has started it; `operation.completed` reports the result.'),
    call_id: z.string().nullable(),
    leg_id: z.string().nullable(),
    own_call_id: z.string().nullable().describe('Call placed for the own device, where it is another one.'),
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
  slot: z.string().describe('Slot on which anybody can take the call.'),
});
export const TransferStarted = OperationReply.extend({
  transfer: CallTransfer.nullable().describe('Of an attended transfer.'),
  slot: z.string().nullable().describe('Slot of the other side, after a transfer to a parking number.'),
});
