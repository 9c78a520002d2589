/** Causes that end a call and limits that hold for every call, for the dialplan and the route test. */
import type { Destination } from '@offhook/contract/config-objects.ts';

/** By ITU-T Q.850. */
export const CAUSE = {
  unknown: 1,
  normal: 16,
  busy: 17,
  no_answer: 19,
  absent: 20,
  rejected: 21,
  circle: 25,
  out_of_order: 27,
  no_number: 28,
  full: 34,
} as const;
export type CauseName = keyof typeof CAUSE;
/** Cause of each reason of a `hang_up` destination. */
export const HANG_UP: Readonly<Record<Extract<Destination, { kind: 'hang_up' }>['reason'], CauseName>> = {
  normal: 'normal',
  busy: 'busy',
  congestion: 'full',
  not_found: 'unknown',
};
/** Forwards that one call follows; the next one is not followed. */
export const MOST_FORWARDS = 5;
/** Places that one call passes, more than a caller who listens; a configuration that leads in a circle reaches it at once. */
export const MOST_PLACES = 100;
/** Calls of one caller to one number that are outside at once; more of them are one call that goes in a circle. */
export const MOST_ALIKE = 20;
