import { LOGIN, LOGOUT, WRAP_UP } from '../../pbx/agent-reasons.ts';
import type { LiveView } from '../../ports/live.ts';
import type { QueueMember } from '../../ports/engine-state.ts';

/** Membership and pause of an agent in one queue. `reason` is empty unless paused; a non-member is not paused. */
export interface Membership {
  readonly member: boolean;
  readonly paused: boolean;
  readonly reason: string;
}
export const ABSENT: Membership = { member: false, paused: false, reason: '' };
export const READY: Membership = { member: true, paused: false, reason: '' };
export const pausedWith = (reason: string): Membership => ({ member: true, paused: true, reason });

export const sameMembership = (a: Membership, b: Membership): boolean =>
  a.member === b.member && a.paused === b.paused && a.reason === b.reason;
/**
 * Reason in characters that the engine's member list can store. A reason set by other means may hold
 * separators, and a changed letter is better than a pause that cannot be restored.
 */
const carriable = (reason: string): string => reason.replace(/[\p{Cc},;|]/gu, '_');
export const membershipOf = (row: QueueMember | undefined): Membership =>
  row === undefined ? ABSENT : row.paused ? pausedWith(carriable(row.paused_reason)) : READY;

/**
 * State that a person chose, from the state the engine shows: an agent in a wrap-up pause is ready, one that
 * leaves after its call is out.
 */
export const chosen = (shown: Membership): Membership =>
  !shown.paused ? shown : shown.reason === WRAP_UP ? READY : shown.reason === LOGOUT ? ABSENT : shown;
export const choiceOf = (row: QueueMember | undefined): Membership => chosen(membershipOf(row));

/**
 * State of an agent in a queue that it joins beside these rows: a queue joined by an agent that is paused everywhere, or in
 * wrap-up, must not ring it.
 */
export function joinedAs(rows: readonly QueueMember[], wraps: boolean): Membership {
  const staying = rows.filter((row) => !row.paused || ![LOGIN, LOGOUT].includes(row.paused_reason));
  if (staying.length > 0 && staying.every((row) => row.paused)) return pausedWith(staying[0]!.paused_reason);
  return wraps ? pausedWith(WRAP_UP) : READY;
}

/** Every row of the engine for this agent; a queue has several only if members were added in the engine by hand. */
export const rowsOf = (live: LiveView, extension: string): readonly QueueMember[] =>
  live.agent(extension)?.members ?? [];
export const rowIn = (live: LiveView, extension: string, queue: string): QueueMember | undefined =>
  rowsOf(live, extension).find((row) => row.queue === queue);
