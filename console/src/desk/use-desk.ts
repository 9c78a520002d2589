/** Data of the desk: the agent, its calls, and the shown conversation. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { UseQueryResult } from '@tanstack/react-query';
import type { CallState, Client, QueueState } from '@offhook/client';
import type { Agent, AgentSummary } from '@offhook/contract/agents.ts';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { useConversationEvents } from '../app/conversation-events.ts';
import { useTopic } from '../app/live.ts';
import { conversationQuery, pauseReasonsQuery, readAgain } from '../app/queries.ts';
import { useClient, useMe } from '../app/session.tsx';
import { phone, usePhone } from '../phone/phone.ts';
import { isUp } from '../phone/phone-state.ts';
import { isTalkedIn, ownCalls, shownCall } from './view.ts';
import type { OwnCall } from './view.ts';

export interface Desk {
  /** State by the stream, with the queues read after its newest event. Null for a person who is not an agent. */
  readonly agent: Agent | null | undefined;
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
    queryFn: async ({ signal }) => (await client.agents.find(me, signal)).agents[0] ?? null,
  });
  const known = useRef(false);
  useEffect(() => {
    known.current ||= summary !== undefined;
    // No event contains the queues of an agent, so each of its states reloads them: also the first one, which may be newer than the read.
    if (known.current) readAgain(queries, ['agent', me]);
  }, [summary, queries, me]);
  const agent = useMemo(
    () => (read.data == null ? read.data : { ...read.data, ...(summary ?? ({} as AgentSummary)) }),
    [read.data, summary],
  );
  return { agent, error: read.error, retry: () => void read.refetch() };
}

const MINE = ['mine'] as const;
const useMyCalls = (): ReadonlyMap<string, CallState> => useTopic('calls', MINE).records;

export interface ShownCalls {
  /** Every call of the person, the oldest first. */
  readonly own: readonly OwnCall[];
  readonly shown: OwnCall | undefined;
  /** The call has just replaced another one automatically: a click may be meant for that one. */
  readonly settling: boolean;
  /** The person chose this call, which becomes the active one. */
  readonly choose: (id: string) => void;
}
/** Time after a change of what is shown in which a press may be meant for what was there before, ms. */
const SEEN_MS = 700;
/** True for that time after `shown` changed. */
export function useSettling(shown: unknown): boolean {
  const [settled, setSettled] = useState(shown);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(shown), SEEN_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return settled !== shown;
}
export function useShownCall(extension: string): ShownCalls {
  const calls = useMyCalls();
  const began = useRef(new Map<string, number>());
  const count = useRef(0);
  const before = useRef<string | null>(null);
  const chosen = useRef<string | null>(null);
  const [, draw] = useState(0);
  const own = useMemo(() => ownCalls(calls.values(), extension), [calls, extension]);
  for (const one of own) {
    const { call_id } = one.call;
    if (!isTalkedIn(one)) began.current.delete(call_id);
    else if (!began.current.has(call_id)) began.current.set(call_id, (count.current += 1));
  }
  const shown = shownCall(own, before.current, began.current);
  const id = shown?.call.call_id ?? null;
  // Also counts a replacement with a short moment without a call in between.
  const change = useRef({ count: 0, from: id, gone: -Infinity });
  if (id !== before.current) {
    const { from, gone } = change.current;
    const now = performance.now();
    const replaced = id !== null && from !== null && id !== from && id !== chosen.current;
    if (replaced && (before.current !== null || now - gone < SEEN_MS)) change.current.count += 1;
    if (id === null) change.current.gone = now;
    else change.current.from = id;
    before.current = id;
  }
  const settling = useSettling(change.current.count);
  useEffect(() => {
    if (chosen.current === id) chosen.current = null;
  }, [id]);
  const choose = (next: string): void => {
    chosen.current = next;
    began.current.set(next, (count.current += 1));
    draw((n) => n + 1);
  };
  return { own, shown, settling, choose };
}
/** Holds over the API, and retrieves where the call was held: SIP and the API cannot undo each other's hold. */
export function useHolding(): {
  readonly hold: (one: OwnCall, on: boolean) => Promise<unknown>;
  readonly switchTo: (next: OwnCall, own: readonly OwnCall[]) => Promise<void>;
} {
  const client = useClient();
  const { calls } = usePhone();
  const here = (id: string) => calls.find((call) => call.call_id === id && isUp(call));
  const hold = async ({ call }: OwnCall, on: boolean): Promise<unknown> => {
    const mine = here(call.call_id);
    if (on) return client.calls.hold(call.call_id);
    if (mine?.state === 'held') return phone.softphone?.hold(mine.id, false);
    return client.calls.retrieve(call.call_id);
  };
  return {
    hold,
    async switchTo(next, own) {
      const { call_id } = next.call;
      const mine = here(call_id);
      // The phone of this page holds its other calls automatically.
      for (const one of own) {
        const other = one !== next && one.state === 'talking';
        if (other && (mine?.state !== 'held' || here(one.call.call_id) === undefined)) await hold(one, true);
      }
      if (next.state === 'held') await hold(next, false);
    },
  };
}
export const useMyQueues = (names: readonly string[]): ReadonlyMap<string, QueueState> =>
  useTopic('queues', names).records;

type Reply<M extends (...given: never[]) => Promise<unknown>> = Awaited<ReturnType<M>>;
export type Conversation = Reply<Client['conversations']['get']>['conversation'];
/** Ids of conversations in this person's history, extended by every event. */
const KNOWN = ['conversation-ids'];
const MOST_KNOWN = 50;
const idsOf = (some: readonly Pick<ConversationSummary, 'id' | 'merged_from'>[]): string[] =>
  some.flatMap(({ id, merged_from }) => [id, ...merged_from]);
/**
 * `id` is that of any call of the conversation. One of `begun`, the calls that began while this page was open, is read only once
 * the history has it.
 */
export function useConversation(id: string | null, begun: ReadonlySet<string>): UseQueryResult<Conversation> {
  const client = useClient();
  const known = useQuery<ReadonlySet<string>>({ queryKey: KNOWN, enabled: false }).data;
  return useQuery({
    ...conversationQuery(client, id ?? ''),
    enabled: id !== null && (!begun.has(id) || known?.has(id) === true),
  });
}
/** Reloads conversations on their events. */
export function useConversationReads(): void {
  const client = useClient();
  const queries = useQueryClient();
  useQuery({
    queryKey: KNOWN,
    queryFn: async ({ signal }): Promise<ReadonlySet<string>> => {
      // Ended ones too: a short call may begin and end before this page receives conversation events.
      const newest = { own: true, limit: MOST_KNOWN } as const;
      const { conversations } = await client.conversations.list(newest, signal);
      return new Set([...(queries.getQueryData<ReadonlySet<string>>(KNOWN) ?? []), ...idsOf(conversations)]);
    },
    staleTime: Infinity,
  });
  useConversationEvents('history/mine', (conversation) => {
    if (conversation === null) {
      readAgain(queries, KNOWN);
      return readAgain(queries, ['conversation']);
    }
    const ids = idsOf([conversation]);
    queries.setQueryData<ReadonlySet<string>>(KNOWN, (known) =>
      ids.every((one) => known?.has(one)) ? known : new Set([...(known ?? []), ...ids]),
    );
    for (const id of ids) readAgain(queries, ['conversation', id]);
    readAgain(queries, ['conversations']);
  });
}
export const usePauseReasons = () => useQuery(pauseReasonsQuery(useClient()));
/** The agent's figures of today, reloaded after each of its events, at new queue figures or a new day, and every minute. */
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
    readAgain(queries, ['figures']);
  }, [queries, engagement, state]);
  const rows = newest.current;
  const day = rows[0]?.day;
  useEffect(() => {
    behind.current = true;
  }, [day]);
  useEffect(() => {
    if (!behind.current) return;
    behind.current = false;
    readAgain(queries, ['figures']);
  }, [queries, rows]);
  return useQuery({
    queryKey: ['figures', agent.extension],
    queryFn: async ({ signal }) =>
      (await client.wallboard({}, signal)).agents.find((one) => one.extension === agent.extension) ?? null,
    // Occupancy changes without events, too.
    refetchInterval: 60_000,
  });
}
