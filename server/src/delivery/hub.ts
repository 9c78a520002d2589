import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Journal } from '../journal/journal.ts';
import { Audiences } from './audiences.ts';
import type { Audience } from './audiences.ts';
import { BacklogPages } from './backlog-pages.ts';
import { ROWS_PER_PAGE, bytesOnce, createBatch, firstPiece, sharedBatches } from './batch.ts';
import type { Batch } from './batch.ts';
import type { Reader } from './reader.ts';

export interface HubOptions {
  readonly journal: Journal;
  readonly log: Log;
  /** Limit of essential events that wait for one reader, in bytes. */
  readonly maxBehind?: number | undefined;
  /** Milliseconds of one turn; 0 yields after every reader. */
  readonly turnMs?: number;
  /** Clock in milliseconds that counts the pause between rounds. */
  readonly now?: () => number;
}
export interface HubCounters {
  readonly audiences: number;
  readonly events: number;
  readonly bytes: number;
  /** Committed rows not yet distributed to all readers. */
  readonly lag: number;
  readonly tooSlow: number;
}
/** Milliseconds of work before the event loop runs other work. */
const TURN_MS = 8;
const PULL_MS = 6;
/**
 * Pause after a round: `times` its milliseconds of work for readers that the previous round also served, at most `most`
 * ms, and none below `leastWork` ms. A write to a socket costs about the same for one event and for ten, so readers of
 * many events are written to less often.
 */
const REST = { times: 4, most: 50, leastWork: 2 };
/**
 * Only a hub under lasting load pauses: after `rounds` rounds, each at most `gap` ms after the pause before it. Pauses only
 * delay events if few more come meanwhile, as with clients that send their next request after an event: if the rounds after
 * `pauses` pauses have fewer than `least` rows, or less than `gain` times those of the largest round before the first pause, the
 * next one is tried `vain` rounds later.
 */
const IN_A_ROW = { rounds: 4, gap: 10 };
const JUDGED = { pauses: 4, least: 8, gain: 1.6, vain: 128 };
const MAX_BEHIND = 1024 * 1024;
const RETRY_MS = 500;
/** How long unused pages are kept. */
const SHELF_MS = 2_000;

/** A section of the journal that is being sent to the live readers, in several runs of the event loop if needed. */
interface Round {
  readonly from: number;
  readonly to: number;
  /** False for a piece that more committed rows follow. */
  readonly isLast: boolean;
  readonly audiences: readonly (readonly [Audience, Batch])[];
  next: number;
  readers: Iterator<Reader> | null;
  /** Milliseconds so far. */
  work: number;
  visited: number;
  /** Visited readers to which the previous round also sent events. */
  again: number;
}

/**
 * Distributes committed rows to readers: an index of names to audiences, and one framing for all readers that
 * receive the same rows. Nothing is queued for a reader: a full one keeps its position and reads the journal from
 * there.
 */
export class Hub {
  readonly #journal: Journal;
  readonly #log: Log;
  readonly #maxBehind: number;
  readonly #turnMs: number;
  readonly #now: () => number;
  readonly #audiences = new Audiences();
  readonly #pages: BacklogPages;
  /** Readers that are behind and can take more. */
  readonly #pulling = new Set<Reader>();
  /** Seq up to which the rows were distributed to live readers. */
  #done: number;
  #round: Round | null = null;
  /** Seq after which the rows of the previous round began. */
  #before = Infinity;
  #inARow = 0;
  #paused = false;
  /** Most rows of the rounds in a row before the first pause. */
  #unpausedRows = 0;
  /** Pauses since they were last judged, and rows of the rounds after them. */
  #pauses = 0;
  #pausedRows = 0;
  /** Time before which no round begins: the end of the previous round and of its pause. */
  #notBefore = -Infinity;
  #resting: NodeJS.Timeout | undefined;
  #scheduled = false;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;
  #tidying: NodeJS.Timeout | undefined;
  #events = 0;
  #bytes = 0;
  #tooSlow = 0;

  constructor(options: HubOptions) {
    const { journal, log, maxBehind = MAX_BEHIND, turnMs = TURN_MS } = options;
    this.#journal = journal;
    this.#log = log;
    this.#maxBehind = maxBehind;
    this.#turnMs = turnMs;
    this.#now = options.now ?? (() => performance.now());
    this.#pages = new BacklogPages(journal);
    this.#done = journal.head;
  }

  /** The journal has new rows: sends them in a later turn of the event loop, so that several commits share a write. */
  committed(): void {
    this.#schedule();
  }
  /**
   * Subscribes the reader to `names` from after seq `at`. True when it is live at once; false when it reads the journal
   * first, after which `caughtUp` is called. `last` is the `prev` of its next event.
   */
  attach(reader: Reader, names: readonly string[], at: number, last: number): boolean {
    if (this.#audiences.size === 0 && this.#round === null) this.#done = this.#journal.head;
    const { backlog } = reader;
    this.leave(reader);
    const audience = this.#audiences.of(reader, names);
    Object.assign(reader, { audience, backlog, scanned: at, last, essentialRead: audience.essential });
    if (at >= this.#journal.head && backlog === null) {
      goLive(reader, audience);
      return true;
    }
    this.#fallBehind(reader, at, false);
    return false;
  }
  /** Seq up to which all rows were examined for the reader, apart from its backlog. */
  positionOf(reader: Reader): number {
    return reader.mode === 'live' ? Math.max(reader.scanned, this.#done) : reader.scanned;
  }
  /** A cursor from which the reader misses nothing. */
  safeCursorOf(reader: Reader): number {
    return Math.min(this.positionOf(reader), reader.backlog?.at ?? Infinity);
  }
  /** Makes a live reader read the journal up to the head; true when it is there already, else `caughtUp` follows. */
  bringUp(reader: Reader): boolean {
    if (reader.mode !== 'live') return false;
    const at = this.positionOf(reader);
    if (at >= this.#journal.head) return true;
    this.#fallBehind(reader, at, false);
    return false;
  }
  /** The reader accepts bytes again. */
  takes(reader: Reader): void {
    if (reader.mode !== 'behind') return;
    this.#pulling.add(reader);
    this.#schedule();
  }
  leave(reader: Reader): void {
    const { audience } = reader;
    this.#pulling.delete(reader);
    reader.audience = null;
    reader.mode = 'idle';
    reader.backlog = null;
    reader.slow = false;
    if (audience !== null) this.#audiences.remove(reader, audience);
  }
  counters(): HubCounters {
    return {
      audiences: this.#audiences.size,
      events: this.#events,
      bytes: this.#bytes,
      lag: this.#journal.head - this.#done,
      tooSlow: this.#tooSlow,
    };
  }
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#tidying);
    clearTimeout(this.#resting);
  }

  #schedule(): void {
    if (this.#scheduled || this.#closed || this.#retry !== undefined) return;
    this.#scheduled = true;
    setImmediate(this.#turn);
  }
  /** A field, so that scheduling a turn creates no function. */
  readonly #turn = (): void => {
    this.#scheduled = false;
    if (this.#closed) return;
    try {
      this.#distribute();
      this.#serveBehind();
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'the journal cannot be read for the stream; trying again');
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.#schedule();
      }, RETRY_MS);
      return;
    }
    if (this.#pulling.size === 0) {
      this.#pages.clearShared();
      // In a reconnect storm the next reader comes soon, so the pages are kept a moment.
      this.#tidying ??= setTimeout(() => this.#tidy(), SHELF_MS).unref();
    }
    if (this.#round !== null || this.#pulling.size > 0) this.#schedule();
    else if (this.#journal.head > this.#done) this.#scheduleRound();
  };
  #scheduleRound(): void {
    const rest = Math.ceil(this.#notBefore - this.#now());
    if (rest <= 0) this.#schedule();
    else
      this.#resting ??= setTimeout(() => {
        this.#resting = undefined;
        this.#schedule();
      }, rest);
  }
  #tidy(): void {
    this.#tidying = undefined;
    if (this.#pulling.size === 0) this.#pages.clearShelf();
  }

  #distribute(): void {
    const began = this.#now();
    if (this.#round === null) {
      if (began < this.#notBefore) return;
      this.#round = this.#nextRound();
      if (this.#round === null) return;
      this.#countInARow(this.#round, began);
    }
    const round = this.#round;
    const finished = this.#continue(round, began + this.#turnMs);
    const now = this.#now();
    round.work += now - began;
    if (!finished) return;
    this.#done = round.to;
    this.#before = round.from;
    this.#round = null;
    const pause = this.#pauseAfter(round);
    this.#paused = pause > 0;
    this.#notBefore = now + pause;
  }
  #countInARow({ from, to }: Round, began: number): void {
    const rows = to - from;
    this.#inARow = began - this.#notBefore <= IN_A_ROW.gap ? this.#inARow + 1 : 0;
    if (this.#inARow <= 0) this.#unpausedRows = this.#pausedRows = this.#pauses = 0;
    else if (this.#inARow <= IN_A_ROW.rounds) this.#unpausedRows = Math.max(this.#unpausedRows, rows);
    if (!this.#paused) return;
    this.#pausedRows += rows;
    if (++this.#pauses < JUDGED.pauses) return;
    const least = Math.max(JUDGED.least, JUDGED.gain * this.#unpausedRows);
    if (this.#pausedRows < this.#pauses * least) this.#inARow = -JUDGED.vain;
    this.#pausedRows = this.#pauses = 0;
  }
  /** Pause in ms; 0 if more rows already wait, because the lag would grow with their number. */
  #pauseAfter({ isLast, work, visited, again }: Round): number {
    const repeated = (work * again) / Math.max(1, visited);
    if (!isLast || this.#inARow < IN_A_ROW.rounds || repeated < REST.leastWork) return 0;
    return Math.min(repeated * REST.times, REST.most);
  }
  /** Rows committed and not yet examined, by audience; null when there are none. */
  #nextRound(): Round | null {
    const { head } = this.#journal;
    if (head === this.#done) return null;
    if (this.#audiences.size === 0) {
      this.#done = head;
      return null;
    }
    if (this.#journal.whole > this.#done + 1) this.#skipLost();
    const rows = firstPiece(this.#journal.read(this.#done, ROWS_PER_PAGE));
    const [from, to] = [this.#done, rows.at(-1)?.seq ?? head];
    const batchOf = sharedBatches(from, to);
    const batches: [Audience, Batch][] = [];
    for (const [audience, received] of this.#audiences.receiving(rows)) {
      const batch = batchOf(audience.framing, received);
      audience.essential += batch.essential;
      this.#giveUpSlow(audience);
      if (audience.live.size > 0) batches.push([audience, batch]);
    }
    const isLast = to >= head;
    return { from, to, isLast, audiences: batches, next: 0, readers: null, work: 0, visited: 0, again: 0 };
  }
  /** Rows were trimmed before they were distributed, or events were lost: each live reader finds the gap itself. */
  #skipLost(): void {
    for (const audience of this.#audiences.all())
      for (const reader of audience.live) this.#fallBehind(reader, this.#done, false);
    this.#done = this.#journal.whole - 1;
  }
  #giveUpSlow(audience: Audience): void {
    for (const reader of audience.behind) {
      if (!reader.slow || audience.essential - reader.essentialRead <= this.#maxBehind) continue;
      this.#tooSlow += 1;
      this.leave(reader);
      reader.tooSlow();
    }
  }
  /** True when every reader of the round was visited. */
  #continue(round: Round, until: number): boolean {
    for (let n = 1; ; n += 1) {
      if (round.readers === null) {
        const audience = round.audiences[round.next]?.[0];
        if (audience === undefined) return true;
        round.readers = audience.live.values();
      }
      const reader = round.readers.next();
      const [, batch] = round.audiences[round.next]!;
      if (reader.done === true) {
        round.readers = null;
        round.next += 1;
      } else {
        round.visited += 1;
        if (reader.value.last > this.#before) round.again += 1;
        this.#visit(reader.value, batch);
      }
      if (this.#turnMs === 0 || (n % 32 === 0 && this.#now() > until)) return false;
    }
  }
  #visit(reader: Reader, batch: Batch): void {
    if (reader.scanned >= batch.to) return;
    const from = Math.max(reader.scanned, batch.from);
    if (reader.full) this.#fallBehind(reader, from, true);
    else if (from === batch.from) this.#send(reader, batch);
    else {
      const rows = batch.rows.filter((row) => row.seq > from);
      this.#send(
        reader,
        createBatch(reader.framing, bytesOnce(), { from, to: batch.to, rows, essential: 0 }),
      );
    }
  }
  #send(reader: Reader, batch: Batch): void {
    reader.scanned = batch.to;
    reader.essentialRead += batch.essential;
    if (batch.rows.length === 0) return;
    const piece = batch.bytes(reader.last);
    reader.last = batch.last;
    this.#events += batch.rows.length;
    this.#bytes += piece.length;
    reader.send(piece);
  }
  #fallBehind(reader: Reader, at: number, slow: boolean): void {
    const { audience } = reader;
    if (audience === null) return;
    audience.live.delete(reader);
    audience.behind.add(reader);
    reader.mode = 'behind';
    reader.scanned = at;
    if (slow) {
      reader.slow = true;
      // A batch under way is counted in the audience's essential bytes and was not read by this reader.
      const underWay = this.#round?.audiences.find(([other]) => other === audience)?.[1];
      reader.essentialRead =
        audience.essential - (underWay !== undefined && at < underWay.to ? underWay.essential : 0);
    }
    if (!reader.full) {
      this.#pulling.add(reader);
      this.#schedule();
    }
  }

  #serveBehind(): void {
    const until = performance.now() + PULL_MS;
    for (const reader of this.#pulling) {
      this.#pulling.delete(reader);
      let again = true;
      try {
        again = this.#pull(reader);
      } finally {
        if (again && reader.mode === 'behind' && !reader.full) this.#pulling.add(reader);
      }
      if (performance.now() > until) break;
    }
  }
  /** Sends the next rows to a reader that is behind. True when it needs another turn. */
  #pull(reader: Reader): boolean {
    const { audience, backlog } = reader;
    if (audience === null || reader.mode !== 'behind' || reader.full) return false;
    const at = backlog?.at ?? reader.scanned;
    const to = backlog?.to ?? this.#journal.head;
    if (at >= to) {
      if (backlog !== null) {
        reader.backlog = null;
        return true;
      }
      goLive(reader, audience);
      reader.caughtUp();
      return false;
    }
    if (at + 1 < this.#journal.whole) {
      const { head } = this.#journal;
      reader.backlog = null;
      if (backlog === null) reader.scanned = head;
      reader.missed(at, backlog === null ? head : to);
      return true;
    }
    const batch = this.#pages.page(reader, audience, at, to);
    if (backlog === null) {
      this.#send(reader, batch);
      return reader.mode === 'behind';
    }
    backlog.at = batch.to;
    const { scanned, essentialRead } = reader;
    this.#send(reader, batch);
    Object.assign(reader, { scanned, essentialRead });
    return true;
  }
}

function goLive(reader: Reader, audience: Audience): void {
  audience.behind.delete(reader);
  audience.live.add(reader);
  reader.mode = 'live';
  reader.slow = false;
}
