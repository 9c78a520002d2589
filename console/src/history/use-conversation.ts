import { useEffect } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Conversation, ConversationSummary } from '@offhook/contract/conversations.ts';
import { conversationQuery } from '../app/queries.ts';
import { useClient, useMay } from '../app/session.tsx';
import { updating } from './pages.ts';
import { LIST_KEY } from './use-conversations.ts';
import type { Pages } from './use-conversations.ts';

const TOGETHER_MS = 200;
/** One conversation by the id of any call of it, read again whenever the stream tells of it. */
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
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: ['conversation', id] });
      }, TOGETHER_MS);
    };
    let first = true;
    const stream = client.stream({
      topics: [topic],
      // What came between the reading and the first connection is read too.
      onState: (state) => {
        if (state === 'live' && first) again();
        if (state === 'live') first = false;
      },
    });
    async function read(): Promise<void> {
      for await (const item of stream) {
        if (item.type === 'gap') again();
        if (!item.type.startsWith('conversation.') || !('data' in item)) continue;
        const { conversation: c } = item.data as { conversation: ConversationSummary };
        if (c.id !== known && !c.merged_from.includes(known)) continue;
        queries.setQueriesData<Pages>({ queryKey: [LIST_KEY] }, (pages) => pages && updating(pages, [c]));
        again();
      }
    }
    // The end of the session ends it, which the page says by itself.
    read().catch(() => undefined);
    return () => {
      clearTimeout(timer);
      stream.close();
    };
  }, [client, queries, topic, id, known]);
  return { conversation: data, error, retry: () => void refetch() };
}
