import { randomBytes } from './chance.ts';
import { firstCheck } from './row-check.ts';

/** Identity of a log when it is opened. */
export interface KeptLog {
  /** Null for a log that was never opened. */
  readonly epoch: string | null;
  /** Random name of this log, which its copies share. */
  readonly id: string;
  /** First seq of the epoch. */
  readonly began: number;
  readonly head: number;
  /** Check of a row; null where the log neither has the row nor knows its check. */
  checkAt(seq: number): string | null;
  /** Time of its newest row, ms since 1970; 0 without a row. */
  readonly newestAt: number;
  /** Why the log must not be continued, e.g. the machine crashed before its tail was flushed; null for no reason. */
  readonly doubt: string | null;
}
/** Position up to which rows of the log were published, stored outside of the log. */
export interface Seal {
  readonly id: string;
  readonly epoch: string;
  readonly head: number;
  readonly check: string;
  readonly at: number;
  /** False if the note itself was copied, restored or left behind: which rows clients saw after it is not known. */
  readonly exact: boolean;
}
export interface Opened {
  readonly epoch: string;
  readonly began: number;
  /** Newest seq that may have been published; new rows come after it. */
  readonly head: number;
  /** Reason for a new epoch; null if the old one continues. */
  readonly why: string | null;
}
/** True for the log of another site, or for one from before a damaged log was replaced. */
export const isForeign = (log: Pick<KeptLog, 'epoch' | 'id'>, seal: Seal | null): boolean =>
  log.epoch !== null && seal !== null && seal.id !== log.id;

/**
 * Numbers left out after the newest known seq if the last seq of a lost log is unknown: `rows`, and `perSecond` for
 * each second since. A reader that sends a seq without its epoch then gets a gap instead of other events.
 */
const SPARE = { rows: 1_000, perSecond: 50 };

/**
 * Continues the epoch of a log that has every row that clients received; else begins a new epoch. It continues only if
 * the seal is exact, names this epoch, and the log still has the sealed row with the sealed check. Later rows are of a
 * process that died between the commit and the seal: no client has received them.
 */
export function openEpoch(log: KeptLog, seal: Seal | null, now: number): Opened {
  const why = doubtOf(log, seal);
  if (why === null) return { epoch: log.epoch!, began: log.began, head: log.head, why };
  const epoch = randomBytes(9, 'epoch').toString('base64url');
  const known = Math.max(log.head, seal?.head ?? 0);
  // A new log without the seal of an earlier one: no client has received a row.
  const first = log.epoch === null && seal === null;
  const since = Math.max(log.newestAt, seal?.at ?? 0);
  const seconds = since === 0 ? 0 : Math.max(0, Math.ceil((now - since) / 1000));
  // With an exact seal one number is left out, so that a cursor at the old epoch's newest row differs from one at the new start.
  const unknown = seal?.exact === true ? 1 : SPARE.rows + SPARE.perSecond * seconds;
  const spare = first ? 0 : unknown;
  return { epoch, began: known + spare + 1, head: known + spare, why };
}
function doubtOf(log: KeptLog, seal: Seal | null): string | null {
  if (log.epoch === null) return seal === null ? 'the log begins' : 'the log was lost';
  if (log.doubt !== null) return log.doubt;
  if (seal === null) return 'nothing says how far the log had come';
  if (!seal.exact) return 'the data folder was copied or restored';
  if (seal.epoch !== log.epoch) return 'the log is another one';
  if (log.head < seal.head) return `the log ends at ${log.head} and had come to ${seal.head}`;
  const check = seal.head < log.began ? firstCheck(log.epoch) : log.checkAt(seal.head);
  // Rows written before the journal had checks have none.
  if (check !== null && check !== '' && check !== seal.check)
    return `the log has another event as ${seal.head}`;
  return check === null ? `the log no longer has ${seal.head}` : null;
}
