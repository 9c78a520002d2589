import { CallPath, LegChoice, NewCall, OperationReply } from '@offhook/contract/call-control.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { z } from 'zod';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { CallControl } from './service.ts';

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

/** Call control, the same by REST and on the stream. */
export function callOperations(define: DefineOperation, control: CallControl): AnyOperation[] {
  const common = { method: 'POST', level: 'user', scope: 'calls:control', tag: 'calls' } as const;
  return [
    define({
      ...common,
      action: 'calls.originate',
      path: '/api/v1/calls',
      errors: [...ERRORS, 'destination_not_allowed', 'no_route', 'device_unreachable'],
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
      path: '/api/v1/calls/:id/hangup',
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
  ];
}
