import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openTestStore } from '../support/test-store.ts';
import type { Store } from '../../src/ports/store.ts';

/** An empty store in a folder of its own, for tests: `await using temp = await temporaryStore()`. */
export async function temporaryStore(): Promise<AsyncDisposable & { store: Store; folder: string }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-store-'));
  const store = await openTestStore(path.join(folder, 'offhook.db'));
  return {
    store,
    folder,
    async [Symbol.asyncDispose]() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
