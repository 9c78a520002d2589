/** Call records of the simulated engine, in memory. */
import type { CallRecord, CallRecordCheckpoint, CallRecords } from '../../ports/call-records.ts';
import type { Clock } from '../../ports/clock.ts';

const FILE = 'simulated';
const HELD_US = 1_000_000;
const checkpoint = (offset: number): CallRecordCheckpoint => ({ file: FILE, inode: 0, offset, mark: '' });

export interface RecordLog extends Required<CallRecords> {
  write(record: CallRecord): void;
  /** Writes late that the newest call that talked was on hold before its end. False where no call talked. */
  amend(): boolean;
  /** Resolves once the reader has stored every written record; at once without a reader. */
  stored(): Promise<void>;
}
export function createRecordLog(clock: Pick<Clock, 'now'>): RecordLog {
  let written: CallRecord[] = [];
  /** Number of records deleted before the first one of `written`. */
  let forgotten = 0;
  let stored: number | null = null;
  let wake: () => void = () => undefined;
  let position = 0;
  let reading = false;
  let talked: CallRecord | null = null;
  let amended = 0;
  const waiting: (() => void)[] = [];
  const isStored = (): boolean => !reading || (idle && forgotten + written.length === position);
  let idle = false;
  return {
    write(record) {
      written.push(record);
      if (record.type === 'bridge_exit') talked = record;
      wake();
    },
    amend() {
      if (talked === null) return false;
      amended += 1;
      for (const [type, us] of [
        ['music_start', HELD_US],
        ['music_end', 1],
      ] as const)
        written.push({
          ...talked,
          type,
          at_us: talked.at_us - us,
          facts: {},
          key: `late-${amended}-${type}`,
        });
      wake();
      return true;
    },
    async *read(from, signal) {
      position = from?.offset ?? 0;
      const stop = (): void => wake();
      signal.addEventListener('abort', stop, { once: true });
      reading = true;
      try {
        while (!signal.aborted) {
          const records = written.slice(Math.max(0, position - forgotten));
          position = forgotten + written.length;
          yield { records, checkpoint: checkpoint(position), malformed: [], live: true };
          stored = clock.now();
          if (forgotten + written.length > position || signal.aborted) continue;
          idle = true;
          for (const resolve of waiting.splice(0)) resolve();
          await new Promise<void>((resolve) => (wake = resolve));
          idle = false;
        }
      } finally {
        signal.removeEventListener('abort', stop);
        reading = false;
        for (const resolve of waiting.splice(0)) resolve();
      }
    },
    stored: () => (isStored() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    caughtUpAt: () => stored,
    forget(signal) {
      signal.throwIfAborted();
      const read = position - forgotten;
      written = written.slice(read);
      forgotten += read;
      return Promise.resolve();
    },
  };
}
