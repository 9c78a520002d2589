import { callQuality, conversations } from '@offhook/contract/operations/conversations.ts';
import { history } from '@offhook/contract/operations/history.ts';
import type { Served } from '../../ports/operations.ts';
import type { HistoryService } from './query/history-service.ts';
import type { Notes, Quality } from './query/annotate.ts';
import type { ConversationReader } from './query/service.ts';

/** GET /api/mobile/history.php, its alias, and what the alias alone takes (wire.md section 4). */
export function historyOperations(service: HistoryService): Served<typeof history> {
  const list: Served<typeof history>['handlers']['list'] = ({ caller }, { query }) =>
    service.list(caller, query);
  return {
    operations: history,
    handlers: { list, listAlias: list, act: ({ caller }, { body }) => service.act(caller, body) },
  };
}

/** What a person took part in, and what people add to it; a supervisor reads all, an API key those of its extensions. */
export function conversationOperations({
  conversations: reader,
  notes,
}: {
  readonly conversations: ConversationReader;
  readonly notes: Notes;
}): Served<typeof conversations> {
  const success = true as const;
  return {
    operations: conversations,
    handlers: {
      list: ({ caller }, { query }) => reader.list(caller, query),
      changes: ({ caller }, { query }) => reader.changes(caller, query),
      get: ({ caller }, { params }) => reader.one(caller, params.id),
      addNote: async (actor, { params, body }) => ({
        success,
        note: await notes.add(actor, params.id, body.text),
      }),
      async removeNote(actor, { params }) {
        await notes.remove(actor, params.id, Number(params.note));
        return { success };
      },
      setOutcome: async (actor, { params, body }) => ({
        success,
        outcome: await notes.setOutcome(actor, params.id, body),
      }),
    },
  };
}

/** How a call sounded, from who is or was in it. */
export const qualityOperations = (quality: Quality): Served<typeof callQuality> => ({
  operations: callQuality,
  handlers: {
    reportQuality: async ({ caller }, { params, body }) => ({
      success: true,
      quality: await quality.report(caller, params.id, body),
    }),
  },
});
