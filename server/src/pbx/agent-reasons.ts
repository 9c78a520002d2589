/**
 * Why a member is paused by the system and not by a person: no reason of a catalogue, and never shown as somebody's
 * choice. They are words the engine keeps, so that a service that starts anew knows what they were for.
 */
/** Held back after a queue call until the wrap-up is over. */
export const WRAP_UP = 'wrapup';
/** Taken out after too many unanswered offers. */
export const NO_ANSWER = 'no_answer';
/** Being put into a queue, must not ring yet. */
export const LOGIN = 'login';
/** Leaves the queue as soon as its call is over. */
export const LOGOUT = 'logout';

const SYSTEM: ReadonlySet<string> = new Set([WRAP_UP, NO_ANSWER, LOGIN, LOGOUT]);
export const isSystemReason = (reason: string): boolean => SYSTEM.has(reason);
