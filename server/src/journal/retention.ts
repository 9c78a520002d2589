import { setImmediate as turn } from 'node:timers/promises';
import { messageOf } from '../core/errors.ts';
import type { Common } from '../ports/common.ts';
import type { Journal } from './journal.ts';

const EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
/** Rows deleted per write, so that a commit never waits long. */
const STEP = 500;

export interface RetentionOptions extends Common<'clock' | 'log'> {
  readonly journal: Pick<Journal, 'head' | 'tail' | 'bytes' | 'read' | 'trim'>;
  /** Seq up to which the next start reads no row. */
  readonly spare: () => number;
  readonly days: number;
  /** Limit of the kept rows in bytes. */
  readonly bytes: number;
  readonly signal: AbortSignal;
}
/**
 * Deletes the oldest rows once a minute: those older than `days`, and as many as needed to stay below `bytes`. Rows
 * after `spare` are always kept. Resolves when the signal is aborted.
 */
export async function keepRetention(options: RetentionOptions): Promise<void> {
  const { clock, log, signal } = options;
  const enough = async (): Promise<boolean> => {
    await clock.sleep(EVERY_MS, signal).catch(() => undefined);
    return signal.aborted;
  };
  while (!(await enough())) {
    try {
      await trim(options);
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'old events could not be deleted; trying again in a minute');
    }
  }
}
async function trim({ journal, spare, clock, log, days, bytes, signal }: RetentionOptions): Promise<void> {
  const oldest = clock.now() - days * DAY_MS;
  const last = spare();
  const from = journal.tail;
  while (!signal.aborted && journal.tail <= last) {
    const rows = journal.read(journal.tail - 1, STEP);
    const crowded = journal.bytes > bytes;
    const keep = crowded ? undefined : rows.find((row) => row.at >= oldest);
    const below = Math.min(keep?.seq ?? (rows.at(-1)?.seq ?? journal.head) + 1, last + 1);
    if (below <= journal.tail) break;
    journal.trim(below);
    await turn();
  }
  if (journal.tail > from) log.info({ from, to: journal.tail - 1 }, 'old events were deleted');
}
