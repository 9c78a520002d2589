import type { ConnectorSync } from '@offhook/contract/connectors.ts';
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
/** Largest share of the stored customers that a daily list may delete. */
const MOST_GONE = 0.5;
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
  get state(): ConnectorSync {
    return this.#schedule.state;
  }
  /** Starts a sync now, or after the one in progress. */
  start(): void {
    this.#schedule.start();
  }
  close(grace: AbortSignal): Promise<void> {
    return this.#schedule.close(grace);
  }

  async #run(before: SyncRow, stop: SyncStop): Promise<SyncRow | null> {
    const { clock, phonebook, store } = this.#deps;
    const at = clock.now();
    const seen = new NamedCustomers();
    // Changes do not name a customer that was deleted, merged or renamed, or whose change was committed late or before
    // a restore of the system; so the first sync of each day in UTC reads all customers.
    // One that fails is not tried again that day, so that changes go on.
    const today = dayOf(at);
    const isWhole = before.at === null || (dayOf(before.at) !== today && this.#wholeDay !== today);
    if (isWhole) this.#wholeDay = today;
    const from = isWhole ? null : before.cursor;
    let cursor = from;
    let page: unknown = null;
    for (let pages = 0; ; pages += 1) {
      if (stop.closed) return null;
      if (pages === MAX_PAGES || seen.size > MAX_SYNCED)
        throw new SyncFailure(`a sync ends at ${MAX_PAGES} pages or ${MAX_SYNCED} customers`);
      const read = await this.#read({ cursor: from, page }, stop);
      if (read === null) return null;
      const { customers, gone } = read;
      // A complete list may name a customer once for each number; in a list of changes, the later row replaces.
      const isChange = read.cursor !== null;
      const sync: SourceSync = {
        named: (id, row) => seen.add(id, row),
        keepsNumbers: (row) => !isChange && seen.has(row),
      };
      await phonebook.store(this.#connector, customers, { sync });
      await phonebook.remove(this.#connector, gone);
      if (read.cursor !== null) cursor = laterCursor(cursor, read.cursor);
      const next = read.page;
      if (next === null || next === undefined) break;
      if (JSON.stringify(next) === JSON.stringify(page))
        throw new SyncFailure('the system names the same page as the next one');
      page = next;
    }
    // A complete list names every customer; an empty one is more likely a fault than an empty system.
    if (from === null && seen.size > 0) {
      // A system that lists changes may list only some customers for a while: the site's own fields would be lost with the rest.
      const share = before.cursor === null ? 1 : MOST_GONE;
      if (!(await phonebook.removeOthers(this.#connector, seen, at, share)))
        throw new SyncFailure(
          'the list of all customers lacks more than half of those in the phonebook, so none was deleted',
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
  async #read(after: { readonly cursor: string | null; readonly page: unknown }, stop: SyncStop) {
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
