/** What more than one page reads. All pages share what was read under a key, so what it is must be said once. */
import { QueryClient, hashKey } from '@tanstack/react-query';
import type { QueryKey } from '@tanstack/react-query';
import type { Client } from '@offhook/client';

interface Read {
  readonly signal: AbortSignal;
}
const KEPT_MS = 300_000;

/**
 * A query client that reads anew whatever is invalidated. The library keeps a first read that is under way, although its answer
 * may be older than the event that invalidates it; such a read ends first, so that many events cannot keep a page empty.
 */
export class Queries extends QueryClient {
  override async invalidateQueries(
    filters?: Parameters<QueryClient['invalidateQueries']>[0],
    options?: Parameters<QueryClient['invalidateQueries']>[1],
  ): Promise<void> {
    const first = this.getQueryCache()
      .findAll(filters)
      .filter(({ state }) => state.data === undefined && state.fetchStatus !== 'idle');
    await super.invalidateQueries(filters, options);
    await Promise.all(
      first.map(({ queryKey }) => super.invalidateQueries({ queryKey, exact: true }, options)),
    );
  }
}

/** Events of one span cause one read. */
const TOGETHER_MS = 200;
const waiting = new WeakMap<QueryClient, Set<string>>();
/** Invalidates a key once for all events of one span; an event may come many times a second. */
export function readAgain(queries: QueryClient, queryKey: QueryKey): void {
  const keys = waiting.get(queries) ?? new Set<string>();
  waiting.set(queries, keys);
  const name = hashKey(queryKey);
  if (keys.has(name)) return;
  keys.add(name);
  setTimeout(() => {
    keys.delete(name);
    void queries.invalidateQueries({ queryKey });
  }, TOGETHER_MS);
}

/** By the id of any call of it. */
export const conversationQuery = (client: Client, id: string) => ({
  queryKey: ['conversation', id],
  queryFn: async ({ signal }: Read) => (await client.conversations.get(id, signal)).conversation,
});
export const consoleSettingsQuery = (client: Client) => ({
  queryKey: ['console-settings'],
  queryFn: async ({ signal }: Read) => (await client.consoleSettings.get(signal)).settings,
  staleTime: KEPT_MS,
});
/** Agents and up may read them. */
export const pauseReasonsQuery = (client: Client) => ({
  queryKey: ['pause-reasons'],
  queryFn: async ({ signal }: Read) => (await client.agents.pauseReasons(signal)).pause_reasons,
  staleTime: KEPT_MS,
});
