import { ServiceError, messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { follows } from '../core/row-check.ts';
import type { LogNews } from '../ports/bus.ts';
import type { JournalRow, JournalStore } from '../ports/journal-store.ts';
import type { SiteLog } from '../ports/site-log.ts';
import type { LocalJournal } from './journal.ts';

/** Interval between reads of a log without new rows, in ms; the longer one while news of the leading node arrives. */
const FOLLOW_MS = 50;
const WOKEN_MS = 250;
/** The leading node sends news each second; after this silence, in ms, the copy no longer relies on its news. */
const SILENT_MS = 2_500;
/** Interval between two comparisons with the state of the log, in ms. */
const COMPARE_MS = 1_000;
const PAGE = 500;
/** Longest wait for a cursor that is ahead of the copy, in ms. */
const REACH_MS = 5_000;
/** Longest pause of the copy for a snapshot, and the time it then stays at the position of the snapshot, in ms. */
const HOLD_MS = 2_000;
const STAY_MS = 30;

export interface ReplicaOptions {
  readonly siteLog: Pick<SiteLog, 'state' | 'read'>;
  readonly store: JournalStore;
  /** The journal on `store`. */
  readonly journal: LocalJournal;
  readonly log: Log;
  /** Called when the journal has new rows. */
  readonly committed: () => void;
  /** True for an event after which `reload` is awaited before the next event becomes visible. */
  readonly changesRights: (row: JournalRow) => boolean;
  readonly reload: () => Promise<void>;
  /** Called once, when the log no longer continues the copy: the readers of the copy must begin anew. */
  readonly replaced: (why: string) => void;
}

/** Follows the site's log into the copy that the clients of this node read. */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** Number of reads begun so far. */
  #begun = 0;
  readonly #waiting = new Set<{ readonly after: number; readonly resolve: () => void }>();
  #comparedAt = -Infinity;
  #readAt = -Infinity;
  #siteHead: number;
  #wake: (() => void) | null = null;
  /** True from a call of `reach` until the next read begins. */
  #sought = false;
  /** Time until which no rows are appended to the copy, in ms of the steady clock. */
  #heldUntil = -Infinity;
  #meetAt: number | null = null;
  /** Newest seq that the leading node announced, and time of its last news. */
  #told = 0;
  #heardAt = -Infinity;
  /** True after news that led to no rows, until the next regular read, so that forged news causes no further reads. */
  #deaf = false;
  /** True from an event that changes rights until `reload` has read them. */
  #unread = false;
  #over = false;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#siteHead = options.journal.head;
  }
  begin(): void {
    this.#running = this.#run();
  }
  /** Milliseconds since the log was last read. */
  age(): number {
    return performance.now() - this.#readAt;
  }
  /** Number of events that the copy is known to lack. */
  behind(): number {
    return Math.max(0, this.#siteHead - this.#options.journal.head);
  }
  /** True while news of the leading node arrives; the copy then reads the log less often. */
  hears(): boolean {
    return performance.now() - this.#heardAt < SILENT_MS;
  }
  /** Takes news of the leading node. The rows come from the log, never from the news. */
  hear({ epoch, head }: LogNews): void {
    const { journal } = this.#options;
    if (epoch !== journal.epoch) return;
    this.#heardAt = performance.now();
    if (this.#deaf || head <= journal.head) return;
    this.#told = head;
    this.hurry();
  }
  /** Ends the pause between two reads of the log, e.g. because the log is known to hold a new event. */
  hurry(): void {
    this.#wake?.();
  }
  /**
   * Resolves once the copy holds `seq`, or once a read that began after this call has shown that the log ends before
   * `seq`. Rejects with `store_unavailable` if neither happens within `ms`.
   */
  async reach(seq: number, ms = REACH_MS): Promise<void> {
    const { journal } = this.#options;
    if (seq <= journal.head) return;
    const late = AbortSignal.timeout(ms);
    const whole = Promise.withResolvers<void>();
    const waiting = { after: this.#begun, resolve: whole.resolve };
    this.#waiting.add(waiting);
    this.#sought = true;
    this.hurry();
    try {
      await Promise.race([journal.waitFor(seq, late), whole.promise]);
    } catch (error) {
      if (!late.aborted) throw error;
      throw new ServiceError(
        'store_unavailable',
        'this node has not read the newest events yet; try again, or at another node',
      );
    } finally {
      this.#waiting.delete(waiting);
      whole.resolve();
    }
  }
  /** Pauses the copy, so that a snapshot that is requested now is not older than the copy. */
  hold(): void {
    this.#heldUntil = performance.now() + HOLD_MS;
  }
  /** Ends the pause. The copy stops at `seq` for 30 ms, in which it calls `committed`; null for no stop. */
  meet(seq: number | null): void {
    this.#heldUntil = -Infinity;
    this.#meetAt = seq;
    if (seq === this.#options.journal.head) this.#stay();
    this.hurry();
  }
  async close(): Promise<void> {
    this.#stop.abort();
    this.hurry();
    await this.#running;
  }

  #stay(): void {
    this.#meetAt = null;
    this.#heldUntil = performance.now() + STAY_MS;
    this.#options.committed();
  }
  get #isTold(): boolean {
    return !this.#deaf && this.#told > this.#options.journal.head;
  }
  get #held(): boolean {
    return performance.now() < this.#heldUntil;
  }
  async #run(): Promise<void> {
    let away = false;
    const { log } = this.#options;
    while (!this.#stop.signal.aborted && !this.#over) {
      let more = false;
      try {
        more = await this.#step();
        away = false;
      } catch (error) {
        if (!away)
          log.warn({ error: messageOf(error) }, 'the log of the site could not be followed; retrying');
        away = true;
        this.#deaf = true;
      }
      if (!more && (this.#held || !this.#isTold)) await this.#pause();
    }
  }
  async #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#stop.signal.aborted) return;
    // A read that was under way at the time of the call may lack the event.
    if (this.#sought) resolve();
    this.#wake = resolve;
    const timer = setTimeout(resolve, this.hears() && !this.#held ? WOKEN_MS : FOLLOW_MS);
    await promise;
    clearTimeout(timer);
    this.#wake = null;
    this.#sought = false;
  }
  /** Reads the log once; true if more rows are known to follow. */
  async #step(): Promise<boolean> {
    const { journal, siteLog } = this.#options;
    if (performance.now() - this.#comparedAt > COMPARE_MS) {
      await this.#compare();
      if (this.#over) return false;
    }
    if (this.#unread) await this.#reload();
    if (this.#held) return false;
    const begun = (this.#begun += 1);
    const told = this.#isTold;
    const rows = await siteLog.read(journal.head, PAGE);
    this.#deaf = told && rows.length === 0;
    if (this.#deaf) this.#told = 0;
    if (this.#held) return false;
    const whole = await this.#take(rows);
    if (this.#over) return false;
    this.#readAt = performance.now();
    if (!whole) return false;
    if (rows.length === PAGE) return true;
    for (const one of this.#waiting) if (one.after < begun) one.resolve();
    return false;
  }
  /** Appends the rows to the copy; false where some were not appended. */
  async #take(rows: readonly JournalRow[]): Promise<boolean> {
    const { journal, store, committed, changesRights } = this.#options;
    if (rows.length === 0) return true;
    const first = rows[0]!;
    if (first.seq !== journal.head + 1) return this.#replace(`it goes on at ${first.seq}`);
    if (!follows(first, store.check())) return this.#replace(`its event ${journal.head} is another one`);
    this.#siteHead = Math.max(this.#siteHead, rows.at(-1)!.seq);
    let rest = rows;
    while (rest.length > 0) {
      if (this.#meetAt !== null && this.#meetAt <= journal.head) this.#meetAt = null;
      const [meet, change] = [this.#meetAt, rest.findIndex(changesRights)];
      const cut = Math.min(
        rest.length,
        meet === null ? Infinity : meet - journal.head,
        change < 0 ? Infinity : change + 1,
      );
      // Set before the rights are read: if the read fails, the next event still waits for it.
      this.#unread ||= cut === change + 1;
      journal.take(rest.slice(0, cut));
      rest = rest.slice(cut);
      if (journal.head === meet) this.#stay();
      else committed();
      if (this.#unread) await this.#reload();
      if (this.#held) return rest.length === 0;
    }
    return true;
  }
  async #reload(): Promise<void> {
    await this.#options.reload();
    this.#unread = false;
  }
  async #compare(): Promise<void> {
    const { journal, siteLog, store } = this.#options;
    const state = await siteLog.state();
    this.#comparedAt = performance.now();
    if (state === null) return;
    this.#siteHead = state.head;
    if (state.epoch !== journal.epoch) this.#replace(`its epoch is ${state.epoch}`);
    else if (state.tail > journal.head + 1) this.#replace(`it no longer has event ${journal.head + 1}`);
    else if (state.head === journal.head && store.check() !== '' && state.check !== store.check())
      this.#replace(`its event ${journal.head} is another one`);
  }
  #replace(why: string): false {
    this.#over = true;
    this.#options.replaced(why);
    return false;
  }
}
