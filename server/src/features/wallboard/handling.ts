import type { DomainEvent } from '@offhook/contract/events.ts';
import { secondsBetween } from '../../pbx/state.ts';
import { indexAgent, worksIn } from './board.ts';
import type { Board, BoardAgent, Handling } from './board.ts';
import { SLOT_MS, slotOf } from './sums.ts';
import type { Count } from './sums.ts';

/**
 * An agent's part in a queue call:
 *
 *   agent.talking ──> talk ──agent.wrap_up──> wrap-up ──agent.ready / not_ready without a queue, or its deadline──> over
 *                      └──the same two, or an event that shows the agent doing something else────────────────────> over
 *
 * A queue may ring an agent in a talk. The answered call then interrupts the handling, which goes on with the next
 * `agent.talking` of its call, or ends with that call.
 *
 * An agent that leaves all its queues during the talk has no later event of its own: its talk ends with the call, or with
 * its transfer.
 *
 * It is counted once, at its end. The agent's time is counted beside it, cut at the slots.
 */
type AgentEvent = Extract<DomainEvent, { type: `agent.${string}` }>;

/** Number of handlings whose mean predicts the next one. */
const NEWEST = 20;
/** Longest time counted at once, so that a single event never counts without bound. */
const LONGEST_SLICE_MS = 31 * 86_400_000;

/** Counts the agent's time up to `at` by its state since the last count; `only`: that of this queue alone. */
function countTime(extension: string, agent: BoardAgent, at: number, out: Count[], only?: string): void {
  const since = Math.max(agent.counted_to, at - LONGEST_SLICE_MS);
  if (at <= agent.counted_to) return;
  agent.counted_to = at;
  const { handling, queues, away } = agent;
  if (queues.size === 0 && handling === null) return;
  const free = handling === null && away === 'no';
  for (let from = since; from < at;) {
    const slot = slotOf(from);
    const to = Math.min(at, (slot + 1) * SLOT_MS);
    const ms = to - from;
    const queueTime = (queue: string, paused: boolean): void => {
      const add = free && !paused ? { staffed_ms: ms, available_ms: ms } : { staffed_ms: ms };
      out.push({ of: 'queue', name: queue, slot, add });
    };
    if (handling !== null && (only === undefined || only === handling.queue))
      out.push({ of: 'queue', name: handling.queue, slot, add: { busy_ms: ms } });
    if (only !== undefined) {
      const paused = queues.get(only);
      if (paused !== undefined) queueTime(only, paused);
    } else {
      let available = false;
      for (const [queue, paused] of queues) {
        available ||= free && !paused;
        queueTime(queue, paused);
      }
      // A member removed from its queues during a call works until its end.
      const add: Count['add'] = { staffed_ms: ms };
      if (available) add.available_ms = ms;
      if (handling !== null) add.busy_ms = ms;
      out.push({ of: 'agent', name: extension, slot, add });
    }
    from = to;
  }
}

/** Ends the agent's handling at `at`; returns its total seconds. */
function finish(extension: string, agent: BoardAgent, handling: Handling, at: number, out: Count[]): number {
  const ended = Math.min(handling.call_ended_at ?? at, at);
  const connected = handling.wrap_up?.connected_seconds ?? secondsBetween(handling.since, ended);
  const held =
    handling.held_ms + (handling.held_since === null ? 0 : Math.max(0, ended - handling.held_since));
  const hold_seconds = Math.min(Math.floor(held / 1000), connected);
  const wrap_up_seconds = handling.wrap_up === null ? 0 : secondsBetween(handling.wrap_up.since, at);
  const add = { handled: 1, talk_seconds: connected - hold_seconds, hold_seconds, wrap_up_seconds };
  const slot = slotOf(at);
  out.push({ of: 'queue', name: handling.queue, slot, add }, { of: 'agent', name: extension, slot, add });
  if (agent.handling === handling) agent.handling = null;
  agent.handled_call = handling.call;
  return connected + wrap_up_seconds;
}
/** Counts up to `at`; a wrap-up past its deadline ended there. Returns the handling that this finished. */
function countTo(
  extension: string,
  agent: BoardAgent,
  at: number,
  out: Count[],
  only?: string,
): { readonly queue: string; readonly seconds: number } | null {
  const { handling } = agent;
  let over = null;
  if (handling?.wrap_up && handling.wrap_up.deadline <= at) {
    const end = Math.max(handling.wrap_up.since, handling.wrap_up.deadline);
    countTime(extension, agent, end, out, only);
    over = { queue: handling.queue, seconds: finish(extension, agent, handling, end, out) };
  }
  countTime(extension, agent, at, out, only);
  return over;
}

/** Counts that agents would add at `at`, to one queue alone if it is given; the board stays unchanged. */
export function countedBy({ agents, agentsOf }: Board, at: number, queue?: string): Count[] {
  const out: Count[] = [];
  for (const extension of queue === undefined ? agents.keys() : (agentsOf.get(queue) ?? []))
    countTo(extension, { ...agents.get(extension)! }, at, out, queue);
  // The end of a wrap-up counts for its own queue and for the agent.
  return queue === undefined ? out : out.filter((one) => one.of === 'queue' && one.name === queue);
}

/** Most intervals of an agent that are counted at once, as after hours without events. */
const MOST_SLOTS = 4;
/**
 * Counts the time of all agents up to `at`, so that their figures cost few slots, however long an agent had no event. A
 * wrap-up past its deadline waits for the next event of the agent, which ends it.
 */
export function countAgents(board: Board, at: number, out: Count[]): void {
  for (const [extension, agent] of board.agents) {
    const { handling } = agent;
    if (handling?.wrap_up && handling.wrap_up.deadline <= at) continue;
    countTime(extension, agent, Math.min(at, agent.counted_to + MOST_SLOTS * SLOT_MS), out);
  }
}

function noteHandling(board: Board, queue: string, seconds: number): void {
  const newest = board.handlings.get(queue);
  if (newest === undefined) board.handlings.set(queue, [seconds]);
  else if (newest.push(seconds) > NEWEST) newest.shift();
}
/** Ends handlings of the agent: the present one or interrupted ones. */
function end(
  board: Board,
  extension: string,
  agent: BoardAgent,
  some: readonly Handling[],
  at: number,
  out: Count[],
): void {
  for (const one of some) noteHandling(board, one.queue, finish(extension, agent, one, at, out));
  leaveBeside(agent, some);
}
function leaveBeside(agent: BoardAgent, some: readonly Handling[]): void {
  const left = agent.beside?.filter((one) => !some.includes(one)) ?? [];
  if (left.length > 0) agent.beside = left;
  else delete agent.beside;
}
/** Ends the agent's handling and those that it interrupted. */
function release(board: Board, extension: string, agent: BoardAgent, at: number, out: Count[]): void {
  const { handling, beside = [] } = agent;
  end(board, extension, agent, handling === null ? beside : [...beside, handling], at, out);
}
/** The call of an interrupted handling ended, or was merged into another one. */
export function besideOver(
  board: Board,
  extension: string,
  call: string,
  merged_into: string | null,
  at: number,
  out: Count[],
): void {
  const agent = board.agents.get(extension);
  for (const one of agent?.beside ?? []) {
    if (agent === undefined || one.call !== call) continue;
    if (merged_into !== null) {
      one.call = merged_into;
      continue;
    }
    end(board, extension, agent, [one], at, out);
  }
}

/** The call is over for this agent; one that is still in a queue has an event of its own for it. */
export function callOver(board: Board, extension: string, at: number, out: Count[]): void {
  const agent = board.agents.get(extension);
  if (agent?.handling?.left !== true) return;
  const before = new Set(worksIn(agent));
  countTo(extension, agent, at, out);
  release(board, extension, agent, at, out);
  board.agents.delete(extension);
  indexAgent(board, extension, before);
}

/** True for an event after which the agent works in the same queues: a pause or its end. */
function stays({ queues, handling }: BoardAgent, { type, data: { queue } }: AgentEvent): boolean {
  if (handling !== null || (type !== 'agent.ready' && type !== 'agent.not_ready')) return false;
  return queue != null && queues.has(queue);
}
/** Applies one event of an agent; O(its queues), and O(slots) since its time was last counted. */
export function agentEvent(board: Board, event: AgentEvent, out: Count[]): void {
  const { extension } = event.data;
  const { at } = event;
  let agent = board.agents.get(extension);
  if (agent === undefined) {
    agent = { queues: new Map(), away: 'no', handling: null, handled_call: null, counted_to: at };
    board.agents.set(extension, agent);
  }
  const before = stays(agent, event) ? null : new Set(worksIn(agent));
  const over = countTo(extension, agent, at, out);
  if (over !== null) noteHandling(board, over.queue, over.seconds);
  apply(board, extension, agent, event, out);
  follow(board, extension, agent, event, out);
  if (agent.queues.size === 0 && agent.handling === null) board.agents.delete(extension);
  if (before !== null) indexAgent(board, extension, before);
}

function apply(board: Board, extension: string, agent: BoardAgent, event: AgentEvent, out: Count[]): void {
  const { at } = event;
  const { handling } = agent;
  switch (event.type) {
    case 'agent.logged_in':
      // Counts as paused until its `agent.ready`, which follows at once for a ready member.
      agent.queues.set(event.data.queue, true);
      if (handling !== null) delete handling.left;
      return;
    case 'agent.logged_out':
      agent.queues.delete(event.data.queue);
      if (agent.queues.size > 0 || handling === null) return;
      if (handling.wrap_up !== null) release(board, extension, agent, at, out);
      else if (handling.call_ended_at === null) handling.left = true;
      return;
    case 'agent.ready':
    case 'agent.not_ready': {
      const { queue } = event.data;
      if (queue != null) {
        agent.queues.set(queue, event.type === 'agent.not_ready');
        return;
      }
      if (!engaged(event)) release(board, extension, agent, at, out);
      agent.away = 'no';
      return;
    }
    case 'agent.talking':
      return talking(board, extension, agent, event, out);
    case 'agent.held':
      if (handling !== null && handling.wrap_up === null) handling.held_since ??= at;
      return;
    case 'agent.retrieved':
      endHold(handling, at);
      return;
    case 'agent.wrap_up': {
      const { queue, call_id, deadline, talk_seconds } = event.data;
      if (handling?.wrap_up) {
        handling.wrap_up.deadline = Date.parse(deadline);
        return;
      }
      // A repeated event for a call whose handling is over.
      if (handling === null && call_id !== null && call_id === agent.handled_call) return;
      end(board, extension, agent, agent.beside ?? [], at, out);
      const talk = handling ?? newHandling(queue, call_id ?? '', at - talk_seconds * 1000);
      endHold(talk, at);
      // After an absence of the engine the wrap-up began before its event.
      const began = Date.parse(event.data.agent?.since ?? '');
      const since = began < at ? began : at;
      talk.wrap_up = { since, connected_seconds: talk_seconds, deadline: Date.parse(deadline) };
      agent.handling = talk;
      return;
    }
    case 'agent.wrap_up_extended':
      if (handling?.wrap_up) handling.wrap_up.deadline = Date.parse(event.data.deadline);
      return;
    case 'agent.busy_other':
      if (handling?.wrap_up === null) release(board, extension, agent, at, out);
      agent.away = 'other_call';
      return;
    case 'agent.unreachable':
      agent.away = 'unreachable';
      return;
    case 'agent.offered':
      agent.away = 'no';
      return;
    default:
      return;
  }
}
const newHandling = (queue: string, call: string, since: number): Handling => ({
  queue,
  call,
  since,
  held_ms: 0,
  held_since: null,
  call_ended_at: null,
  wrap_up: null,
});
function endHold(handling: Handling | null, at: number): void {
  if (handling === null || handling.held_since === null) return;
  handling.held_ms += Math.max(0, at - handling.held_since);
  handling.held_since = null;
}
const isInCall = ({ calls }: Board, { call, wrap_up, call_ended_at }: Handling): boolean =>
  wrap_up === null && call_ended_at === null && calls.has(call);
function talking(
  board: Board,
  extension: string,
  agent: BoardAgent,
  event: Extract<AgentEvent, { type: 'agent.talking' }>,
  out: Count[],
): void {
  const { queue, call_id } = event.data;
  const { handling } = agent;
  agent.away = 'no';
  const same = handling?.wrap_up === null && handling.call === call_id && handling.queue === queue;
  if (same) return;
  const resumed = agent.beside?.find((one) => one.call === call_id && one.queue === queue);
  // A queue may ring an agent during a talk: the first call then waits, held, until the second one is over.
  const interrupts = resumed === undefined && event.observed === 'live';
  if (interrupts && handling !== null && isInCall(board, handling)) {
    handling.held_since ??= event.at;
    agent.beside = [...(agent.beside ?? []), handling];
  } else if (handling !== null) {
    end(board, extension, agent, [handling], event.at, out);
  }
  if (resumed !== undefined) {
    leaveBeside(agent, [resumed]);
    endHold(resumed, event.at);
    agent.handling = resumed;
    return;
  }
  agent.handling = newHandling(queue, call_id, event.at);
  let call = board.calls.get(call_id);
  if (call === undefined) {
    call = { since: event.at, queues: [], agents: [], handled: [] };
    board.calls.set(call_id, call);
  }
  if (!call.agents.includes(extension)) call.agents.push(extension);
  call.handled = [...call.handled.filter((one) => one.extension !== extension), { queue, extension }];
}
/** True if the event shows the agent still at the call. */
function engaged({ data }: AgentEvent): boolean {
  const engagement = data.agent?.engagement;
  return engagement === 'talking' || engagement === 'held' || engagement === 'wrap_up';
}
/** The event carries the agent's full state, which also repairs a missed event. */
function follow(board: Board, extension: string, agent: BoardAgent, event: AgentEvent, out: Count[]): void {
  const engagement = event.data.agent?.engagement;
  if (engagement === undefined) return;
  // An agent in no queue has no engagement, also while its talk goes on.
  if (event.type === 'agent.logged_out' && agent.handling?.left === true) return;
  if (engagement === 'idle' || engagement === 'offered' || engagement === 'busy_other') {
    release(board, extension, agent, event.at, out);
  }
  agent.away =
    engagement === 'unreachable' ? 'unreachable' : engagement === 'busy_other' ? 'other_call' : 'no';
}
