import type { DomainEvent } from '@offhook/contract/events.ts';
import type {
  QueueStats,
  QueueStatsQuery,
  QueueStatsReply,
  ServiceLevel,
  WallboardQuery,
  WallboardReply,
} from '@offhook/contract/wallboard.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { agentFiguresOf } from '../../rights/rights.ts';
import type { Principal } from '../../rights/rights.ts';
import { nounOf } from '../../rights/topics.ts';
import type { JournalReader, JournalRow } from '../../ports/journal-store.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import { Counter } from './counter.ts';
import { zoneCalendar } from './days.ts';
import type { ZoneCalendar } from './days.ts';
import { createPublisher } from './live.ts';
import type { Publisher } from './live.ts';
import { Reports, isToday, noSuchQueue } from './reports.ts';
import { WallboardStore } from './store.ts';

export interface WallboardDeps extends Common<'audit' | 'clock' | 'directory' | 'live' | 'log' | 'store'> {
  readonly journal: JournalReader;
  readonly eventOf: (row: JournalRow) => DomainEvent;
  /** Time zone of the site, in which its days begin. */
  readonly zone: string;
  /** Commits `queue.stats`; first called after the first `onCommitted`. */
  readonly publish: (events: readonly DomainEvent[]) => void;
}

/** A reply with the counts and settings from which it was built. */
interface Body {
  readonly version: number;
  readonly settings: string;
  readonly at: number;
  readonly body: Buffer;
}
/** Shortest and longest time between two saves; share of the time for saves and the work between their parts. */
const SAVE_EVERY_MS = 3_000;
const SAVE_WITHIN_MS = 30_000;
const SAVE_SHARE = 1 / 300;
const PURGE_EVERY_MS = 86_400_000;
/** Time for which a body is served without new counts; only waiting times change in it. */
const BODY_MS = 1_000;
/** Shortest time between two bodies under load. */
const BODY_EVERY_MS = 100;
const MAX_BODIES = 100;
interface Parts {
  readonly log: Log;
  readonly store: WallboardStore;
  readonly levels: Map<string, ServiceLevel>;
  readonly counter: Counter;
  readonly calendar: ZoneCalendar;
}

/** Figures of queues and agents: reports, `queue.stats` events and service levels. */
export class Wallboard implements AsyncDisposable {
  readonly #deps: WallboardDeps;
  readonly #log: Log;
  readonly #store: WallboardStore;
  readonly #levels: Map<string, ServiceLevel>;
  readonly #counter: Counter;
  readonly #reports: Reports;
  readonly #publisher: Publisher;
  readonly #stop = new AbortController();
  readonly #keeping: Promise<void>;
  readonly #bodies = new Map<string, Body>();
  #levelsVersion = 0;

  private constructor(deps: WallboardDeps, parts: Parts) {
    const { clock, directory, live, zone, publish } = deps;
    const { log, store, levels, counter, calendar } = parts;
    this.#deps = deps;
    this.#log = log;
    this.#store = store;
    this.#levels = levels;
    this.#counter = counter;
    this.#reports = new Reports({ counter, clock, calendar, directory, live, zone, levels });
    this.#publisher = createPublisher({
      clock,
      live,
      log,
      queues: () => directory.queues().map((queue) => queue.name),
      stats: (queue) => this.#reports.stats(queue),
      publish,
      nextDay: () => counter.today().span.to,
    });
    this.#keeping = this.#keep().catch((error: unknown) => {
      if (!this.#stop.signal.aborted) throw error;
    });
  }
  /** Runs the migrations and counts the journal up to its head. */
  static async open(deps: WallboardDeps): Promise<Wallboard> {
    const { journal, eventOf, clock } = deps;
    const log = deps.log.child({ part: 'wallboard' });
    const calendar = zoneCalendar(deps.zone);
    const store = await WallboardStore.open(deps.store);
    const levels = await store.levels();
    const counter = await Counter.open({ store, journal, eventOf, clock, calendar, log });
    return new Wallboard(deps, { log, store, levels, counter, calendar });
  }

  /** Takes every committed row, in order. */
  onCommitted(rows: readonly JournalRow[], events: readonly DomainEvent[]): void {
    // An agent's wrap-up can end in a queue that the agent has left.
    for (const name of this.#counter.take(rows, events)) this.#publisher.touch(name);
    for (const event of events) this.#touch(event);
  }

  /** Today's figures of a queue, as in `queue.stats`; undefined if there is no such queue. */
  stats(name: string): QueueStats | undefined {
    return this.#deps.directory.queue(name) === undefined ? undefined : this.#reports.stats(name);
  }

  /** Figures of every queue that `who` may see. Throws as `Reports.wallboard`. */
  wallboard(who: Principal, query: WallboardQuery): Promise<WallboardReply> {
    return this.#reports.wallboard(who, query);
  }

  /** Throws as `Reports.queue`. */
  queue(who: Principal, name: string, query: QueueStatsQuery): Promise<QueueStatsReply> {
    return this.#reports.queue(who, name, query);
  }

  /** Throws `no_such_queue`, `store_unavailable`. */
  async setServiceLevel({ caller, ip }: Actor, name: string, level: ServiceLevel): Promise<void> {
    const { audit, directory } = this.#deps;
    if (directory.queue(name) === undefined) throw noSuchQueue(name);
    await this.#store.saveLevel(name, level, async (trx) => {
      await audit.recordIn?.(trx, {
        action: 'queue.service_level',
        actor: caller.username,
        object: name,
        outcome: 'ok',
        ip,
        detail: level,
      });
    });
    this.#levels.set(name, level);
    this.#levelsVersion += 1;
    this.#publisher.touch(name);
  }

  /** Stores the counts. Throws `store_unavailable`. */
  save(): Promise<void> {
    return this.#counter.save();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The reply of `wallboard` as JSON; callers who see the same queues share today's body. */
  async wallboardBody(who: Principal, query: WallboardQuery): Promise<Buffer> {
    const { clock, directory, live } = this.#deps;
    if (!isToday(query)) return Buffer.from(JSON.stringify(await this.wallboard(who, query)));
    const { version } = this.#counter;
    const settings = `${this.#levelsVersion} ${directory.version} ${live.live}`;
    const key = JSON.stringify([this.#reports.seen(who), agentFiguresOf(who), query]);
    const made = this.#bodies.get(key);
    const now = clock.now();
    if (made !== undefined && made.settings === settings && now >= made.at) {
      if (now - made.at < (made.version === version ? BODY_MS : BODY_EVERY_MS)) return made.body;
    }
    const body = Buffer.from(JSON.stringify(await this.wallboard(who, query)));
    if (this.#bodies.size >= MAX_BODIES) this.#bodies.clear();
    this.#bodies.set(key, { version, settings, at: now, body });
    return body;
  }

  async close(): Promise<void> {
    await this.#publisher.close();
    this.#stop.abort();
    await this.#keeping;
    await this.#tryToSave();
  }

  #touch(event: DomainEvent): void {
    if (event.type === 'queue.stats') return;
    const noun = nounOf(event.type);
    if (noun === 'queue' || noun === 'offer') this.#publisher.touch((event.data as { queue: string }).queue);
    else if (noun === 'engine') this.#publisher.touch();
    else if (noun === 'agent' || noun === 'presence') {
      const { extension, queue } = event.data as { extension: string; queue?: string | null };
      if (queue != null) this.#publisher.touch(queue);
      for (const of of this.#deps.live.agent(extension)?.members ?? []) this.#publisher.touch(of.queue);
    } else if (event.type === 'call.transferred') this.#publisher.touch();
  }

  #tryToSave(): Promise<void> {
    return this.#counter.save().catch((error: unknown) => {
      this.#log.warn({ error: messageOf(error) }, 'the figures could not be stored; retrying');
    });
  }

  async #keep(): Promise<void> {
    const { clock } = this.#deps;
    for (let next = clock.now() + 60_000, wait = SAVE_EVERY_MS; ;) {
      await clock.sleep(wait, this.#stop.signal);
      const began = clock.now();
      await this.#tryToSave();
      // With 10,000 agents a save holds the event loop for 50 ms. The next start counts unsaved rows again.
      const pause = (clock.now() - began) / SAVE_SHARE;
      wait = Math.min(Math.max(SAVE_EVERY_MS, pause), SAVE_WITHIN_MS);
      if (clock.now() < next) continue;
      next = clock.now() + PURGE_EVERY_MS;
      await this.#store.purge(clock.now()).catch((error: unknown) => {
        this.#log.warn({ error: messageOf(error) }, 'old figures could not be deleted');
      });
    }
  }
}
