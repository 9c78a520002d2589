/** Files of exports at a standby that led the site before. */
import path from 'node:path';
import { createFileFolder } from '../core/file-folder.ts';
import type { Log } from '../core/log.ts';
import { repeating } from '../core/retry.ts';
import { keptFiles as keptExports } from '../features/exports/store.ts';
import { keptFiles as keptPrivacyExports } from '../features/privacy/store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';

const TIDY_MS = 3_600_000;

/**
 * Deletes the files of exports that expired, or that an erasure deleted, since this node led the site: at once and then every hour.
 * Nothing writes such files before it is disposed of.
 */
export function followExports({
  store,
  data,
  clock,
  log,
}: {
  readonly store: Pick<Store, 'db'>;
  readonly data: string;
  readonly clock: Clock;
  readonly log: Log;
}): AsyncDisposable {
  const kept = { exports: keptExports, privacy: keptPrivacyExports };
  const tidy = async (): Promise<void> => {
    for (const [name, names] of Object.entries(kept))
      await createFileFolder(path.join(data, name), 0).tidy(await names(store.db()));
  };
  const failure = 'files of former exports could not be deleted; trying again in an hour';
  return repeating(tidy, { every_ms: TIDY_MS, failure, clock, log });
}
