/** Missed calls of the person, from the history, and those not seen in this browser. */
import { useMemo, useSyncExternalStore } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { HistoryCall } from '@offhook/contract/history.ts';
import { useConversationEvents } from '../app/conversation-events.ts';
import { serverNow } from '../app/now.ts';
import { readAgain } from '../app/queries.ts';
import { useClient, useMe } from '../app/session.tsx';
import { storedChanges } from '../app/stored.ts';
import { isUnseen, readSeen, withSeen } from './unseen.ts';

/** Limit of the newest; older ones are in the history. */
export const MISSED_SHOWN = 100;
const KEY = 'missed';
const nameOf = (extension: string): string => `offhook.missed.seen.${extension}`;

const changes = storedChanges();
export function markSeen(extension: string, calls: readonly HistoryCall[]): void {
  const name = nameOf(extension);
  localStorage.setItem(name, JSON.stringify(withSeen(readSeen(localStorage.getItem(name)), calls)));
  changes.notify();
}

export interface MissedCalls {
  /** Newest first; undefined while unknown. */
  readonly calls: readonly HistoryCall[] | undefined;
  readonly unseen: readonly HistoryCall[];
  readonly seen: ReadonlySet<string>;
  readonly error: unknown;
  readonly retry: () => void;
}
export function useMissed(): MissedCalls {
  const client = useClient();
  const { extension } = useMe();
  const { data, error, refetch } = useQuery({
    queryKey: [KEY, extension],
    queryFn: async ({ signal }) =>
      (await client.history({ filter: 'missed', limit: MISSED_SHOWN }, signal)).calls,
  });
  const kept = useSyncExternalStore(changes.subscribe, () => localStorage.getItem(nameOf(extension)));
  const seen = useMemo(() => readSeen(kept), [kept]);
  const unseen = useMemo(
    () => (data ?? []).filter((call) => isUnseen(call, seen, serverNow())),
    [data, seen],
  );
  return { calls: data, unseen, seen, error, retry: () => void refetch() };
}
/** Reloads the missed calls when a conversation of the person ends. */
export function useMissedEvents(): void {
  const queries = useQueryClient();
  useConversationEvents('history/mine', (conversation) => {
    if (conversation?.state !== 'open') readAgain(queries, [KEY]);
  });
}
