import { randomBytes } from '../core/chance.ts';
import { ServiceError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { checkOf } from '../core/row-check.ts';
import type { CopyFile, JournalStore, KeptCopy } from '../ports/journal-store.ts';
import type { LogState, SiteLog } from '../ports/site-log.ts';

const PAGE = 500;

/**
 * Opens this machine's copy of a site's log, which this process has taken (`state`), and appends the newest rows of the
 * log to the copy. Rows that the log lost are put back from the copy under their seqs. If both hold different rows
 * under one seq, or the log is older than the copy's epoch, clients may have received either: the log gets a new epoch.
 */
export async function attachCopy(options: {
  readonly siteLog: SiteLog;
  readonly state: LogState;
  readonly copyFile: CopyFile;
  readonly log: Log;
  /** Called if the log lacks events of the copy; `since`: time of the first one, null where the log differs. */
  readonly restored?: (since: number | null) => void;
}): Promise<JournalStore> {
  const { siteLog, copyFile, log, restored } = options;
  let { state } = options;
  const compared = await withKept(copyFile, async (kept) => {
    const found = await compare(siteLog, state, kept);
    if (found === 'behind') {
      log.error({ head: state.head, kept: kept.head }, 'the log lost its newest events; they are put back');
      await putBack(siteLog, state, kept);
      restored?.(kept.read(state.head, 1)[0]?.at ?? null);
    } else if (found === 'differs') {
      state = await newEpoch(siteLog, state, kept.head);
      restored?.(null);
      log.error(
        { epoch: state.epoch, began: state.began },
        'the log of this site is another one than clients have read; it has a new epoch',
      );
    }
    return found;
  });
  if (compared === 'differs' || compared === 'outdated') copyFile.discard(compared);
  const copy = openCopy(copyFile, state);
  try {
    for (;;) {
      const rows = await siteLog.read(copy.head(), PAGE);
      if (rows.length === 0) return copy;
      copy.append(rows);
    }
  } catch (error) {
    copy.close();
    throw error;
  }
}
/**
 * Follows the log into the copy of a node that does not lead the site, so that a takeover has few rows to read. It
 * changes nothing in the log; if both differ, the takeover decides.
 */
export class CopyFollower {
  readonly #options: CopyFollowerOptions;
  #copy: JournalStore | null = null;
  #behind: number | null = null;
  #differs = false;
  constructor(options: CopyFollowerOptions) {
    this.#options = options;
  }
  /** Events of the log that the copy lacks; 0 where that is not known. */
  behind(): number {
    return this.#behind ?? 0;
  }
  /** Newest seq in the copy; null while it is not open. */
  head(): number | null {
    return this.#copy?.head() ?? null;
  }
  finding(): { readonly ok: boolean; readonly detail: string } {
    if (this.#differs)
      return { ok: false, detail: 'it differs from the log; a takeover gives the log a new epoch' };
    return {
      ok: this.#behind !== null,
      detail: this.#behind === null ? 'not read yet' : `${this.#behind} events behind`,
    };
  }
  /** Appends the next rows of the log to the copy, and deletes those that the log deleted; many rows need several calls. */
  async follow(): Promise<void> {
    const { siteLog } = this.#options;
    const state = await siteLog.state();
    if (state === null || this.#differs) return;
    const kept = this.#copy;
    if (
      kept !== null &&
      (kept.epoch !== state.epoch || kept.head() > state.head || kept.head() + 1 < state.tail)
    )
      this.close();
    const copy = (this.#copy ??= await this.#open(state));
    if (copy === null) {
      this.#behind = null;
      return;
    }
    // First, because on a full disk the new rows need the space. The rest of many rows waits for the next call.
    if (copy.tail() < state.tail) copy.trim(Math.min(state.tail, copy.tail() + TRIM_ROWS));
    for (let n = 0; n < PAGES_AT_ONCE && copy.head() < state.head; n += 1) {
      const rows = await siteLog.read(copy.head(), PAGE);
      if (rows.length === 0) break;
      copy.append(rows);
    }
    this.#behind = Math.max(0, state.head - copy.head());
  }
  close(): void {
    this.#copy?.close();
    this.#copy = null;
  }
  async #open(state: LogState): Promise<JournalStore | null> {
    const { siteLog, log } = this.#options;
    const copyFile = await this.#options.open();
    if (copyFile === null) return null;
    const compared = await withKept(copyFile, (kept) => compare(siteLog, state, kept));
    // The leading node puts the lost events back; the next call compares again.
    if (compared === 'behind') return null;
    if (compared === 'differs') {
      this.#differs = true;
      log.error({ head: state.head }, 'the copy of this standby holds other events than the log');
      return null;
    }
    if (compared === 'outdated') copyFile.discard(compared);
    return openCopy(copyFile, state);
  }
}
export interface CopyFollowerOptions {
  readonly siteLog: Pick<SiteLog, 'state' | 'read'>;
  /** Null while the site has no name yet. */
  readonly open: () => Promise<CopyFile | null>;
  readonly log: Log;
}
/**
 * Opens the copy at a node that only follows the log and never leads the site; if both differ, a new copy begins. Null
 * while the log lacks events that the copy has; the leading node puts them back.
 */
export async function openFollowed({
  siteLog,
  state,
  copyFile,
}: {
  readonly siteLog: Pick<SiteLog, 'read'>;
  readonly state: LogState;
  readonly copyFile: CopyFile;
}): Promise<JournalStore | null> {
  const compared = await withKept(copyFile, (kept) => compare(siteLog, state, kept));
  if (compared === 'behind') return null;
  if (compared === 'differs' || compared === 'outdated') copyFile.discard(compared);
  return openCopy(copyFile, state);
}
/** Limit of pages in one call of `follow`; between two calls the node requests the lease. */
const PAGES_AT_ONCE = 20;
/** Limit of rows that one call of `follow` deletes. */
const TRIM_ROWS = 5_000;
function openCopy(copyFile: CopyFile, { epoch, began, head, tail, check }: LogState): JournalStore {
  const seq = Math.max(tail, began) - 1;
  return copyFile.open({ epoch, began, after: { seq, check: seq === head ? check : '' } });
}
async function withKept<R>(copyFile: CopyFile, work: (kept: KeptCopy) => Promise<R>): Promise<R | null> {
  using kept = copyFile.kept();
  return kept === null ? null : await work(kept);
}

/** `outdated`: the log no longer has the rows after the copy. `behind`: the log lost the newest rows of the copy. */
async function compare(
  siteLog: Pick<SiteLog, 'read'>,
  state: LogState,
  kept: KeptCopy,
): Promise<'same' | 'behind' | 'outdated' | 'differs'> {
  if (kept.epoch !== state.epoch) return kept.began < state.began ? 'outdated' : 'differs';
  if (kept.head > state.head) {
    const known = state.head < state.began || kept.checkAt(state.head) === state.check;
    return known && kept.read(state.head, 1)[0]?.seq === state.head + 1 ? 'behind' : 'differs';
  }
  if (kept.head + 1 < state.tail) return 'outdated';
  const own = kept.checkAt(kept.head);
  if (kept.head === state.head) return own === null || own === state.check ? 'same' : 'differs';
  const row = kept.head < state.tail ? undefined : (await siteLog.read(kept.head - 1, 1))[0];
  return row === undefined || checkOf(row.json) === own ? 'same' : 'differs';
}
async function putBack(siteLog: SiteLog, state: LogState, kept: KeptCopy): Promise<void> {
  for (let at = state.head; at < kept.head;) {
    const rows = kept.read(at, PAGE);
    const answer = await siteLog.append(state.term, at, rows);
    if (answer !== 'appended') throw taken(answer);
    at = rows.at(-1)!.seq;
  }
}
async function newEpoch(siteLog: SiteLog, state: LogState, known: number): Promise<LogState> {
  const epoch = randomBytes(9, 'epoch').toString('base64url');
  // One seq is left out, so that a cursor at the newest old event is not taken for the start of the new epoch.
  const began = Math.max(known, state.head) + 2;
  if (!(await siteLog.restart(state.term, { epoch, began }))) throw taken('deposed');
  const after = await siteLog.state();
  if (after === null) throw taken('deposed');
  return after;
}
const taken = (answer: string): ServiceError =>
  new ServiceError('store_unavailable', `another process took the log of this site (${answer})`);
