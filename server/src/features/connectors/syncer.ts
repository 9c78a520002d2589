import type { CustomerSync } from '@offhook/contract/connectors.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { retryDelay } from '../../outbound/schedule.ts';
import { SyncFailure, SyncSchedule } from '../../outbound/sync-schedule.ts';
import type { SyncStop } from '../../outbound/sync-schedule.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SourceSync } from '../../ports/customers.ts';
import { laterCursor } from './format/session.ts';
import type { ConnectorSession } from './format/session.ts';
import { NamedCustomers } from './named-customers.ts';
import type { PhonebookWriter } from './phonebook-writer.ts';
import { ranked } from './ranked.ts';
import type { ConnectorStore, SyncRow } from './store.ts';

export interface SyncerDeps {
  readonly store: Pick<ConnectorStore, 'sync' | 'putSync'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly phonebook: PhonebookWriter;
  readonly chance: () => number;
}
/** Seconds between the attempts to read a page after the first; after the last the sync fails. */
const PAGE_RETRY_SECONDS = [5, 30, 120] as const;
/** A sync does not wait longer for a page; the next one begins when the system asked for. */
const MAX_PAGE_WAIT_MS = 600_000;
const DAY_MS = 86_400_000;
const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
/** Largest share of the stored customers that a list of all customers may delete unless a person accepts it. */
const MOST_GONE = 0.5;
/** Delay after such a list, or one that is too long: reading it again sooner would hardly give another one. */
const REFUSED_SECONDS = 3_600;
/** Limits of one sync, because a faulty system may return pages without end. */
const MAX_PAGES = 10_000;
const MAX_SYNCED = 200_000;
const NEVER: SyncRow = { cursor: null, at: null, customers: 0 };

/** Copies the customers of one connector into the phonebook, page by page, on a schedule until `close`. */
export class CustomerSyncer {
  readonly #connector: number;
  readonly #sync: NonNullable<ConnectorSession['sync']>;
  readonly #deps: SyncerDeps;
  readonly #schedule: SyncSchedule<SyncRow>;
  /** Day of the last attempt to read all customers. */
  #wholeDay: number | null = null;
  /** Why the last attempt to read all customers failed; null after one that succeeded. */
  #wholeWords: string | null = null;
  /** Whether a person wants the next sync to read all customers, and accepts that it deletes any number of them. */
  #wanted = { whole: false, deletes: false };
  constructor(connector: number, sync: NonNullable<ConnectorSession['sync']>, deps: SyncerDeps) {
    this.#connector = connector;
    this.#sync = sync;
    this.#deps = deps;
    this.#schedule = new SyncSchedule({
      clock: deps.clock,
      last: async () => (await deps.store.sync(connector)) ?? NEVER,
      run: (last, stop) => this.#run(last, stop),
      trouble: (error) =>
        deps.log.warn(
          { connector, error: messageOf(error) },
          'the schedule of a customer sync failed; retrying',
        ),
    });
  }
  /** State in the reply about the connector. */
  get state(): CustomerSync {
    return { ...this.#schedule.state, whole_words: this.#wholeWords };
  }
  /** Starts a sync now, or after the one in progress. */
  start(): void {
    this.#schedule.start();
  }
  /**
   * As `start`, for a person: reads all customers if the last attempt failed. `deletes`: reads all customers, and
   * deletes those that are missing, however many.
   */
  startFor({ deletes }: { readonly deletes: boolean }): void {
    const whole = deletes || this.#wholeWords !== null || this.#wanted.whole;
    this.#wanted = { whole, deletes: deletes || this.#wanted.deletes };
    this.start();
  }
  close(grace: AbortSignal): Promise<void> {
    return this.#schedule.close(grace);
  }

  async #run(before: SyncRow, stop: SyncStop): Promise<SyncRow | null> {
    const at = this.#deps.clock.now();
    // Changes do not name a customer that was deleted, merged or renamed, or whose change was committed late or before
    // a restore of the system; so the first sync of each day in UTC reads all customers.
    // One that fails is tried again that day only for a person, so that changes go on.
    const today = dayOf(at);
    const isDaily = before.at === null || (dayOf(before.at) !== today && this.#wholeDay !== today);
    const { whole, deletes } = this.#wanted;
    this.#wanted = { whole: false, deletes: false };
    const from = isDaily || whole ? null : before.cursor;
    if (from !== null) return this.#read(from, at, stop);
    this.#wholeDay = today;
    try {
      // The first list after a change of the settings may be that of another system.
      const last = await this.#read(null, at, stop, deletes ? 'any' : before.at === null ? 'first' : 'few');
      if (last !== null) this.#wholeWords = null;
      return last;
    } catch (error) {
      this.#wholeWords = messageOf(error);
      throw error;
    }
  }
  /**
   * Reads the customers that changed after the cursor `from`; null: all of them, and then deletes the others, of which
   * `gone` limits the number.
   */
  async #read(
    from: string | null,
    at: number,
    stop: SyncStop,
    gone: 'any' | 'first' | 'few' = 'few',
  ): Promise<SyncRow | null> {
    const { phonebook, store } = this.#deps;
    const seen = new NamedCustomers();
    let cursor = from;
    let page: unknown = null;
    for (let pages = 0; ; pages += 1) {
      if (stop.closed) return null;
      if (pages === MAX_PAGES || seen.size > MAX_SYNCED)
        throw new SyncFailure(
          `a sync ends at ${MAX_PAGES} pages or ${MAX_SYNCED} customers`,
          REFUSED_SECONDS,
        );
      const read = await this.#page({ cursor: from, page }, stop);
      if (read === null) return null;
      const { customers } = read;
      // A complete list may name a customer once for each number; in a list of changes, the later row replaces.
      const isChange = read.cursor !== null;
      const sync: SourceSync = {
        named: (id, row) => seen.add(id, row),
        keepsNumbers: (row) => !isChange && seen.has(row),
      };
      await phonebook.store(this.#connector, customers, { sync });
      await phonebook.remove(this.#connector, read.gone);
      if (read.cursor !== null) cursor = laterCursor(cursor, read.cursor);
      const next = read.page;
      if (next === null || next === undefined) break;
      if (JSON.stringify(next) === JSON.stringify(page))
        throw new SyncFailure('the system names the same page as the next one');
      page = next;
    }
    // An empty first list is more likely a fault than an empty system.
    if (from === null && (gone !== 'first' || seen.size > 0)) {
      const refused = await phonebook.removeOthers(this.#connector, seen, at, gone === 'few' ? MOST_GONE : 1);
      // The rights of the user may list only some customers for a while: the site's own fields would be lost with the rest.
      if (refused !== null)
        throw new SyncFailure(
          `the list of all customers lacks ${refused.found} of the ${refused.all} in the phonebook, more than half, so none was deleted; if they are gone there, sync with delete_missing`,
          REFUSED_SECONDS,
        );
    }
    const last: SyncRow = { cursor, at, customers: seen.size };
    await store.putSync(this.#connector, last);
    return last;
  }
  /**
   * One page; null if the sync was stopped. A page after the first is read again if the system was busy or did not
   * answer, because a large system answers hardly ever thousands of requests without a failure.
   */
  async #page(after: { readonly cursor: string | null; readonly page: unknown }, stop: SyncStop) {
    const { clock, chance } = this.#deps;
    for (let attempts = 1; ; attempts += 1) {
      const read = await ranked('sync', () => this.#sync(after, stop.broken));
      if (stop.broken.aborted) return null;
      if (read.kind === 'done') return read.value;
      const { kind, words, retry_after_seconds } = read;
      const mayPass = after.page !== null && (kind === 'unsent' || kind === 'unknown');
      const delay = mayPass ? retryDelay(PAGE_RETRY_SECONDS, attempts, retry_after_seconds, chance()) : null;
      if (delay === null || delay > MAX_PAGE_WAIT_MS) throw new SyncFailure(words, retry_after_seconds);
      await clock.sleep(delay, stop.closing).catch(() => {});
      if (stop.closed) return null;
    }
  }
}
