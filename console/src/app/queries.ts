/** Queries that several pages use. All pages share the data under a key, so each key has one definition. */
import { QueryClient, hashKey } from '@tanstack/react-query';
import type { QueryKey } from '@tanstack/react-query';
import type { Client } from '@offhook/client';

interface Read {
  readonly signal: AbortSignal;
}
const KEPT_MS = 300_000;

/**
 * A query client that reloads every invalidated query. The library would keep a running first read, although its answer may be
 * older than the invalidating event; that read finishes first, so that frequent events cannot keep a page empty.
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

/** Interval whose events cause one read, ms. */
const TOGETHER_MS = 200;
const waiting = new WeakMap<QueryClient, Set<string>>();
/** Invalidates a key once for all events of an interval; there may be many a second. */
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

/** Every key of customers and caller rules is below this one. */
export const CUSTOMERS = 'customers';
/** The id of any of its calls finds the conversation. */
export const conversationQuery = (client: Client, id: string) => ({
  queryKey: ['conversation', id],
  queryFn: async ({ signal }: Read) => (await client.conversations.get(id, signal)).conversation,
});
/** Conversations in a list by number. */
export const OF_NUMBER_SHOWN = 7;
/** The latest conversations with a number that the person may see; keys below `conversations` are invalidated as one ends. */
export const conversationsOfQuery = (client: Client, number: string) => ({
  queryKey: ['conversations', 'of', number],
  queryFn: async ({ signal }: Read) =>
    (await client.conversations.list({ number, limit: OF_NUMBER_SHOWN }, signal)).conversations,
});
export const contactsQuery = (client: Client) => ({
  queryKey: ['contacts'],
  queryFn: ({ signal }: Read) => client.contacts({}, signal),
});
export const consoleSettingsQuery = (client: Client) => ({
  queryKey: ['console-settings'],
  queryFn: async ({ signal }: Read) => (await client.consoleSettings.get(signal)).settings,
  staleTime: KEPT_MS,
});
/** Readable from level agent on. */
export const pauseReasonsQuery = (client: Client) => ({
  queryKey: ['pause-reasons'],
  queryFn: async ({ signal }: Read) => (await client.agents.pauseReasons(signal)).pause_reasons,
  staleTime: KEPT_MS,
});
