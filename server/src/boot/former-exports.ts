/** Files of exports at a standby that led the site before. */
import path from 'node:path';
import { messageOf } from '../core/errors.ts';
import { createFileFolder } from '../core/file-folder.ts';
import type { Log } from '../core/log.ts';
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
  const stop = new AbortController();
  const kept = { exports: keptExports, privacy: keptPrivacyExports };
  const round = async (): Promise<void> => {
    for (const [name, names] of Object.entries(kept))
      await createFileFolder(path.join(data, name), 0).tidy(await names(store.db()));
  };
  const work = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await round().catch((error: unknown) => {
        log.warn(
          { error: messageOf(error) },
          'files of former exports could not be deleted; trying again in an hour',
        );
      });
      await clock.sleep(TIDY_MS, stop.signal).catch(() => undefined);
    }
  };
  const working = work();
  return {
    [Symbol.asyncDispose]: () => {
      stop.abort();
      return working;
    },
  };
}
