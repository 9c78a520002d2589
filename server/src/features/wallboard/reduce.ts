import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { indexAgents } from './board.ts';
import type { Board } from './board.ts';
import { agentEvent, besideOver, callOver, countAgents } from './handling.ts';
import { lose, settle, tidySettled } from './settle.ts';
import { SLOT_MS, slotOf } from './sums.ts';
import type { Count } from './sums.ts';

/** Time after which a visit or a call without an end counts as ended unseen. */
const LONGEST_OPEN_MS = 86_400_000;

/**
 * Applies one journal event to the board and returns its counts: the only way from events to figures, live
 * and replayed. Uses only the events' times. O(1), and once per slot O(open visits, calls and
 * memberships of agents).
 *
 * A visit counts in the slot of its join, whatever its outcome; it has one outcome, since its end removes it
 * from the board. Everything else counts in the slot of its event.
 */
export function reduce(board: Board, event: DomainEvent): readonly Count[] {
  const out: Count[] = [];
  const slot = slotOf(event.at);
  if (slot > board.tidied_slot) tidy(board, event.at, slot, out);
  switch (event.type) {
    case 'queue.caller_joined':
      joined(board, event, out);
      break;
    case 'queue.caller_left': {
      const { reason } = event.data;
      const outcome = reason === 'answered' ? 'answered' : reason === 'engine_lost' ? 'lost' : 'flowed_out';
      ended(board, event, outcome, out);
      break;
    }
    case 'queue.caller_abandoned':
      ended(board, event, 'abandoned', out);
      break;
    case 'queue.caller_settled':
      settle(board, event.data, out);
      break;
    case 'offer.accepted':
      if (event.data.extension !== null) {
        out.push({ of: 'agent', name: event.data.extension, slot, add: { offers_accepted: 1 } });
      }
      break;
    case 'offer.timeout':
    case 'offer.rejected': {
      const { queue, extension } = event.data;
      const add = { missed_offers: 1 };
      out.push({ of: 'queue', name: queue, slot, add });
      if (extension !== null) out.push({ of: 'agent', name: extension, slot, add });
      break;
    }
    case 'call.transferred':
      transferred(board, event.data, event.at, out);
      break;
    case 'call.ended':
      callEnded(board, event.data, event.at, out);
      break;
    default:
      if (isAgentEvent(event)) agentEvent(board, event, out);
  }
  return out;
}
const isAgentEvent = (event: DomainEvent): event is Extract<DomainEvent, { type: `agent.${string}` }> =>
  event.type.startsWith('agent.');

const TYPES: ReadonlySet<string> = new Set([
  'queue.caller_joined',
  'queue.caller_left',
  'queue.caller_abandoned',
  'queue.caller_settled',
  'offer.accepted',
  'offer.timeout',
  'offer.rejected',
  'call.transferred',
  'call.ended',
]);
/** False for event types that `reduce` ignores, so that their rows need not be parsed. */
export const counts = (type: string): boolean => TYPES.has(type) || type.startsWith('agent.');

const visitKey = (data: { readonly queue: string; readonly leg_id: string }): string =>
  `${data.queue}\n${data.leg_id}`;
type EventOf<T extends DomainEvent['type']> = Extract<DomainEvent, { type: T }>;

function joined(board: Board, event: EventOf<'queue.caller_joined'>, out: Count[]): void {
  const { data } = event;
  const { queue, call_id } = data;
  const joinedAt = Date.parse(data.joined_at);
  const joined_at = Number.isNaN(joinedAt) ? event.at : joinedAt;
  const key = visitKey(data);
  const open = board.visits.get(key);
  // A repeated event, as after a restart.
  if (open?.joined_at === joined_at) return;
  if (open !== undefined) lose(board, open, data.leg_id, out);
  board.visits.set(key, { queue, joined_at });
  const call = board.calls.get(call_id);
  const isNew = call?.queues.includes(queue) !== true;
  if (call === undefined) {
    board.calls.set(call_id, { since: event.at, queues: [queue], agents: [], handled: [] });
  } else if (isNew) call.queues.push(queue);
  const add = { joined: 1, calls: isNew ? 1 : 0 };
  out.push({ of: 'queue', name: queue, slot: slotOf(joined_at), add });
}
function ended(
  board: Board,
  event: EventOf<'queue.caller_left' | 'queue.caller_abandoned'>,
  outcome: 'answered' | 'abandoned' | 'flowed_out' | 'lost',
  out: Count[],
): void {
  const key = visitKey(event.data);
  const visit = board.visits.get(key);
  if (visit === undefined) return;
  board.visits.delete(key);
  if (outcome === 'lost') return lose(board, visit, event.data.leg_id, out);
  const { waited_seconds: seconds, waited_ms = seconds * 1000 } = event.data;
  out.push({
    of: 'queue',
    name: visit.queue,
    slot: slotOf(visit.joined_at),
    add: event.observed === 'resync' ? { ended_unobserved: 1 } : {},
    waited: { outcome, seconds, rest_ms: waited_ms - seconds * 1000 },
  });
}

function transferred(board: Board, data: EventData<'call.transferred'>, at: number, out: Count[]): void {
  if (data.kind === 'pickup') return;
  const slot = slotOf(at);
  for (const id of [data.call_id, data.merged_call_id]) {
    const call = id === null ? undefined : board.calls.get(id);
    const handler = call?.handled.findLast(({ extension }) => data.by === null || data.by === extension);
    if (call === undefined || handler === undefined) continue;
    const add = { transferred: 1 };
    const { queue, extension } = handler;
    out.push({ of: 'queue', name: queue, slot, add });
    out.push({ of: 'agent', name: extension, slot, add });
    call.handled = call.handled.filter((one) => one !== handler);
    if (data.by !== extension) continue;
    besideOver(board, extension, id!, null, at, out);
    callOver(board, extension, at, out);
  }
}
function callEnded(board: Board, data: EventData<'call.ended'>, at: number, out: Count[]): void {
  const call = board.calls.get(data.call_id);
  if (call === undefined) return;
  board.calls.delete(data.call_id);
  const { merged_into } = data;
  for (const extension of call.agents) {
    besideOver(board, extension, data.call_id, data.merged_into, at, out);
    const handling = board.agents.get(extension)?.handling;
    if (handling?.call !== data.call_id) continue;
    if (merged_into !== null) handling.call = merged_into;
    else {
      handling.call_ended_at ??= at;
      callOver(board, extension, at, out);
    }
  }
  if (merged_into === null) return;
  const into = board.calls.get(merged_into);
  if (into === undefined) {
    board.calls.set(merged_into, call);
    return;
  }
  for (const queue of call.queues) if (!into.queues.includes(queue)) into.queues.push(queue);
  for (const extension of call.agents) if (!into.agents.includes(extension)) into.agents.push(extension);
  const isIn = (extension: string): boolean => into.handled.some((one) => one.extension === extension);
  into.handled = [...call.handled.filter((one) => !isIn(one.extension)), ...into.handled];
}

function tidy(board: Board, at: number, slot: number, out: Count[]): void {
  board.tidied_slot = slot;
  const oldest = at - LONGEST_OPEN_MS;
  for (const [key, visit] of board.visits) {
    if (visit.joined_at >= oldest) continue;
    board.visits.delete(key);
    lose(board, visit, key.slice(visit.queue.length + 1), out);
  }
  tidySettled(board, at);
  for (const [id, call] of board.calls) if (call.since < oldest) board.calls.delete(id);
  // Not the slot that has just ended: the clock of another engine may be minutes behind the one of this event.
  countAgents(board, (slot - 1) * SLOT_MS, out);
}

/**
 * Skips the unknown time before `at`: agents' work in it is not counted. Visits stay open until their end is
 * reported; a visit that ended in the gap counts as lost after a day.
 */
export function skipGap(board: Board, at: number): void {
  for (const agent of board.agents.values()) {
    agent.handling = null;
    delete agent.beside;
    agent.away = 'no';
    agent.counted_to = Math.max(agent.counted_to, at);
  }
  indexAgents(board);
}
