import fs from 'node:fs';
import path from 'node:path';
import { ServiceError, messageOf } from '../../core/errors.ts';

/** Flushes committed writes to the disk without blocking the event loop. */
export interface Flusher {
  /**
   * Resolves when everything committed before the call is on the disk. A call during a flush shares the next one. Throws
   * `store_unavailable` where the disk fails.
   */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Performs `synchronous=FULL` outside of SQLite: a commit is in the write-ahead log once its call returns, and on the
 * disk once the log is flushed. SQLite flushes the log's header when the log restarts, and the log before its pages go
 * into the database (`synchronous=NORMAL`), so the order on the disk is the same. SQLite holds no lock on the log's file,
 * so a second descriptor releases none.
 */
export function createFlusher(file: string): Flusher {
  const log = `${file}-wal`;
  let opened: number | undefined;
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;

  const flushed = (descriptor: number): Promise<void> =>
    new Promise((resolve, reject) => {
      fs.fdatasync(descriptor, (error) => {
        if (error === null) resolve();
        else reject(refused(error));
      });
    });
  const refused = (error: unknown): ServiceError =>
    new ServiceError('store_unavailable', `${path.basename(log)} could not be flushed: ${messageOf(error)}`, {
      cause: error,
      retry_after_seconds: 5,
    });
  /** The log stays the same file while a connection is open; its name in the folder must be flushed too. */
  function descriptor(): number {
    if (opened !== undefined) return opened;
    try {
      const folder = fs.openSync(path.dirname(log), 'r');
      try {
        fs.fsyncSync(folder);
      } finally {
        fs.closeSync(folder);
      }
      return (opened = fs.openSync(log, 'r'));
    } catch (error) {
      throw refused(error);
    }
  }
  async function run(before: Promise<void>): Promise<void> {
    // The result of the previous flush was reported to its own waiters.
    await before.catch(() => undefined);
    next = undefined;
    await (running = flushed(descriptor()));
  }
  return {
    flush: () => (next ??= run(running)),
    async close() {
      await next?.catch(() => undefined);
      await running.catch(() => undefined);
      if (opened !== undefined) fs.closeSync(opened);
    },
  };
}
