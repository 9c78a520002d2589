/** Conversation events: one stream for each topic, shared by every part of the page that listens. */
import { useEffect } from 'react';
import type { Client } from '@offhook/client';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { useSession } from './session.tsx';
import { useLatest } from './use-latest.ts';

/** `history` is that of the whole site, which supervisors may read. */
export type ConversationTopic = 'history' | 'history/mine';
/** Called with null where events may have been missed. */
type Listener = (conversation: ConversationSummary | null) => void;
interface Shared {
  readonly listeners: Set<Listener>;
  live: boolean;
  close(): void;
}
const streams = new WeakMap<Client, Map<ConversationTopic, Shared>>();

function open(client: Client, topic: ConversationTopic): Shared {
  const listeners = new Set<Listener>();
  const report: Listener = (conversation) => listeners.forEach((listener) => listener(conversation));
  const stream = client.stream({
    topics: [topic],
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
function listen(client: Client, topic: ConversationTopic, listener: Listener): () => void {
  const shared = streams.get(client) ?? new Map<ConversationTopic, Shared>();
  streams.set(client, shared);
  const one = shared.get(topic) ?? open(client, topic);
  shared.set(topic, one);
  one.listeners.add(listener);
  // A new listener has missed the earlier events of a stream that is already live.
  if (one.live) listener(null);
  return () => {
    one.listeners.delete(listener);
    if (one.listeners.size > 0) return;
    shared.delete(topic);
    one.close();
  };
}
/** Listens while a person is signed in; a new `listener` replaces the previous one. */
export function useConversationEvents(topic: ConversationTopic, listener: Listener): void {
  const { client, state } = useSession();
  const now = useLatest(listener);
  const signedIn = state.is === 'in';
  useEffect(
    () => (signedIn ? listen(client, topic, (conversation) => now.current(conversation)) : undefined),
    [client, topic, signedIn, now],
  );
}
