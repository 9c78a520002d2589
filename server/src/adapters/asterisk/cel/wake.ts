import fs from 'node:fs';
import path from 'node:path';

/** Reports that a file may have changed: by file system notifications where they work, and by slow polling in any case. */
export interface Waker {
  /** Resolves after the next change, after `ms`, or when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** Watches again: the folder may be another one under the same name. */
  renew(): void;
  close(): void;
}

/** Watches the folder, because the file itself is renamed and recreated while it is read. */
export function createWaker(file: string): Waker {
  const base = path.basename(file);
  let changed = false;
  let wake: (() => void) | undefined;
  let watcher: fs.FSWatcher | undefined;
  const unwatch = (): void => {
    watcher?.close();
    watcher = undefined;
  };
  const watch = (): void => {
    if (watcher) return;
    try {
      watcher = fs.watch(path.dirname(file), { persistent: false }, (_event, name) => {
        if (name !== null && !name.startsWith(base)) return;
        changed = true;
        wake?.();
      });
      // Too many watches, or a removed folder: polling continues and the next wait tries again.
      watcher.on('error', unwatch);
    } catch {
      watcher = undefined;
    }
  };
  watch();
  return {
    async wait(ms, signal) {
      watch();
      if (changed || signal.aborted) {
        changed = false;
        return;
      }
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          wake = undefined;
          changed = false;
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal.addEventListener('abort', done, { once: true });
        wake = done;
      });
    },
    renew() {
      unwatch();
      watch();
    },
    close: unwatch,
  };
}
