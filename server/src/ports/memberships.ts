import type { Actor } from './operations.ts';

/**
 * Memberships of agents under the agents' own rules: a confirmed change becomes the intended state, survives the engine's
 * restart and is audited. Both methods resolve once the engine has confirmed, or at once where nothing changes.
 */
export interface Memberships {
  /** Throws `not_in_queue` for an extension that may not work there, `no_such_queue`, or an error of the engine's verbs. */
  join(by: Actor, extension: string, queue: string): Promise<void>;
  /** Throws `static_member` for a member by configuration, and as `join`. */
  leave(by: Actor, extension: string, queue: string): Promise<void>;
}
