/** Cursors of clients, compared with the journal. */
import { checkOf } from '../core/row-check.ts';
import type { Journal } from '../journal/journal.ts';
import type { Parts } from './parts.ts';

/** A cursor as sent by a client. */
interface Asked {
  readonly cursor?: number | undefined;
  readonly epoch?: string | undefined;
  readonly check?: string | undefined;
}
/** The wait until a cursor can be compared with the journal; null where it can be now. */
export const reachOf = (
  { reach, journal }: Pick<Parts, 'reach' | 'journal'>,
  { cursor, check }: Asked,
): Promise<void> | null => {
  const seq = Math.max(cursor ?? 0, Number(check?.split(':', 1)[0] ?? 0));
  return seq > journal.head ? reach(seq) : null;
};
const WARN_EVERY_MS = 60_000;
let warnedAt = -Infinity;

/** Why a cursor cannot be resumed; null if it can, or without a cursor. */
export function gapOf(
  { journal, log }: Pick<Parts, 'journal' | 'log'>,
  { cursor, epoch, check }: Asked,
): 'epoch' | 'cursor_ahead' | 'cursor_outdated' | null {
  if (cursor === undefined) return null;
  if (epoch !== undefined && epoch !== journal.epoch) return 'epoch';
  // A cursor without an epoch: a seq from before the current epoch belongs to another one.
  if (cursor + 1 < journal.began) return 'epoch';
  if (cursor > journal.head) return 'cursor_ahead';
  if (check !== undefined && isAnother(journal, check)) {
    if (performance.now() - warnedAt > WARN_EVERY_MS) {
      warnedAt = performance.now();
      log.error(
        { check },
        'a client has read an event that differs from the journal: was the disk restored to an earlier state?',
      );
    }
    return 'epoch';
  }
  return cursor + 1 < journal.whole ? 'cursor_outdated' : null;
}
/** True if the journal holds another event at this seq, or none yet; a row that is no longer kept proves nothing. */
function isAnother(journal: Journal, check: string): boolean {
  const [seq = '', known] = check.split(':');
  if (Number(seq) > journal.head) return true;
  if (Number(seq) < Math.max(journal.tail, journal.began)) return false;
  try {
    const row = journal.read(Number(seq) - 1, 1)[0];
    return row !== undefined && checkOf(row.json) !== known;
  } catch {
    // The read that follows uses the same journal and reports the error.
    return false;
  }
}
