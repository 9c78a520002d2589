import type { LiveLeg } from './live.ts';

/** Recordings as call control uses them. Owner: features/recordings. */
export interface RecordingKeeper {
  /**
   * Stores that this leg is about to be recorded on demand, and resolves with the name of the engine's file. Throws
   * `wrong_call_state` where it is recorded already, `storage_full`, or `store_unavailable`.
   */
  begin(leg: LiveLeg): Promise<string>;
  /** Removes a recording that the engine rejected. */
  takeBack(name: string): Promise<void>;
  /** True while this leg is recorded on demand only. False also for a recording that is not known yet, which a rule may have begun. */
  onDemand(leg: string): boolean;
  /** Stores that the recording of this leg is paused or resumed at `at` (ms since 1970). Throws `store_unavailable`. */
  paused(leg: string, on: boolean, at: number): Promise<void>;
}

/** Audio of a stored recording, a WAV file. The caller disposes of it. */
export interface OpenAudio extends AsyncDisposable {
  readonly bytes: number;
  /** From the beginning at each call. */
  read(): AsyncIterable<Uint8Array>;
}
/** Owner: features/recordings. */
export interface RecordingAudio {
  /** Null where it has no whole file (any more). Throws `store_unavailable` and errors of the file system. */
  open(id: string): Promise<OpenAudio | null>;
}
