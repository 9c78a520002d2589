import {
  CallPath,
  DigitsRequest,
  ExtensionPath,
  LegChoice,
  ListenRequest,
  NewCall,
  OperationReply,
  OwnDeviceChoice,
  ParkReply,
  PickupRequest,
  RecordRequest,
  RetrieveRequest,
  TransferRequest,
  TransferStarted,
} from '@offhook/contract/call-control.ts';
import { CallSettings, CallSettingsReply } from '@offhook/contract/call-settings.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { NoFields } from '@offhook/contract/session.ts';
import { z } from 'zod';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { CallControlFeature } from './feature.ts';

/** What any operation on a call can answer. */
const ERRORS: readonly ErrorCode[] = [
  'invalid_request',
  'forbidden',
  'not_found',
  'call_gone',
  'wrong_call_state',
  'too_many_requests',
  'engine_refused',
  'engine_unavailable',
  'store_unavailable',
  'overloaded',
  'engine_timeout',
];
const NUMBER_ERRORS: readonly ErrorCode[] = [...ERRORS, 'destination_not_allowed', 'no_route'];
const DEVICE_ERRORS: readonly ErrorCode[] = [...ERRORS, 'device_unreachable'];

const LISTENING = {
  listen: 'Listen to a call, unheard; for supervisors, audited',
  whisper: 'Speak to one side of a call, unheard by the other; for supervisors, audited',
  barge: 'Join a call as a third voice; for supervisors, audited',
} as const;
const RECORDING = {
  pause: 'Record silence for a while, so that something said now is not kept',
  resume: 'Record what is said and heard again',
} as const;
const ENDING = {
  swap: 'Change between the two sides of an attended transfer',
  complete: 'Connect the two sides of an attended transfer, and leave',
  cancel: 'Give an attended transfer up and go back to the first side',
} as const;

/** Call control, the same by REST and on the stream. */
export function callOperations(define: DefineOperation, control: CallControlFeature): AnyOperation[] {
  const common = { method: 'POST', level: 'user', scope: 'calls:control', tag: 'calls' } as const;
  const path = (end: string) => `/api/v1/calls/:id/${end}`;
  return [
    define({
      ...common,
      action: 'calls.originate',
      path: '/api/v1/calls',
      errors: [...NUMBER_ERRORS, 'device_unreachable'],
      summary: 'Place a call: the own devices ring first, then the number is called',
      params: z.strictObject({}),
      body: NewCall,
      reply: OperationReply,
      status: 202,
      run: async (actor, { body }) => ({ success: true, operation: await control.originate(actor, body) }),
    }),
    define({
      ...common,
      action: 'calls.hangup',
      path: path('hangup'),
      errors: ERRORS,
      summary: 'End the own part of a call; for supervisors without a part in it, the whole call',
      params: CallPath,
      body: LegChoice,
      reply: OperationReply,
      run: async (actor, { params, body }) => ({
        success: true,
        operation: await control.hangup(actor, params.id, body),
      }),
    }),
    define({
      ...common,
      action: 'calls.transfer',
      path: path('transfer'),
      errors: [...NUMBER_ERRORS, 'consult_no_answer'],
      summary: 'Pass a call on: blind, or attended by speaking first',
      params: CallPath,
      body: TransferRequest,
      reply: TransferStarted,
      run: async (actor, { params, body }) => ({
        success: true,
        ...(await control.transfer(actor, params.id, body)),
      }),
    }),
    ...(['swap', 'complete', 'cancel'] as const).map((how) =>
      define({
        ...common,
        action: `calls.transfer-${how}`,
        path: path(`transfer/${how}`),
        errors: ERRORS,
        summary: ENDING[how],
        params: CallPath,
        body: NoFields,
        reply: OperationReply,
        run: async (actor, { params }) => ({
          success: true,
          operation: await control.endTransfer(actor, params.id, how),
        }),
      }),
    ),
    define({
      ...common,
      action: 'calls.hold',
      path: path('hold'),
      errors: ERRORS,
      summary: 'Put the other side on hold; it hears music',
      params: CallPath,
      body: LegChoice,
      reply: OperationReply,
      run: async (actor, { params, body }) => ({
        success: true,
        operation: await control.hold(actor, params.id, body),
      }),
    }),
    define({
      ...common,
      action: 'calls.retrieve',
      path: path('retrieve'),
      errors: DEVICE_ERRORS,
      summary: 'Take the other side back from hold, or a parked call with the own devices',
      params: CallPath,
      body: RetrieveRequest,
      reply: OperationReply,
      run: async (actor, { params, body }) => ({
        success: true,
        operation: await control.retrieve(actor, params.id, body),
      }),
    }),
    define({
      ...common,
      action: 'calls.park',
      path: path('park'),
      errors: ERRORS,
      summary: 'Park the other side on a slot where anybody can take it; the own leg ends',
      params: CallPath,
      body: LegChoice,
      reply: ParkReply,
      run: async (actor, { params, body }) => ({
        success: true,
        ...(await control.park(actor, params.id, body)),
      }),
    }),
    define({
      ...common,
      action: 'calls.pickup',
      path: path('pickup'),
      errors: DEVICE_ERRORS,
      summary: 'Take a call that rings a colleague: the own devices ring, and whichever answers has the call',
      params: CallPath,
      body: PickupRequest,
      reply: OperationReply,
      status: 202,
      run: async (actor, { params, body }) => ({
        success: true,
        operation: await control.pickup(actor, params.id, body),
      }),
    }),
    define({
      ...common,
      action: 'calls.pickup-extension',
      path: '/api/v1/extensions/:extension/pickup',
      errors: DEVICE_ERRORS,
      summary: 'Take whatever rings at a colleague: the own devices ring, and whichever answers has the call',
      params: ExtensionPath,
      body: OwnDeviceChoice,
      reply: OperationReply,
      status: 202,
      run: async (actor, { params, body }) => ({
        success: true,
        operation: await control.pickupAt(actor, params.extension, body),
      }),
    }),
    define({
      ...common,
      action: 'calls.dtmf',
      path: path('dtmf'),
      errors: ERRORS,
      summary: 'Send digits into a call, as if they had been pressed on the device',
      params: CallPath,
      body: DigitsRequest,
      reply: OperationReply,
      run: async (actor, { params, body }) => ({
        success: true,
        operation: await control.digits(actor, params.id, body.digits, body.leg_id),
      }),
    }),
    define({
      ...common,
      level: 'agent',
      action: 'calls.record',
      path: path('record'),
      errors: [...ERRORS, 'storage_full'],
      summary: 'Begin or end the recording of what a leg says and hears',
      params: CallPath,
      body: RecordRequest,
      reply: OperationReply,
      run: async (actor, { params, body }) => ({
        success: true,
        operation: await control.record(actor, params.id, body.on, body.leg_id),
      }),
    }),
    ...(['pause', 'resume'] as const).map((does) =>
      define({
        ...common,
        level: 'agent',
        action: `calls.${does}_recording`,
        path: path(`record/${does}`),
        errors: ERRORS,
        summary: RECORDING[does],
        params: CallPath,
        body: LegChoice,
        reply: OperationReply,
        run: async (actor, { params, body }) => ({
          success: true,
          operation: await control.pauseRecording(actor, params.id, does === 'pause', body),
        }),
      }),
    ),
    define({
      method: 'PUT',
      level: 'admin',
      tag: 'calls',
      action: 'calls.configure',
      path: '/api/v1/settings/calls',
      errors: ['invalid_request', 'store_unavailable'],
      summary: 'Say who may call what from the API, and how often',
      params: z.strictObject({}),
      body: CallSettings,
      reply: CallSettingsReply,
      run: async (actor, { body }) => ({
        success: true,
        settings: await control.changeSettings(actor, body),
      }),
    }),
    // The level is looked at by the service, because who tries without it stands in the audit trail; no API key listens.
    ...(['listen', 'whisper', 'barge'] as const).map((does) =>
      define({
        method: 'POST',
        level: 'user',
        tag: 'calls',
        action: `calls.${does}`,
        path: path(does),
        errors: [...DEVICE_ERRORS, 'confirmation_required'],
        summary: LISTENING[does],
        params: CallPath,
        body: ListenRequest,
        reply: OperationReply,
        status: 202,
        run: async (actor, { params, body }) => ({
          success: true,
          operation: await control.listen(actor, params.id, does, body),
        }),
      }),
    ),
  ];
}
