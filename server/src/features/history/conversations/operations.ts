import {
  ConversationId,
  NewNote,
  NewOutcome,
  NewQuality,
  NotePath,
  NoteReply,
  OutcomeReply,
  QualityReply,
} from '@offhook/contract/conversation-list.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { Done, NoFields } from '@offhook/contract/session.ts';
import type { AnyOperation, DefineOperation } from '../../../ports/operations.ts';
import type { Notes } from './notes.ts';
import type { Quality } from './quality.ts';

const ERRORS: readonly ErrorCode[] = ['invalid_request', 'not_found', 'store_unavailable'];

/** What people add to a conversation, the same by REST and on the stream. */
export function conversationOperations(
  define: DefineOperation,
  { notes, quality }: { readonly notes: Notes; readonly quality: Quality },
): AnyOperation[] {
  const common = {
    level: 'user',
    scope: 'history:write',
    tag: 'conversations',
    paced: 'any',
    errors: ERRORS,
  } as const;
  const success = true as const;
  return [
    define({
      ...common,
      method: 'POST',
      action: 'conversations.note',
      path: '/api/v1/conversations/:id/notes',
      errors: [...ERRORS, 'limit_reached'],
      status: 201,
      summary: 'Write a note on a conversation',
      params: ConversationId,
      body: NewNote,
      reply: NoteReply,
      run: async (actor, { params, body }) => ({
        success,
        note: await notes.add(actor, params.id, body.text),
      }),
    }),
    define({
      ...common,
      method: 'DELETE',
      action: 'conversations.remove_note',
      path: '/api/v1/conversations/:id/notes/:note',
      errors: [...ERRORS, 'forbidden'],
      summary: 'Remove a note of one’s own; a supervisor removes any',
      params: NotePath,
      body: NoFields,
      reply: Done,
      run: async (actor, { params }) => {
        await notes.remove(actor, params.id, Number(params.note));
        return { success };
      },
    }),
    define({
      ...common,
      method: 'POST',
      action: 'conversations.set_outcome',
      path: '/api/v1/conversations/:id/outcome',
      summary: 'Set the result of a conversation; it takes the place of the one before',
      params: ConversationId,
      body: NewOutcome,
      reply: OutcomeReply,
      run: async (actor, { params, body }) => ({
        success,
        outcome: await notes.setOutcome(actor, params.id, body),
      }),
    }),
    define({
      level: 'user',
      paced: 'own',
      tag: 'conversations',
      method: 'POST',
      action: 'calls.report_quality',
      path: '/api/v1/calls/:id/quality',
      errors: [...ERRORS, 'forbidden', 'limit_reached'],
      summary: 'Say how a call sounded; for who is or was in it',
      params: ConversationId,
      body: NewQuality,
      reply: QualityReply,
      run: async ({ caller }, { params, body }) => ({
        success,
        quality: await quality.report(caller, params.id, body),
      }),
    }),
  ];
}
