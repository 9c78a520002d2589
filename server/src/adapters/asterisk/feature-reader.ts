import type { ExtensionFeatures } from '../../ports/engine-state.ts';
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import type { AmiConnection } from './ami/connection.ts';
import { readFeatures } from './actions/features-store.ts';

/** More extensions than people change at once; beyond it all are read. */
const MOST = 200;

export interface FeatureReaderDeps {
  /** Null while there is no connection. */
  readonly ami: () => AmiConnection | null;
  readonly report: (extension: string, features: ExtensionFeatures) => void;
  /** Called where one could not be read, so that a snapshot follows. */
  readonly failed: () => void;
}

/** Reads the stored settings of one extension after the other; repeated requests for a waiting extension are read once. */
export function featureReader({ ami, report, failed }: FeatureReaderDeps): { read(extension: string): void } {
  const waiting = new Set<string>();
  let running = false;
  const run = async (): Promise<void> => {
    for (const extension of waiting) {
      waiting.delete(extension);
      const actions = ami();
      // A restored link begins with a snapshot.
      if (actions === null) continue;
      try {
        const found = await readFeatures(actions, extension);
        report(extension, found.get(extension) ?? FEATURES_OFF);
      } catch {
        failed();
      }
    }
    running = false;
  };
  return {
    read(extension) {
      if (waiting.size >= MOST) return failed();
      waiting.add(extension);
      if (running) return;
      running = true;
      void run();
    },
  };
}
