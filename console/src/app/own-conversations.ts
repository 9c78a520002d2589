/** What the stream reports of the person's own conversations: one stream for every part of the page that listens. */
import { useEffect, useRef } from 'react';
import type { Client } from '@offhook/client';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { useSession } from './session.tsx';

/** Called with null where events may have been missed. */
type Listener = (conversation: ConversationSummary | null) => void;
interface Shared {
  readonly listeners: Set<Listener>;
  live: boolean;
  close(): void;
}
const shared = new WeakMap<Client, Shared>();

function open(client: Client): Shared {
  const listeners = new Set<Listener>();
  const report: Listener = (conversation) => listeners.forEach((listener) => listener(conversation));
  const stream = client.stream({
    topics: ['history/mine'],
    onState: (state) => {
      one.live = state === 'live';
      if (one.live) report(null);
    },
  });
  const one: Shared = { listeners, live: false, close: () => stream.close() };
  void (async () => {
    for await (const item of stream) {
      if (item.type === 'gap') report(null);
      if (!item.type.startsWith('conversation.') || !('data' in item)) continue;
      report((item.data as { conversation: ConversationSummary }).conversation);
    }
  })().catch(() => undefined);
  return one;
}
function listen(client: Client, listener: Listener): () => void {
  let one = shared.get(client);
  if (one === undefined) shared.set(client, (one = open(client)));
  const mine = one;
  mine.listeners.add(listener);
  // Events from before are in nothing that this listener keeps.
  if (mine.live) listener(null);
  return () => {
    mine.listeners.delete(listener);
    if (mine.listeners.size > 0) return;
    shared.delete(client);
    mine.close();
  };
}
/** While somebody is signed in; a newer `listener` takes the place of the one before. */
export function useOwnConversations(listener: Listener): void {
  const { client, state } = useSession();
  const now = useRef(listener);
  now.current = listener;
  const signedIn = state.is === 'in';
  useEffect(
    () => (signedIn ? listen(client, (conversation) => now.current(conversation)) : undefined),
    [client, signedIn],
  );
}
