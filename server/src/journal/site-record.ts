import { ServiceError, messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { checkOf } from '../core/row-check.ts';
import type { JournalRow, JournalStore } from '../ports/journal-store.ts';
import type { SiteLog } from '../ports/site-log.ts';
import type { RowRecord } from './journal.ts';

/** Rows put back by one append. */
const PAGE = 500;

export interface SiteRecordOptions {
  readonly siteLog: SiteLog;
  readonly term: number;
  /** The copy of the log, with every row that is still kept. */
  readonly copy: Pick<JournalStore, 'read' | 'head'>;
  readonly log: Log;
  /** Called once, when this process may no longer append: it must end, and its next start compares the log anew. */
  readonly lost: (why: string) => void;
}

/** The record of a journal whose store is the copy of a site's log. */
export function createSiteRecord(options: SiteRecordOptions): RowRecord {
  const { siteLog, term, copy, log, lost } = options;
  let over: ServiceError | null = null;
  let trimming: Promise<void> | null = null;
  let trimBelow = 0;

  function end(why: string): ServiceError {
    if (over === null) {
      over = new ServiceError('store_unavailable', why);
      log.error({ term }, why);
      lost(why);
    }
    return over;
  }
  /**
   * The log ends before a row that it confirmed: a standby of the database without the newest rows took over, or a
   * backup was restored.
   */
  async function putBack(): Promise<void> {
    const state = await siteLog.state();
    if (state === null || state.term !== term) throw end('the log of this site is another one');
    const known = copy.read(state.head - 1, 1)[0];
    if (known?.seq !== state.head || checkOf(known.json) !== state.check)
      throw end('the log of this site holds other events than it confirmed');
    log.error({ head: state.head, lost: copy.head() - state.head }, 'the log lost its newest events');
    for (let at = state.head; at < copy.head();) {
      const rows = copy.read(at, PAGE);
      const answer = await siteLog.append(term, at, rows);
      if (answer !== 'appended') throw end(refusalOf(answer));
      at = rows.at(-1)!.seq;
    }
    log.warn({ head: copy.head() }, 'the lost events were put back from the copy');
  }
  return {
    async append(rows: readonly JournalRow[]): Promise<void> {
      if (over !== null) throw over;
      const after = rows[0]!.seq - 1;
      for (;;) {
        const answer = await siteLog.append(term, after, rows);
        if (answer === 'appended') return;
        if (answer !== 'behind') throw end(refusalOf(answer));
        await putBack();
      }
    },
    trim(below) {
      trimBelow = Math.max(trimBelow, below);
      trimming ??= siteLog
        .trim(term, trimBelow)
        .catch((error: unknown) => {
          log.warn({ error: messageOf(error) }, 'old events stay in the log until the next deletion');
        })
        .finally(() => (trimming = null));
    },
  };
}
const refusalOf = (answer: 'deposed' | 'other' | 'behind'): string =>
  answer === 'deposed'
    ? 'another process took the log of this site'
    : 'the log of this site holds other events than it confirmed';
