import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import type { Log } from '../../src/core/log.ts';
import type { Store } from '../../src/ports/store.ts';

const NO_FLUSH = { flush: () => Promise.resolve(), close: () => Promise.resolve() };
type Opener = (file: string, options?: { log?: Log }) => Promise<Store>;
let opener: Opener = (file, options) => openSqliteStore(file, { ...options, flusher: NO_FLUSH });

/** The real database without its disk: a virtual clock cannot wait for writes. */
export const openTestStore: Opener = (file, options = {}) => opener(file, options);
/** From now on, the tests of this process use another store. */
export function runTestsOver(open: (file: string) => Promise<Store>): void {
  opener = open;
}
