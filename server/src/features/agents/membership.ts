import { LOGOUT, WRAP_UP } from '../../pbx/agent-reasons.ts';
import type { LiveView } from '../../ports/live.ts';
import type { QueueMember } from '../../ports/engine.ts';

/** Whether an agent is in a queue, and paused there. `reason` is empty unless paused; `paused` is false when not a member. */
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
 * A reason as the engine can be told it again: one set by other means may hold what would break its member list, and a pause that
 * cannot be restored is worse than a reason with another letter in it.
 */
export const carriable = (reason: string): string => reason.replace(/[\p{Cc},;|]/gu, '_');
export const membershipOf = (row: QueueMember | undefined): Membership =>
  row === undefined ? ABSENT : row.paused ? pausedWith(carriable(row.paused_reason)) : READY;

/**
 * What somebody chose where the engine shows this: one whom the system holds back after a call is ready, and one who leaves
 * when the call is over is out.
 */
export const chosen = (shown: Membership): Membership =>
  !shown.paused ? shown : shown.reason === WRAP_UP ? READY : shown.reason === LOGOUT ? ABSENT : shown;
export const choiceOf = (row: QueueMember | undefined): Membership => chosen(membershipOf(row));

/** Every row of the engine for this agent; one queue has more than one only when somebody added it by hand. */
export const rowsOf = (live: LiveView, extension: string): readonly QueueMember[] =>
  live.agent(extension)?.members ?? [];
export const rowIn = (live: LiveView, extension: string, queue: string): QueueMember | undefined =>
  rowsOf(live, extension).find((row) => row.queue === queue);
