import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import type { Log } from '../../src/core/log.ts';
import type { Store } from '../../src/ports/store.ts';

const NO_FLUSH = { flush: () => Promise.resolve(), close: () => Promise.resolve() };
type Opener = (file: string, options?: { log?: Log }) => Promise<Store>;
let opener: Opener = (file, options) => openSqliteStore(file, { ...options, flusher: NO_FLUSH });

/** The real database without its disk: a write takes no time of the world, which a virtual clock could not wait for. */
export const openTestStore: Opener = (file, options = {}) => opener(file, options);
/** From here on the tests of this process run over another store. */
export function runTestsOver(open: () => Promise<Store>): void {
  opener = open;
}
