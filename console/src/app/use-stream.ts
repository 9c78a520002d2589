/** Events for one part of a page. */
import { useEffect } from 'react';
import type { StreamItem, StreamState } from '@offhook/client';
import { useSession } from './session.tsx';
import { useLatest } from './use-latest.ts';

interface StreamUse {
  readonly snapshot?: boolean;
  readonly onItem: (item: StreamItem) => void | Promise<void>;
  readonly onState?: (state: StreamState) => void;
}
/**
 * Follows topics, separated by commas, while a person is signed in. A stream ends for good with its session, so another one is
 * opened after the next sign-in.
 */
export function useStream(topics: string, use: StreamUse): void {
  const { client, state } = useSession();
  const now = useLatest(use);
  const { snapshot = false } = use;
  const signedIn = state.is === 'in';
  useEffect(() => {
    if (!signedIn) return undefined;
    const stream = client.stream({
      topics: topics.split(','),
      snapshot,
      onState: (next) => now.current.onState?.(next),
    });
    // The page's frame shows the end of the session.
    void (async () => {
      for await (const item of stream) await now.current.onItem(item);
    })().catch(() => undefined);
    return () => stream.close();
  }, [client, topics, snapshot, signedIn, now]);
}
