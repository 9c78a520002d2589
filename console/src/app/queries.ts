/** What more than one page reads. All pages share what was read under a key, so what it is must be said once. */
import type { Client } from '@offhook/client';

interface Read {
  readonly signal: AbortSignal;
}
const KEPT_MS = 300_000;

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
