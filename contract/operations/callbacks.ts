import { CallbackPath, CallbackReply, CallbacksQuery, CallbacksReply, CloseCallback } from '../callbacks.ts';
import type { ErrorCode } from '../errors.ts';
import { area } from '../operation.ts';

const READ = ['invalid_request', 'forbidden', 'store_unavailable'] as const satisfies readonly ErrorCode[];
const CHANGE = [...READ, 'not_found'] as const satisfies readonly ErrorCode[];

export const callbacks = area('callbacks', {
  list: {
    method: 'GET',
    path: '/api/v1/callbacks',
    level: 'user',
    scope: 'history:read',
    query: CallbacksQuery,
    reply: CallbacksReply,
    errors: READ,
    summary: 'Numbers outside that the caller, or a queue of the caller, did not answer',
    description:
      'A callback closes by itself with any later talk with its number: of its person; of an agent of its queue, or a supervisor; or of anyone who was called in vain by the same call. A new call in vain opens it again.',
  },
  take: {
    method: 'POST',
    path: '/api/v1/callbacks/:id/take',
    audit: 'callback.taken',
    level: 'user',
    scope: 'history:write',
    paced: 'any',
    params: CallbackPath,
    reply: CallbackReply,
    errors: [...CHANGE, 'callback_taken', 'callback_closed'],
    summary: 'Show everyone else that the caller calls this number back',
  },
  release: {
    method: 'POST',
    path: '/api/v1/callbacks/:id/release',
    audit: 'callback.released',
    level: 'user',
    scope: 'history:write',
    paced: 'any',
    params: CallbackPath,
    reply: CallbackReply,
    errors: [...CHANGE, 'callback_taken'],
    summary: 'Leave a taken callback to others; a supervisor also one that another person took',
  },
  close: {
    method: 'POST',
    path: '/api/v1/callbacks/:id/close',
    audit: 'callback.closed',
    level: 'user',
    scope: 'history:write',
    paced: 'any',
    params: CallbackPath,
    body: CloseCallback,
    reply: CallbackReply,
    errors: CHANGE,
    summary: 'Close a callback without a call, with a reason',
  },
});
