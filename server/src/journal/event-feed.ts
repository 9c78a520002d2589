import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import { Backoff } from '../core/backoff.ts';
import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { OutsideStream, StreamEnd } from '../ports/bus.ts';
import type { JournalRow } from '../ports/journal-store.ts';
import type { Journal } from './journal.ts';

/** Rows in one append. */
const PAGE = 64;
const BACKOFF = { first_ms: 100, most_ms: 5_000 } as const;

export interface EventFeedOptions {
  readonly journal: Pick<Journal, 'began' | 'head' | 'tail' | 'read' | 'waitFor'>;
  readonly stream: OutsideStream;
  readonly log: Log;
}
/**
 * Appends every event of the journal to an outside stream, once and in order. It continues after the newest event of
 * the stream, so this node stores no position, and the next leading node continues after the same event.
 */
export class EventFeed {
  readonly #options: EventFeedOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #at: number | null = null;
  #fault: string | null = 'not read yet';

  constructor(options: EventFeedOptions) {
    this.#options = options;
    this.#running = this.#run();
  }
  /** Number of events that the stream lacks; while its position is unknown, all events that the journal keeps. */
  behind(): number {
    const { head, tail } = this.#options.journal;
    return head - (this.#at ?? tail - 1);
  }
  finding(): { readonly ok: boolean; readonly detail: string } {
    const detail = `${this.behind()} events behind`;
    return { ok: this.#fault === null, detail: this.#fault === null ? detail : `${detail}: ${this.#fault}` };
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stop;
    const backoff = new Backoff(BACKOFF);
    while (!signal.aborted) {
      try {
        await this.#feed(() => backoff.reset());
      } catch (error) {
        if (signal.aborted) return;
        const fault = messageOf(error);
        if (fault !== this.#fault)
          log.warn({ error: fault }, 'the event stream for other programs takes no events');
        this.#fault = fault;
      }
      await wait(backoff.next(), undefined, { signal }).catch(() => undefined);
    }
  }
  async #feed(appended: () => void): Promise<void> {
    const { journal, stream } = this.#options;
    const { signal } = this.#stop;
    this.#at = await this.#after(await stream.open());
    this.#fault = null;
    while (!signal.aborted) {
      // Retention deleted events that the stream lacks.
      if (journal.tail > this.#at + 1) this.#at = await this.#after(await stream.open());
      const rows = journal.read(this.#at, PAGE);
      if (rows.length === 0) {
        await journal.waitFor(this.#at + 1, signal);
        continue;
      }
      await stream.append(rows);
      appended();
      this.#at = rows.at(-1)!.seq;
    }
  }
  /** Seq after which to append. Throws if the stream ends with an event that this journal does not have. */
  async #after(end: StreamEnd): Promise<number> {
    const { journal } = this.#options;
    const first = journal.tail - 1;
    if (end.at === 'begin') return first;
    if (end.at === 'expired') return (await this.#since(end.since)) ?? journal.head;
    const { seq, json } = end.event;
    const known = seq > first ? journal.read(seq - 1, 1)[0] : undefined;
    if (known?.seq === seq && known.json === json) return seq;
    if (seq < journal.began) return this.#lost(seq, Math.max(journal.began - 1, first));
    if (seq <= first) return seq === first ? seq : this.#lost(seq, first);
    throw new Error(
      `the stream ends with another event ${seq} than the log of the site, which ends at ${journal.head}`,
    );
  }
  #lost(stored: number, from: number): number {
    this.#options.log.warn(
      { stored, from },
      'the event stream for other programs lacks events that are no longer kept',
    );
    return from;
  }
  /** Seq before the first row of that time or later; null for none. */
  async #since(time: number): Promise<number | null> {
    const { journal } = this.#options;
    for (let rows: readonly JournalRow[], at = journal.tail - 1; (rows = journal.read(at, 500)).length > 0;) {
      const found = rows.find((row) => row.at >= time);
      if (found !== undefined) return found.seq - 1;
      at = rows.at(-1)!.seq;
      // A journal of a million rows takes 2,000 reads; events and requests run between them.
      await setImmediate();
      this.#stop.signal.throwIfAborted();
    }
    return null;
  }
}
