/**
 * Reasons of a pause by the system, not by a person; never shown as a person's pause reason. The engine stores them, so
 * that a restarted service reads the reason of each pause.
 */
/** Paused after a queue call until the wrap-up is over. */
export const WRAP_UP = 'wrapup';
/** Paused after too many unanswered offers. */
export const NO_ANSWER = 'no_answer';
/** Paused while being added to a queue, so that it does not ring yet. */
export const LOGIN = 'login';
/** Paused until its call is over; the agent then leaves the queue. */
export const LOGOUT = 'logout';

const SYSTEM: ReadonlySet<string> = new Set([WRAP_UP, NO_ANSWER, LOGIN, LOGOUT]);
export const isSystemReason = (reason: string): boolean => SYSTEM.has(reason);
