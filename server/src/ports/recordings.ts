import type { LiveLeg } from './live.ts';

/** What steering a call must know of recordings. The owner is features/recordings. */
export interface RecordingKeeper {
  /**
   * Writes down that this leg is about to be recorded on demand, and resolves with the name for the engine's file.
   * Throws `wrong_call_state` where it is recorded already, `storage_full`, or `store_unavailable`.
   */
  begin(leg: LiveLeg): Promise<string>;
  /** The engine refused it: it never was. */
  takeBack(name: string): Promise<void>;
  /** True while this leg is recorded because the site says so, not because somebody asked. */
  byRule(leg: string): boolean;
  /** What the leg says is not kept from `at` on (ms since 1970), or kept again. Throws `store_unavailable`. */
  paused(leg: string, on: boolean, at: number): Promise<void>;
}
