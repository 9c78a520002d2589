import { callQuality, conversations } from '@offhook/contract/operations/conversations.ts';
import { history } from '@offhook/contract/operations/history.ts';
import type { Customers } from '../../ports/customers.ts';
import type { Served } from '../../ports/operations.ts';
import { rowsWithCustomers, withCustomers } from './query/customers.ts';
import type { HistoryService } from './query/history-service.ts';
import type { Notes, Quality } from './query/annotate.ts';
import type { ConversationReader } from './query/service.ts';

/** GET /api/mobile/history.php, its alias, and the writes that only the alias accepts (wire.md section 4). */
export function historyOperations(service: HistoryService, customers: Customers): Served<typeof history> {
  const list: Served<typeof history>['handlers']['list'] = async ({ caller }, { query }) => {
    const page = await service.list(caller, query);
    return { ...page, calls: await rowsWithCustomers(customers, caller, page.calls) };
  };
  return {
    operations: history,
    handlers: { list, listAlias: list, act: ({ caller }, { body }) => service.act(caller, body) },
  };
}

/** A person reads the conversations it took part in, a supervisor reads all, an API key those of its extensions. */
export function conversationOperations({
  conversations: reader,
  notes,
  customers,
}: {
  readonly conversations: ConversationReader;
  readonly notes: Notes;
  readonly customers: Customers;
}): Served<typeof conversations> {
  return {
    operations: conversations,
    handlers: {
      async list({ caller }, { query }) {
        const page = await reader.list(caller, query);
        return { ...page, conversations: await withCustomers(customers, caller, page.conversations) };
      },
      async changes({ caller }, { query }) {
        const page = await reader.changes(caller, query);
        const shown = page.changes.flatMap(({ conversation }) => conversation ?? []);
        const byId = new Map((await withCustomers(customers, caller, shown)).map((one) => [one.id, one]));
        const changes = page.changes.map((change) => ({
          ...change,
          conversation: change.conversation && byId.get(change.conversation.id)!,
        }));
        return { ...page, changes };
      },
      async get({ caller }, { params }) {
        const reply = await reader.one(caller, params.id);
        const [conversation] = await withCustomers(customers, caller, [reply.conversation]);
        return { ...reply, conversation: conversation! };
      },
      addNote: async (actor, { params, body }) => ({ note: await notes.add(actor, params.id, body.text) }),
      removeNote: (actor, { params }) => notes.remove(actor, params.id, Number(params.note)),
      setOutcome: async (actor, { params, body }) => ({
        outcome: await notes.setOutcome(actor, params.id, body),
      }),
    },
  };
}

/** Call quality as reported by a party of the call. */
export const qualityOperations = (quality: Quality): Served<typeof callQuality> => ({
  operations: callQuality,
  handlers: {
    reportQuality: async ({ caller }, { params, body }) => ({
      quality: await quality.report(caller, params.id, body),
    }),
  },
});
