import {
  BoardPath,
  BoardReply,
  DisplayKeyCreated,
  DisplayKeyPath,
  NewBoard,
  NewDisplayKey,
} from '@offhook/contract/boards.ts';
import { Done, NoFields } from '@offhook/contract/session.ts';
import { z } from 'zod';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { Boards } from './service.ts';

export const BOARD_ERRORS = ['invalid_request', 'limit_reached', 'store_unavailable'] as const;

/** What is made and ended; a board is replaced by REST, where its `If-Match` is. */
export function boardOperations(define: DefineOperation, boards: Boards): AnyOperation[] {
  const tag = 'boards';
  return [
    define({
      action: 'boards.create',
      method: 'POST',
      path: '/api/v1/boards',
      level: 'agent',
      errors: BOARD_ERRORS,
      summary: 'Keep a wallboard',
      tag,
      params: z.strictObject({}),
      body: NewBoard,
      reply: BoardReply,
      status: 201,
      run: async (actor, { body }) => ({ success: true, board: await boards.create(actor, body) }),
    }),
    define({
      action: 'boards.create_display_key',
      confirm: true,
      method: 'POST',
      path: '/api/v1/boards/:id/display-keys',
      level: 'supervisor',
      errors: ['invalid_request', 'not_found', 'name_taken', 'limit_reached', 'store_unavailable'],
      summary: 'Make a key for a display that shows this wallboard and nothing else; it is shown this once',
      tag,
      params: BoardPath,
      body: NewDisplayKey,
      reply: DisplayKeyCreated,
      status: 201,
      run: async (actor, { params, body }) => ({
        success: true,
        ...(await boards.createDisplayKey(actor, Number(params.id), body)),
      }),
    }),
    define({
      action: 'boards.revoke_display_key',
      method: 'DELETE',
      path: '/api/v1/boards/:id/display-keys/:key',
      level: 'supervisor',
      errors: ['invalid_request', 'not_found', 'store_unavailable'],
      summary: 'Revoke a display key at once',
      tag,
      params: DisplayKeyPath,
      body: NoFields,
      reply: Done,
      run: async (actor, { params }) => {
        await boards.revokeDisplayKey(actor, Number(params.id), Number(params.key));
        return { success: true };
      },
    }),
  ];
}
