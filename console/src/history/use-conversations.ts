/** List of conversations, read page by page; events of the stream add new ones and update those shown. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { FetchStatus, InfiniteData } from '@tanstack/react-query';
import type { z } from 'zod';
import type { ConversationsReply } from '@offhook/contract/conversation-list.ts';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { useConversationEvents } from '../app/conversation-events.ts';
import { useClient } from '../app/session.tsx';
import { useLatest } from '../app/use-latest.ts';
import type { ListQuery, Scope } from './filters.ts';
import { arriving, caughtUp, rowsOf, without } from './pages.ts';

type Page = z.infer<typeof ConversationsReply>;
export type Pages = InfiniteData<Page, string | undefined>;
export const LIST_KEY = 'conversations';

const PAGE = 100;
/** Interval at which buffered events are applied. */
const FLUSH_MS = 250;
/** New conversations are shown at once if the page is scrolled down by less than this. */
const TOP_PX = 80;
const atTop = (): boolean => window.scrollY < TOP_PX;

export interface Conversations {
  readonly rows: readonly ConversationSummary[];
  readonly total: Page['total'];
  readonly error: unknown;
  readonly loading: boolean;
  /** True if there are further pages. */
  readonly more: boolean;
  /** True if the next page could not be read. */
  readonly stuck: boolean;
  readonly fetching: boolean;
  readonly next: () => void;
  readonly retry: () => void;
  /** Number of new conversations that are not shown yet. */
  readonly waiting: number;
  readonly show: () => void;
  readonly remove: (ids: readonly string[] | 'all') => void;
}

export function useConversations(query: ListQuery, scope: Scope): Conversations {
  const client = useClient();
  const queries = useQueryClient();
  const key = useMemo(() => [LIST_KEY, scope, query], [scope, query]);
  const list = useInfiniteQuery({
    queryKey: key,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.conversations.list({ ...query, limit: PAGE, cursor: pageParam }, signal),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    // The stream keeps it current.
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const [waiting, setWaiting] = useState<ReadonlyMap<string, ConversationSummary>>(new Map());
  useEffect(() => setWaiting(new Map()), [key]);

  const { put, remove } = useChanges(key, query, list.fetchStatus);
  /** Updates conversations of the list in place; new ones wait while the page is scrolled down. */
  const arrive = useCallback(
    (some: readonly ConversationSummary[]) => {
      if (some.length === 0) return;
      const data = queries.getQueryData<Pages>(key);
      if (data === undefined || atTop()) return put(some);
      const known = new Set(rowsOf(data).map((row) => row.id));
      const isKnown = (c: ConversationSummary): boolean =>
        [c.id, ...c.merged_from].some((id) => known.has(id));
      put(some.filter(isKnown));
      const others = arriving(
        { pages: [], pageParams: [] },
        some.filter((c) => !isKnown(c)),
        query,
      );
      const fresh = rowsOf(others);
      if (fresh.length === 0) return;
      setWaiting((before) => new Map([...before, ...fresh.map((c) => [c.id, c] as const)]));
    },
    [queries, key, query, put],
  );
  const catchUp = useCallback(async () => {
    const data = queries.getQueryData<Pages>(key);
    if (data === undefined) return;
    const { conversations } = await client.conversations.list({ ...query, limit: PAGE });
    const state = caughtUp(data, conversations, PAGE);
    if (state === 'beyond') return await queries.resetQueries({ queryKey: key });
    arrive(conversations);
    // Replaces the shown pages by a new reading.
    if (state === 'open') await queries.invalidateQueries({ queryKey: key });
  }, [client, queries, key, query, arrive]);

  const buffer = useRef<ConversationSummary[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const arriveNow = useLatest(arrive);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
      buffer.current = [];
    },
    [client, scope],
  );
  useConversationEvents(scope === 'all' ? 'history' : 'history/mine', (conversation) => {
    // A failed read is repeated after the next connection.
    if (conversation === null) return void catchUp().catch(() => undefined);
    buffer.current.push(conversation);
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      arriveNow.current(buffer.current);
      buffer.current = [];
    }, FLUSH_MS);
  });

  const rows = useMemo(() => (list.data === undefined ? [] : rowsOf(list.data)), [list.data]);
  const { fetchNextPage, refetch } = list;
  // Until a read succeeds: a read that is under way hides which one has failed.
  const [stuck, setStuck] = useState(false);
  if (list.isFetchNextPageError && !stuck) setStuck(true);
  if (!list.isError && stuck) setStuck(false);
  return {
    rows,
    total: list.data?.pages[0]?.total ?? null,
    error: list.error,
    loading: list.isPending,
    more: list.hasNextPage,
    stuck,
    fetching: list.isFetchingNextPage,
    next: useCallback(() => void fetchNextPage(), [fetchNextPage]),
    retry: useCallback(() => void (stuck ? fetchNextPage() : refetch()), [stuck, fetchNextPage, refetch]),
    waiting: waiting.size,
    show: useCallback(() => {
      put([...waiting.values()]);
      setWaiting(new Map());
      window.scrollTo({ top: 0 });
    }, [put, waiting]),
    remove,
  };
}

/** Changes of the list beside its reads. */
function useChanges(key: readonly unknown[], query: ListQuery, status: FetchStatus) {
  const queries = useQueryClient();
  /** What arrived during a read, whose end replaces the list by its state at the beginning of that read and the page that was read. */
  const duringRead = useRef<ConversationSummary[]>([]);
  const put = useCallback(
    (some: readonly ConversationSummary[]) => {
      const cached = queries.getQueryCache().find<Pages>({ queryKey: key, exact: true });
      if (cached?.state.fetchStatus !== 'idle') return void duringRead.current.push(...some);
      const { data } = cached.state;
      // Not by `setQueryData`, which would clear the error of a page that could not be read.
      if (data !== undefined) cached.setState({ data: arriving(data, some, query) });
    },
    [queries, key, query],
  );
  useEffect(() => {
    duringRead.current = [];
  }, [key]);
  useEffect(() => {
    if (status === 'idle') put(duringRead.current.splice(0));
  }, [status, put]);
  const remove = useCallback(
    (ids: readonly string[] | 'all') => {
      // The end of a read would bring them back.
      const readEnded = queries.cancelQueries({ queryKey: key, exact: true });
      void readEnded.then(() => queries.setQueryData<Pages>(key, (data) => data && without(data, ids)));
    },
    [queries, key],
  );
  return { put, remove };
}
