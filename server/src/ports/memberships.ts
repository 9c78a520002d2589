import type { Actor } from './operations.ts';

/**
 * Who works in which queue, by the agents' own rules: what the engine confirmed is kept as intended, survives the engine's
 * restart and is audited. Both resolve once the engine has confirmed, and where it holds already.
 */
export interface Memberships {
  /** Throws `not_in_queue` for an extension that may not work there, `no_such_queue`, or what the engine's verbs throw. */
  join(by: Actor, extension: string, queue: string): Promise<void>;
  /** Throws `static_member` for one that belongs to the queue by configuration, and as `join`. */
  leave(by: Actor, extension: string, queue: string): Promise<void>;
}
