import type { ConnectorSync } from '@offhook/contract/connectors.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
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
}
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
    let { cursor } = before;
    let page: unknown = null;
    for (let pages = 0; ; pages += 1) {
      if (stop.closed) return null;
      if (pages === MAX_PAGES || seen.size > MAX_SYNCED)
        throw new SyncFailure(`a sync ends at ${MAX_PAGES} pages or ${MAX_SYNCED} customers`);
      const signal = stop.broken;
      const read = await ranked('sync', () => this.#sync({ cursor: before.cursor, page }, signal));
      if (signal.aborted) return null;
      if (read.kind !== 'done') throw new SyncFailure(read.words, read.retry_after_seconds);
      const { customers, gone } = read.value;
      // A complete list may name a customer once for each number; in a list of changes, the later row replaces.
      const isChange = read.value.cursor !== null;
      const sync: SourceSync = {
        named: (id, row) => seen.add(id, row),
        keepsNumbers: (row) => !isChange && seen.has(row),
      };
      await phonebook.store(this.#connector, customers, { sync });
      await phonebook.remove(this.#connector, gone);
      if (read.value.cursor !== null) cursor = laterCursor(cursor, read.value.cursor);
      const next = read.value.page;
      if (next === null || next === undefined) break;
      if (JSON.stringify(next) === JSON.stringify(page))
        throw new SyncFailure('the system names the same page as the next one');
      page = next;
    }
    // A complete list names every customer; an empty one is more likely a fault than an empty system.
    if (before.cursor === null && seen.size > 0) await phonebook.removeOthers(this.#connector, seen, at);
    const last: SyncRow = { cursor, at, customers: seen.size };
    await store.putSync(this.#connector, last);
    return last;
  }
}
