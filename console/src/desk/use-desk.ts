/** What the desk reads: the agent, its calls, and the conversation it is about. */
import { useEffect, useMemo, useRef } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { UseQueryResult } from '@tanstack/react-query';
import type { CallState, Client, QueueState } from '@offhook/client';
import type { Agent, AgentSummary } from '@offhook/contract/agents.ts';
import { useTopic } from '../app/live.ts';
import { conversationQuery, pauseReasonsQuery } from '../app/queries.ts';
import { useClient, useMe, useSession } from '../app/session.tsx';

export interface Desk {
  /** As the stream says it; with the queues as they were read after its newest event. */
  readonly agent: Agent | undefined;
  readonly error: unknown;
  readonly retry: () => void;
}
export function useDesk(): Desk {
  const client = useClient();
  const me = useMe().extension;
  const summary = useTopic('agents', [me]).records.get(me);
  const queries = useQueryClient();
  const read = useQuery({
    queryKey: ['agent', me],
    queryFn: async ({ signal }) => (await client.agents.get(me, signal)).agent,
  });
  const first = useRef(true);
  useEffect(() => {
    // The queues of an agent are in no event: each event of the agent may have changed them.
    if (first.current) first.current = summary === undefined;
    else void queries.invalidateQueries({ queryKey: ['agent', me] });
  }, [summary, queries, me]);
  const agent = useMemo(
    () => (read.data === undefined ? undefined : { ...read.data, ...(summary ?? ({} as AgentSummary)) }),
    [read.data, summary],
  );
  return { agent, error: read.error, retry: () => void read.refetch() };
}

const MINE = ['mine'] as const;
export const useMyCalls = (): ReadonlyMap<string, CallState> => useTopic('calls', MINE).records;
export const useMyQueues = (names: readonly string[]): ReadonlyMap<string, QueueState> =>
  useTopic('queues', names).records;

type Reply<M extends (...given: never[]) => Promise<unknown>> = Awaited<ReturnType<M>>;
export type Conversation = Reply<Client['conversations']['get']>['conversation'];
/** `id` is that of any call of it; an error `not_found` for the moment until the history knows it. */
export function useConversation(id: string | null): UseQueryResult<Conversation> {
  const client = useClient();
  return useQuery({
    ...conversationQuery(client, id ?? ''),
    enabled: id !== null,
  });
}
/** Reads conversations anew as their events come. */
export function useConversationEvents(): void {
  const { client, state } = useSession();
  const queries = useQueryClient();
  const signedIn = state.is === 'in';
  useEffect(() => {
    if (!signedIn) return;
    const again = (...queryKey: string[]): void => void queries.invalidateQueries({ queryKey });
    const stream = client.stream({
      topics: ['history/mine'],
      onState: (now) => {
        // What was told while nobody listened.
        if (now === 'live') again('conversation');
      },
    });
    void (async () => {
      for await (const item of stream) {
        if (item.type === 'gap') again('conversation');
        if (!item.type.startsWith('conversation.') || !('data' in item)) continue;
        const { conversation } = item.data as { conversation: { id: string; merged_from: string[] } };
        for (const id of [conversation.id, ...conversation.merged_from]) again('conversation', id);
        again('conversations');
      }
    })().catch(() => undefined);
    return () => stream.close();
  }, [client, queries, signedIn]);
}
export const usePauseReasons = () => useQuery(pauseReasonsQuery(useClient()));
/** The agent's own figures of today, read anew after each of its events, once the figures of its queues followed or began a new day, and each minute. */
export function useFigures(agent: AgentSummary, queues: ReadonlyMap<string, QueueState>) {
  const client = useClient();
  const queries = useQueryClient();
  const behind = useRef(true);
  const stats = [...queues.values()].map((queue) => queue.stats);
  const newest = useRef(stats);
  if (stats.length !== newest.current.length || stats.some((s, i) => s !== newest.current[i]))
    newest.current = stats;
  const { engagement, state } = agent;
  useEffect(() => {
    behind.current = true;
    void queries.invalidateQueries({ queryKey: ['figures'] });
  }, [queries, engagement, state]);
  const told = newest.current;
  const day = told[0]?.day;
  useEffect(() => {
    behind.current = true;
  }, [day]);
  useEffect(() => {
    if (!behind.current) return;
    behind.current = false;
    void queries.invalidateQueries({ queryKey: ['figures'] });
  }, [queries, told]);
  return useQuery({
    queryKey: ['figures', agent.extension],
    queryFn: async ({ signal }) =>
      (await client.wallboard({}, signal)).agents.find((one) => one.extension === agent.extension) ?? null,
    // Occupancy changes also while nothing happens.
    refetchInterval: 60_000,
  });
}
