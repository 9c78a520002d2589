import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import type { Log } from '../../src/core/log.ts';
import type { Store } from '../../src/ports/store.ts';

const NO_FLUSH = { flush: () => Promise.resolve(), close: () => Promise.resolve() };
/** The real database without its disk: a write takes no time of the world, which a virtual clock could not wait for. */
export const openTestStore = (file: string, options: { log?: Log } = {}): Promise<Store> =>
  openSqliteStore(file, { ...options, flusher: NO_FLUSH });
