import type { Actor } from './operations.ts';

/** Do not disturb of an extension, whichever door it was set by: a code of a phone, the features, the presence. */
export interface DoNotDisturb {
  /** What was meant last, also while the engine is away. */
  isOn(extension: string): boolean;
  /**
   * Resolves once the engine shows it and it is written down. `by` is null where its time is over. Throws `too_many_requests`,
   * `store_unavailable` or what the engine throws; then it is as it was.
   */
  set(by: Actor | null, extension: string, on: boolean): Promise<void>;
}
