/** Visits whose end no event reported, until the call records do. */
import type { EventData } from '@offhook/contract/events.ts';
import type { Board, UnseenVisit, Visit } from './board.ts';
import { slotOf } from './sums.ts';
import type { Count } from './sums.ts';

/** Longest delay of a visit's call records. */
const KEEP_MS = 7 * 86_400_000;
/** The times of the journal and of the call records differ by less. */
const SOON_MS = 5_000;

/** Counts a visit as lost. */
export function lose(board: Board, visit: Visit, leg_id: string, out: Count[]): void {
  board.lost = [...board.lost, { ...visit, leg_id, call: '' }];
  out.push({ of: 'queue', name: visit.queue, slot: slotOf(visit.joined_at), add: { lost: 1 } });
}

/**
 * Counts the outcome of a visit from the call records, once: a lost visit is no longer lost, a visit without
 * any event is added.
 */
export function settle(board: Board, data: EventData<'queue.caller_settled'>, out: Count[]): void {
  const { queue, leg_id, call_id, outcome, waited_seconds: seconds, waited_ms = seconds * 1000 } = data;
  const said = Date.parse(data.joined_at);
  const isIt = (one: UnseenVisit): boolean =>
    one.queue === queue && one.leg_id === leg_id && Math.abs(one.joined_at - said) < SOON_MS;
  if (board.settled.some(isIt)) return;
  const lost = board.lost.find(isIt);
  if (lost === undefined && data.told) return;
  const joined_at = lost?.joined_at ?? said;
  board.lost = board.lost.filter((one) => one !== lost);
  board.settled = [...board.settled, { queue, leg_id, joined_at, call: call_id }];
  const known =
    board.calls.get(call_id)?.queues.includes(queue) === true ||
    board.settled.filter((one) => one.call === call_id && one.queue === queue).length > 1;
  const add = lost === undefined ? { joined: 1, calls: known ? 0 : 1 } : { lost: -1 };
  const waited = { outcome, seconds, rest_ms: waited_ms - seconds * 1000 };
  out.push({ of: 'queue', name: queue, slot: slotOf(joined_at), add, waited });
}

export function tidySettled(board: Board, at: number): void {
  const isKept = (one: UnseenVisit): boolean => one.joined_at >= at - KEEP_MS;
  if (!board.lost.every(isKept)) board.lost = board.lost.filter(isKept);
  if (!board.settled.every(isKept)) board.settled = board.settled.filter(isKept);
}
