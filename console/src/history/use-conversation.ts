import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { useConversationEvents } from '../app/conversation-events.ts';
import { conversationQuery, readAgain } from '../app/queries.ts';
import { useClient, useMay } from '../app/session.tsx';
import { updating } from './pages.ts';
import { LIST_KEY } from './use-conversations.ts';
import type { Pages } from './use-conversations.ts';

/** One conversation by the id of any of its calls, read again on each of its events. */
export function useConversation(id: string): {
  readonly conversation: Conversation | undefined;
  readonly error: unknown;
  readonly retry: () => void;
} {
  const client = useClient();
  const queries = useQueryClient();
  const topic = useMay('supervisor') ? 'history' : 'history/mine';
  const { data, error, refetch } = useQuery(conversationQuery(client, id));
  const known = data?.id ?? id;
  useConversationEvents(topic, (c) => {
    if (c !== null) {
      if (c.id !== known && !c.merged_from.includes(known)) return;
      queries.setQueriesData<Pages>({ queryKey: [LIST_KEY] }, (pages) => pages && updating(pages, [c]));
    }
    readAgain(queries, ['conversation', id]);
  });
  return { conversation: data, error, retry: () => void refetch() };
}
