import type { CustomerSync } from '@offhook/contract/connectors.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { retryDelay } from '../../outbound/schedule.ts';
import { SyncFailure, SyncSchedule } from '../../outbound/sync-schedule.ts';
import type { SyncStop } from '../../outbound/sync-schedule.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SourceSync } from '../../ports/customers.ts';
import { joinTo } from './format/customers.ts';
import type { ConnectorCustomer } from './format/customers.ts';
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
/** An accepted list may lack this many times the customers that the refused list lacked. */
const MOST_ACCEPTED = 1.1;
/** Delay after such a list, or one that is too long: reading it again sooner would hardly give another one. */
const REFUSED_SECONDS = 3_600;
/** Limits of one sync, because a faulty system may return pages without end. */
const MAX_PAGES = 10_000;
const MAX_SYNCED = 200_000;
type Whole = Pick<SyncRow, 'whole_words' | 'whole_missing'>;
const COMPLETE: Whole = { whole_words: null, whole_missing: null };
const NEVER: SyncRow = { cursor: null, at: null, customers: 0, ...COMPLETE };
/** A person accepts that customers are deleted. `missing`: number that the refused list lacked; null if none was refused. */
interface Accepted {
  readonly missing: number | null;
}
/** Customers that a list of all customers may delete: any number (the first list), few, or the accepted ones. */
type Gone = 'first' | 'few' | Accepted;
/** A person's wish for the next sync. */
interface Wanted {
  readonly person: boolean;
  readonly accepted: Accepted | null;
}
const NOT_WANTED: Wanted = { person: false, accepted: null };
/** Largest number of customers that a list of `listed` ones may delete, of `all` stored ones; null without a limit. */
function mostOf(gone: Gone, listed: number): ((all: number) => number) | null {
  if (gone === 'first') return null;
  if (gone === 'few') return (all) => all * MOST_GONE;
  const { missing } = gone;
  if (missing !== null) return (all) => Math.max(missing * MOST_ACCEPTED, all * MOST_GONE);
  // An empty list is accepted only after its refusal named the number of customers.
  return listed === 0 ? mostOf('few', listed) : null;
}

/** Copies the customers of one connector into the phonebook, page by page, on a schedule until `close`. */
export class CustomerSyncer {
  readonly #connector: number;
  readonly #sync: NonNullable<ConnectorSession['sync']>;
  readonly #deps: SyncerDeps;
  readonly #schedule: SyncSchedule<SyncRow>;
  /** Day of the last attempt to read all customers. */
  #wholeDay: number | null = null;
  /** Result of the last attempt to read all customers, as in the stored row. */
  #whole: Whole = COMPLETE;
  #wanted = NOT_WANTED;
  constructor(connector: number, sync: NonNullable<ConnectorSession['sync']>, deps: SyncerDeps) {
    this.#connector = connector;
    this.#sync = sync;
    this.#deps = deps;
    this.#schedule = new SyncSchedule({
      clock: deps.clock,
      last: async () => {
        const last = (await deps.store.sync(connector)) ?? NEVER;
        const { whole_words, whole_missing } = last;
        this.#whole = { whole_words, whole_missing };
        return last;
      },
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
    return { ...this.#schedule.state, whole_words: this.#whole.whole_words };
  }
  /** Starts a sync now, or after the one in progress. */
  start(): void {
    this.#schedule.start();
  }
  /**
   * As `start`, for a person: reads all customers if the last attempt failed. `deletes`: reads all customers, and
   * deletes those that are missing, unless they are clearly more than those of the list that was refused.
   */
  startFor({ deletes }: { readonly deletes: boolean }): void {
    const accepted = deletes ? { missing: this.#whole.whole_missing } : this.#wanted.accepted;
    this.#wanted = { person: true, accepted };
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
    const { person, accepted } = this.#wanted;
    this.#wanted = NOT_WANTED;
    const isWhole = isDaily || accepted !== null || (person && this.#whole.whole_words !== null);
    const from = isWhole ? null : before.cursor;
    if (from !== null) return this.#read(from, at, stop);
    this.#wholeDay = today;
    try {
      // The first list after a change of the settings may be that of another system.
      return await this.#read(null, at, stop, accepted ?? (before.at === null ? 'first' : 'few'));
    } catch (error) {
      this.#whole = { ...this.#whole, whole_words: messageOf(error) };
      await this.#deps.store.putSync(this.#connector, { ...before, ...this.#whole });
      throw error;
    }
  }
  /**
   * Reads the customers that changed after the cursor `from`; null: all of them, and then deletes the others, of which
   * `gone` limits the number.
   */
  async #read(from: string | null, at: number, stop: SyncStop, gone: Gone = 'few'): Promise<SyncRow | null> {
    const { phonebook, store } = this.#deps;
    const seen = new NamedCustomers();
    let cursor = from;
    let page: unknown = null;
    let held: readonly ConnectorCustomer[] = [];
    for (let pages = 0; ; pages += 1) {
      if (stop.closed) return null;
      if (pages === MAX_PAGES || seen.size > MAX_SYNCED)
        throw new SyncFailure(
          `a sync ends at ${MAX_PAGES} pages or ${MAX_SYNCED} customers`,
          REFUSED_SECONDS,
        );
      const read = await this.#page({ cursor: from, page }, stop);
      if (read === null) return null;
      const next = read.page ?? null;
      const list = new Map(held.map((one) => [one.id, one]));
      for (const one of read.customers) joinTo(list, one);
      const customers = [...list.values()];
      // A complete list may name a customer once for each number; in a list of changes, the later row replaces.
      const isChange = read.cursor !== null;
      // The next page may have the other numbers of the last customer, which it would lose until then.
      const isWhole = isChange || next === null || customers.at(-1)?.adds_numbers !== true;
      held = isWhole ? [] : customers.splice(-1);
      const sync: SourceSync = {
        named: (id, row) => seen.add(id, row),
        keepsNumbers: (row) => !isChange && seen.has(row),
      };
      await phonebook.store(this.#connector, customers, { sync });
      await phonebook.remove(this.#connector, read.gone);
      if (read.cursor !== null) cursor = laterCursor(cursor, read.cursor);
      if (next === null) break;
      if (JSON.stringify(next) === JSON.stringify(page))
        throw new SyncFailure('the system names the same page as the next one');
      page = next;
    }
    // An empty first list is more likely a fault than an empty system.
    if (from === null && (gone !== 'first' || seen.size > 0)) {
      const refused = await phonebook.removeOthers(this.#connector, seen, at, mostOf(gone, seen.size));
      // The rights of the user may list only some customers for a while: the site's own fields would be lost with the rest.
      if (refused !== null) {
        this.#whole = { ...this.#whole, whole_missing: refused.found };
        const accepted = typeof gone === 'object' ? gone.missing : null;
        const most = accepted === null ? 'half' : `the ${accepted} that were accepted`;
        throw new SyncFailure(
          `the list of all customers lacks ${refused.found} of the ${refused.all} in the phonebook, more than ${most}, so none was deleted`,
          REFUSED_SECONDS,
        );
      }
    }
    const whole = from === null ? COMPLETE : this.#whole;
    const last: SyncRow = { cursor, at, customers: seen.size, ...whole };
    await store.putSync(this.#connector, last);
    this.#whole = whole;
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
