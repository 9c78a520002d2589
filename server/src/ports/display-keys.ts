import type { DisplayKey, NewDisplayKey } from '@offhook/contract/boards.ts';
import type { Actor } from './operations.ts';

/** Keys that open one wallboard each; who may ask is for the caller to decide. All throw `store_unavailable`. */
export interface DisplayKeys {
  list(board: number): DisplayKey[];
  /** Throws `invalid_request`, `name_taken`, `limit_reached`; `key` is shown this once. */
  create(
    actor: Actor,
    board: number,
    wanted: NewDisplayKey,
  ): Promise<{ display_key: DisplayKey; key: string }>;
  /** Throws `not_found`, also for a key of another board. */
  revoke(actor: Actor, board: number, id: number): Promise<void>;
  revokeAll(actor: Actor, board: number): Promise<void>;
  /** The board has other queues: its keys get them, and what they opened begins anew. */
  boardChanged(board: number): void;
}
