import type { DomainEvent } from '@offhook/contract/events.ts';
import { DEFAULT_SERVICE_LEVEL } from '@offhook/contract/wallboard.ts';
import type {
  AgentFigures,
  QueueReport,
  QueueStats,
  QueueStatsQuery,
  QueueStatsReply,
  ServiceLevel,
  WallboardQuery,
  WallboardReply,
} from '@offhook/contract/wallboard.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import { agentFiguresOf, queuesOf, reaches } from '../../rights/rights.ts';
import type { Objects, Principal } from '../../rights/rights.ts';
import { nounOf } from '../../rights/topics.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { JournalReader, JournalRow } from '../../ports/journal-store.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Store } from '../../ports/store.ts';
import { createCounter } from './counter.ts';
import { zoneCalendar } from './days.ts';
import type { Span } from './days.ts';
import { agentFigures, expectedWait, figuresOf } from './figures.ts';
import { agentsByState, createPublisher } from './live.ts';
import { intervalsOf, spanOf } from './span.ts';
import { createWallboardStore } from './store.ts';
import { SLOT_MS, fold, noSums } from './sums.ts';
import type { Count, Sums } from './sums.ts';

export interface WallboardDeps {
  readonly store: Store;
  readonly journal: JournalReader;
  readonly eventOf: (row: JournalRow) => DomainEvent;
  readonly clock: Clock;
  readonly directory: Directory;
  readonly live: LiveView;
  readonly audit: Audit;
  readonly log: Log;
  /** The site's zone: where its days begin. */
  readonly zone: string;
  /** Commits `queue.stats`. Not called before the first committed rows were given. */
  readonly publish: (events: readonly DomainEvent[]) => void;
}
export interface Wallboard extends AsyncDisposable {
  /** Every committed row, in order, once the state before them was counted. */
  onCommitted(rows: readonly JournalRow[], events: readonly DomainEvent[]): void;
  /** Today's figures of a queue, as `queue.stats` has them; undefined where there is no such queue. */
  stats(queue: string): QueueStats | undefined;
  /** Figures of every queue that `who` may see. Throws `invalid_request`, `overloaded`, `store_unavailable`, and `forbidden` for a display that asks for another day than today. */
  wallboard(who: Principal, query: WallboardQuery): Promise<WallboardReply>;
  /** The body of that reply, made once for everybody who sees the same; today's costs little. */
  wallboardBody(who: Principal, query: WallboardQuery): Promise<Buffer>;
  /** Throws as `wallboard`, and `no_such_queue`, also for one that may not be seen. */
  queue(who: Principal, name: string, query: QueueStatsQuery): Promise<QueueStatsReply>;
  /** Throws `no_such_queue`, `store_unavailable`. */
  setServiceLevel(actor: Actor, queue: string, level: ServiceLevel): Promise<void>;
  /** Writes what is counted. */
  save(): Promise<void>;
  close(): Promise<void>;
}

/** A reply as it was made, of which counts and settings. */
interface Body {
  readonly version: number;
  readonly settings: string;
  readonly at: number;
  readonly body: Buffer;
}
const SAVE_EVERY_MS = 3_000;
const PURGE_EVERY_MS = 86_400_000;
/** A prepared reply is given for so long while nothing was counted: only time itself moves in it. */
const BODY_MS = 1_000;
/** Under load it is not made anew more often than this. */
const BODY_EVERY_MS = 100;
const MAX_BODIES = 100;
/** Number of reports that may wait for the one that reads the store. */
const MAX_WAITING = 31;
const MOST_DAYS = { queue: 400, wallboard: 92 } as const;

/** Runs the migrations and counts the journal up to its head. */
export async function createWallboard(deps: WallboardDeps): Promise<Wallboard> {
  const { journal, eventOf, clock, directory, live, audit } = deps;
  const log = deps.log.child({ part: 'wallboard' });
  const calendar = zoneCalendar(deps.zone);
  const store = await createWallboardStore(deps.store);
  const levels = await store.levels();
  const counter = await createCounter({ store, journal, eventOf, clock, calendar, log });
  const stop = new AbortController();
  const bodies = new Map<string, Body>();
  let levelsVersion = 0;

  const levelOf = (queue: string): ServiceLevel => levels.get(queue) ?? DEFAULT_SERVICE_LEVEL;
  const names = (): string[] => directory.queues().map((queue) => queue.name);

  const callersOf = (queue: string): readonly { readonly joined_at: number }[] =>
    live.queue(queue)?.callers ?? [];
  /** Whole seconds that the caller has waited who joined first in the span and still waits. */
  const longestOpen = (queue: string, { from, to }: Span, now: number): number => {
    let longest = 0;
    for (const { joined_at } of callersOf(queue)) {
      if (joined_at >= from && joined_at < to) longest = Math.max(longest, now - joined_at);
    }
    return Math.floor(longest / 1000);
  };
  const nowIn = (queue: string) => {
    const callers = callersOf(queue);
    const since = callers.reduce((least, c) => Math.min(least, c.joined_at), Infinity);
    const agents = agentsByState(live, queue);
    const { available, offered, talking, wrap_up } = agents;
    return {
      waiting: callers.length,
      longest_waiting_since: since === Infinity ? null : rfc3339(since),
      expected_wait_seconds: expectedWait(counter.board.handlings.get(queue) ?? [], callers.length, {
        available,
        atWork: available + offered + talking + wrap_up,
      }),
      agents,
    };
  };
  const stats = (queue: string): QueueStats => {
    const now = clock.now();
    const { date, span } = counter.today();
    const sums = counter.sumsOfToday('queue', queue, counter.running(now, queue));
    const figures = figuresOf(sums, levelOf(queue), null, longestOpen(queue, span, now));
    return { queue, ...figures, day: date, ...nowIn(queue) };
  };

  const publisher = createPublisher({
    clock,
    live,
    log,
    queues: names,
    stats,
    publish: deps.publish,
    nextDay: () => counter.today().span.to,
  });
  const touch = (event: DomainEvent): void => {
    if (event.type === 'queue.stats') return;
    const noun = nounOf(event.type);
    if (noun === 'queue' || noun === 'offer') publisher.touch((event.data as { queue: string }).queue);
    else if (noun === 'engine') publisher.touch();
    else if (noun === 'agent' || noun === 'presence') {
      const { extension, queue } = event.data as { extension: string; queue?: string | null };
      if (queue != null) publisher.touch(queue);
      for (const of of live.agent(extension)?.members ?? []) publisher.touch(of.queue);
    } else if (event.type === 'call.transferred') publisher.touch();
  };

  const tryToSave = (): Promise<void> =>
    counter.save().catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'the figures could not be stored; it is tried again');
    });
  async function keep(): Promise<void> {
    for (let next = clock.now() + 60_000; ;) {
      await clock.sleep(SAVE_EVERY_MS, stop.signal);
      await tryToSave();
      if (clock.now() < next) continue;
      next = clock.now() + PURGE_EVERY_MS;
      await store.purge(clock.now()).catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'old figures could not be deleted');
      });
    }
  }
  const keeping = keep().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });

  /** One report at a time reads the store. */
  const reports = new Queue({
    most_waiting: MAX_WAITING,
    refusal: () =>
      new ServiceError('overloaded', 'too many reports are being made', { retry_after_seconds: 2 }),
  });
  const headOf = (span: Span, day: string | null, now: number) => ({
    success: true as const,
    day,
    zone: deps.zone,
    from: rfc3339(span.from),
    to: rfc3339(span.to),
    as_of: rfc3339(now),
    stale: !live.live,
    gaps: counter.gaps
      .filter((gap) => gap.from < span.to && gap.to > span.from)
      .map(({ from, to, reason, settled = false }) => ({
        from: rfc3339(from),
        to: rfc3339(to),
        reason,
        settled,
      })),
  });
  const over = (level: ServiceLevel, query: WallboardQuery): ServiceLevel => ({
    formula: query.formula ?? level.formula,
    threshold_seconds: query.threshold_seconds ?? level.threshold_seconds,
    short_abandon_seconds: query.short_abandon_seconds ?? level.short_abandon_seconds,
    flow_outs: query.flow_outs ?? level.flow_outs,
  });
  const seen = (who: Principal): Objects =>
    queuesOf(
      who,
      directory.queuesOf(who.extension).map((queue) => queue.name),
    );
  const isToday = (query: WallboardQuery): boolean =>
    query.day === undefined && query.from === undefined && query.to === undefined;

  const checkDay = (who: Principal, query: WallboardQuery): void => {
    if (who.key?.board === undefined || isToday(query)) return;
    throw new ServiceError('forbidden', 'a display is shown today only');
  };

  async function wallboard(who: Principal, query: WallboardQuery): Promise<WallboardReply> {
    checkDay(who, query);
    const now = clock.now();
    const today = counter.today();
    const { span, day } = spanOf(query, calendar, today, MOST_DAYS.wallboard);
    const mayRead = seen(who);
    const queueNames = names().filter((name) => reaches(mayRead, name));
    const present = now >= span.from && now < span.to;
    const running = counter.running(now);
    const all = noSums();
    const queues: QueueReport[] = [];
    const agents: AgentFigures[] = [];
    const mayHear = agentFiguresOf(who);
    let longest = 0;
    const collect = (
      sumsOf: (of: Count['of'], name: string) => Sums,
      extensions: readonly string[],
    ): void => {
      for (const queue of queueNames) {
        const sums = sumsOf('queue', queue);
        const open = longestOpen(queue, span, now);
        longest = Math.max(longest, open);
        fold(all, sums);
        const figures = figuresOf(sums, over(levelOf(queue), query), span, open);
        queues.push({ queue, ...figures, day, ...(present ? nowIn(queue) : {}) });
      }
      for (const extension of extensions) {
        if (!reaches(mayHear, extension)) continue;
        const figures = agentFigures(extension, sumsOf('agent', extension));
        if (Object.values(figures).some((value) => typeof value === 'number' && value > 0))
          agents.push(figures);
      }
    };
    if (isToday(query)) {
      collect((of, name) => counter.sumsOfToday(of, name, running), counter.agentsOfToday());
    } else {
      const [ofQueues, ofAgents] = await reports.run(async () => [
        await counter.totals('queue', span, running),
        await counter.totals('agent', span, running),
      ]);
      const known = { queue: ofQueues, agent: ofAgents };
      collect((of, name) => known[of]!.get(name) ?? noSums(), [...ofAgents!.keys()].sort());
    }
    return {
      ...headOf(span, day, now),
      queues,
      total: figuresOf(all, over(DEFAULT_SERVICE_LEVEL, query), span, longest),
      agents,
    };
  }
  async function wallboardBody(who: Principal, query: WallboardQuery): Promise<Buffer> {
    if (!isToday(query)) return Buffer.from(JSON.stringify(await wallboard(who, query)));
    const { version } = counter;
    const settings = `${levelsVersion} ${directory.version} ${live.live}`;
    const key = JSON.stringify([seen(who), agentFiguresOf(who), query]);
    const made = bodies.get(key);
    const now = clock.now();
    if (made !== undefined && made.settings === settings && now >= made.at) {
      if (now - made.at < (made.version === version ? BODY_MS : BODY_EVERY_MS)) return made.body;
    }
    const body = Buffer.from(JSON.stringify(await wallboard(who, query)));
    if (bodies.size >= MAX_BODIES) bodies.clear();
    bodies.set(key, { version, settings, at: now, body });
    return body;
  }
  async function queue(who: Principal, name: string, query: QueueStatsQuery): Promise<QueueStatsReply> {
    if (!reaches(seen(who), name) || directory.queue(name) === undefined) throw noSuchQueue(name);
    checkDay(who, query);
    const now = clock.now();
    const { span, day } = spanOf(query, calendar, counter.today(), MOST_DAYS.queue);
    const level = over(levelOf(name), query);
    const present = now >= span.from && now < span.to;
    const intervals = query.interval === undefined ? null : intervalsOf(calendar, span, query.interval, now);
    const running = counter.running(now, name);
    let all = noSums();
    const parts = intervals?.map(noSums);
    const read = async (): Promise<void> => {
      if (intervals === null || parts === undefined) {
        all = (await counter.totals('queue', span, running, name)).get(name) ?? all;
        return;
      }
      for await (const page of counter.slots('queue', name, span, running)) {
        for (const [slot, sums] of page) {
          fold(all, sums);
          const part = parts[indexOf(intervals, slot * SLOT_MS)];
          if (part !== undefined) fold(part, sums);
        }
      }
    };
    if (isToday(query)) await read();
    else await reports.run(read);
    const open = longestOpen(name, span, now);
    return {
      ...headOf(span, day, now),
      stats: {
        queue: name,
        ...figuresOf(all, level, span, open),
        day,
        ...(present ? nowIn(name) : {}),
      },
      interval_seconds: query.interval ?? null,
      series:
        intervals?.map((interval, i) => ({
          queue: name,
          ...figuresOf(parts![i]!, level, interval, longestOpen(name, interval, now)),
        })) ?? null,
    };
  }

  const close = async (): Promise<void> => {
    await publisher.close();
    stop.abort();
    await keeping;
    await tryToSave();
  };
  return {
    onCommitted(rows, events) {
      // An agent's wrap-up can end in a queue that the agent has left.
      for (const name of counter.take(rows, events)) publisher.touch(name);
      for (const event of events) touch(event);
    },
    stats: (name) => (directory.queue(name) === undefined ? undefined : stats(name)),
    wallboard,
    wallboardBody,
    queue,
    async setServiceLevel({ caller, ip }, name, level) {
      if (directory.queue(name) === undefined) throw noSuchQueue(name);
      await store.saveLevel(name, level, async (trx) => {
        await audit.recordIn?.(trx, {
          action: 'queue.service_level',
          actor: caller.username,
          object: name,
          outcome: 'ok',
          ip,
          detail: level,
        });
      });
      levels.set(name, level);
      levelsVersion += 1;
      publisher.touch(name);
    },
    save: () => counter.save(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
const noSuchQueue = (name: string): ServiceError =>
  new ServiceError('no_such_queue', say`there is no queue ${name.slice(0, 64)}`);

/** The last interval that begins no later than `ms`. */
function indexOf(intervals: readonly Span[], ms: number): number {
  let [low, high] = [0, intervals.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (intervals[middle]!.from <= ms) low = middle;
    else high = middle - 1;
  }
  return low;
}
