import type { Actor } from './operations.ts';

/** Do not disturb of an extension, whether set by a feature code, the features or the presence. */
export interface DoNotDisturb {
  /** The last intended state, also while the engine is away. */
  isOn(extension: string): boolean;
  /**
   * Resolves once the engine shows the state and it is stored. `by` is null where its time ran out. Throws `too_many_requests`,
   * `store_unavailable` or the engine's error; the state is then unchanged.
   */
  set(by: Actor | null, extension: string, on: boolean): Promise<void>;
}
