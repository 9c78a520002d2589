import {
  ConversationChangesQuery,
  ConversationChangesReply,
  ConversationId,
  ConversationReply,
  ConversationsQuery,
  ConversationsReply,
} from '@offhook/contract/conversation-list.ts';
import type { App } from '../../../ports/http.ts';
import type { ConversationReader } from './service.ts';

/** What a person took part in; a supervisor reads all, an API key those of its extensions. */
export function conversationRoutes(app: App, conversations: ConversationReader): void {
  const config = {
    level: 'user',
    scope: 'history:read',
    errors: ['invalid_request', 'store_unavailable'],
  } as const;
  const common = { tags: ['conversations'] };
  app.get(
    '/api/v1/conversations',
    {
      config,
      schema: {
        ...common,
        summary: 'Conversations, newest first, by any of their parts',
        querystring: ConversationsQuery,
        response: { 200: ConversationsReply },
      },
    },
    (request) => conversations.list(request.person(), request.query),
  );
  app.get(
    '/api/v1/conversations/changes',
    {
      config: { ...config, errors: [...config.errors, 'position_unknown'] },
      schema: {
        ...common,
        summary: 'What became of conversations since the last request: new, corrected, joined, erased',
        querystring: ConversationChangesQuery,
        response: { 200: ConversationChangesReply },
      },
    },
    (request) => conversations.changes(request.person(), request.query),
  );
  app.get(
    '/api/v1/conversations/:id',
    {
      config: { ...config, errors: [...config.errors, 'not_found'] },
      schema: {
        ...common,
        summary: 'One conversation with its legs, transfers, visits of queues, notes and recordings',
        params: ConversationId,
        response: { 200: ConversationReply },
      },
    },
    (request) => conversations.one(request.person(), request.params.id),
  );
}
