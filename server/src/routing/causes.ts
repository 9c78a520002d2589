/** Causes that end a call, and limits of every call, for the dialplan and the route test. */
import type { Destination } from '@offhook/contract/config-fields.ts';

/** Cause codes of ITU-T Q.850. */
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
/** Most forwards that one call follows. */
export const MOST_FORWARDS = 5;
/** Most destinations that one call passes; only a configuration with a loop reaches it. */
export const MOST_PLACES = 100;
/** Most simultaneous outside calls from one caller to one number; more indicate a loop. */
export const MOST_ALIKE = 20;
