import type { ErrorCode } from '@offhook/contract/errors.ts';
import {
  CallerPath,
  CallerPriority,
  CallerReply,
  MemberPath,
  MembersReply,
  MoveCaller,
  NewMember,
  QueuePath,
  WithdrawReply,
} from '@offhook/contract/queues.ts';
import { NoFields } from '@offhook/contract/session.ts';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { Queues } from './service.ts';

const ERRORS: readonly ErrorCode[] = [
  'invalid_request',
  'no_such_queue',
  'too_many_requests',
  'engine_refused',
  'engine_unavailable',
  'store_unavailable',
  'overloaded',
  'engine_timeout',
];

/** What a supervisor does to a queue, the same by REST and on the stream. */
export function queueOperations(define: DefineOperation, queues: Queues): AnyOperation[] {
  const common = { level: 'supervisor', scope: 'queues:control', tag: 'queues' } as const;
  const success = true as const;
  const caller = { ...common, method: 'POST', errors: [...ERRORS, 'no_such_caller'] } as const;
  const member = { ...common, errors: [...ERRORS, 'not_found', 'not_in_queue', 'static_member'] } as const;
  return [
    define({
      ...caller,
      action: 'queues.move_caller',
      path: '/api/v1/queues/:name/callers/:id/move',
      summary:
        'Let a caller wait at another place of its queue, or in another queue, where it is a new visit',
      params: CallerPath,
      body: MoveCaller,
      reply: CallerReply,
      run: async (actor, { params, body }) => ({
        success,
        ...(await queues.move(actor, params.name, params.id, body)),
      }),
    }),
    define({
      ...caller,
      action: 'queues.withdraw_caller',
      path: '/api/v1/queues/:name/callers/:id/withdraw',
      summary: 'Take a caller out of the queue; it goes on as one who has waited too long',
      params: CallerPath,
      body: NoFields,
      reply: WithdrawReply,
      run: async (actor, { params }) => ({
        success,
        ...(await queues.withdraw(actor, params.name, params.id)),
      }),
    }),
    define({
      ...caller,
      action: 'queues.prioritise_caller',
      path: '/api/v1/queues/:name/callers/:id/priority',
      summary: 'Give a caller another priority; it takes its new place at once',
      params: CallerPath,
      body: CallerPriority,
      reply: CallerReply,
      run: async (actor, { params, body }) => ({
        success,
        ...(await queues.prioritise(actor, params.name, params.id, body.priority)),
      }),
    }),
    define({
      ...member,
      method: 'POST',
      action: 'queues.add_member',
      path: '/api/v1/queues/:name/members',
      summary: 'Log an agent into the queue',
      params: QueuePath,
      body: NewMember,
      reply: MembersReply,
      run: async (actor, { params, body }) => ({
        success,
        queue: params.name,
        members: await queues.addMember(actor, params.name, body.extension),
      }),
    }),
    define({
      ...member,
      method: 'DELETE',
      action: 'queues.remove_member',
      path: '/api/v1/queues/:name/members/:extension',
      summary: 'Log an agent out of the queue',
      params: MemberPath,
      body: NoFields,
      reply: MembersReply,
      run: async (actor, { params }) => ({
        success,
        queue: params.name,
        members: await queues.removeMember(actor, params.name, params.extension),
      }),
    }),
  ];
}
