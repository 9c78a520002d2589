import type { DisplayKey, NewDisplayKey } from '@offhook/contract/boards.ts';
import type { Actor } from './operations.ts';

/** API keys that open one wallboard each; the caller checks who may ask. All methods throw `store_unavailable`. */
export interface DisplayKeys {
  list(board: number): DisplayKey[];
  /** Throws `invalid_request`, `name_taken`, `limit_reached`; only this reply contains `key`. */
  create(
    actor: Actor,
    board: number,
    wanted: NewDisplayKey,
  ): Promise<{ display_key: DisplayKey; key: string }>;
  /** Throws `not_found`, also for a key of another board. */
  revoke(actor: Actor, board: number, id: number): Promise<void>;
  revokeAll(actor: Actor, board: number): Promise<void>;
  /** The queues of the board changed: its keys follow, and their streams start again. */
  boardChanged(board: number): void;
}
