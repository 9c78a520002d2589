import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';

/** Calls each feature, in order; the error of one is logged, and the others and the engine loop continue. `on`: for the log. */
export function eachFeature<F extends { readonly name: string }>(
  features: readonly F[],
  log: Pick<Log, 'error'>,
  on: string,
  call: (feature: F) => void,
): void {
  for (const feature of features) {
    try {
      call(feature);
    } catch (err) {
      log.error({ err, feature: feature.name, on }, `a feature failed: ${messageOf(err)}`);
    }
  }
}
