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
import { ServiceError } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import { agentFiguresOf, queuesOf, reaches } from '../../rights/rights.ts';
import type { Objects, Principal } from '../../rights/rights.ts';
import type { Common } from '../../ports/common.ts';
import type { Counter } from './counter.ts';
import type { Span, ZoneCalendar } from './days.ts';
import { agentFigures, expectedWait, figuresOf } from './figures.ts';
import { isSettled } from './gaps.ts';
import { agentsByState } from './live.ts';
import { intervalsOf, spanOf } from './span.ts';
import { SLOT_MS, fold, noSums } from './sums.ts';
import type { Count, Sums } from './sums.ts';

/** Limit of reports that wait for the one that reads the store. */
const MAX_WAITING = 31;
const MOST_DAYS = { queue: 400, wallboard: 92 } as const;

export interface ReportsDeps extends Common<'clock' | 'directory' | 'live'> {
  readonly counter: Counter;
  readonly calendar: ZoneCalendar;
  readonly zone: string;
  /** Service levels of queues with their own. */
  readonly levels: ReadonlyMap<string, ServiceLevel>;
}

/** True if the query is for the current day. */
export const isToday = ({ day, from, to }: WallboardQuery): boolean =>
  day === undefined && from === undefined && to === undefined;

function checkDay(who: Principal, query: WallboardQuery): void {
  if (who.key?.board === undefined || isToday(query)) return;
  throw new ServiceError('forbidden', 'a display key can read the present day only');
}
const over = (level: ServiceLevel, query: WallboardQuery): ServiceLevel => ({
  formula: query.formula ?? level.formula,
  threshold_seconds: query.threshold_seconds ?? level.threshold_seconds,
  short_abandon_seconds: query.short_abandon_seconds ?? level.short_abandon_seconds,
  flow_outs: query.flow_outs ?? level.flow_outs,
});

/** Builds the figures of queues and agents from counts and live state. */
export class Reports {
  readonly #deps: ReportsDeps;
  /** Reports that read the store run one at a time. */
  readonly #reports = new Queue({
    most_waiting: MAX_WAITING,
    refusal: () =>
      new ServiceError('overloaded', 'too many reports are being built; try again later', {
        retry_after_seconds: 2,
      }),
  });

  constructor(deps: ReportsDeps) {
    this.#deps = deps;
  }

  /** Today's figures of a queue. */
  stats(queue: string): QueueStats {
    const { clock, counter } = this.#deps;
    const now = clock.now();
    const { date, span } = counter.today();
    const sums = counter.sumsOfToday('queue', queue, counter.running(now, queue));
    const figures = figuresOf(sums, this.#levelOf(queue), null, this.#longestOpen(queue, span, now));
    return { queue: queue, ...figures, day: date, ...this.#nowIn(queue) };
  }

  /** Queues that `who` may see. */
  seen(who: Principal): Objects {
    return queuesOf(
      who,
      this.#deps.directory.queuesOf(who.extension).map((queue) => queue.name),
    );
  }

  /**
   * Throws `invalid_request`, `overloaded`, `store_unavailable`, and `forbidden` for a display that requests
   * another day.
   */
  async wallboard(who: Principal, query: WallboardQuery): Promise<WallboardReply> {
    const { calendar, clock, counter, directory } = this.#deps;
    checkDay(who, query);
    const now = clock.now();
    const today = counter.today();
    const { span, day } = spanOf(query, calendar, today, MOST_DAYS.wallboard);
    const mayRead = this.seen(who);
    const queueNames = directory
      .queues()
      .map((queue) => queue.name)
      .filter((name) => reaches(mayRead, name));
    const present = now >= span.from && now < span.to;
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
        const open = this.#longestOpen(queue, span, now);
        longest = Math.max(longest, open);
        fold(all, sums);
        const figures = figuresOf(sums, over(this.#levelOf(queue), query), span, open);
        queues.push({ queue: queue, ...figures, day, ...(present ? this.#nowIn(queue) : {}) });
      }
      for (const extension of extensions) {
        if (!reaches(mayHear, extension)) continue;
        const figures = agentFigures(extension, sumsOf('agent', extension));
        if (Object.values(figures).some((value) => typeof value === 'number' && value > 0))
          agents.push(figures);
      }
    };
    if (isToday(query)) {
      const running = counter.running(now);
      collect((of, name) => counter.sumsOfToday(of, name, running), counter.agentsOfToday());
    } else {
      const [ofQueues, ofAgents] = await this.#reports.run(async () => [
        await counter.totals('queue', span, now),
        await counter.totals('agent', span, now),
      ]);
      const known = { queue: ofQueues, agent: ofAgents };
      collect((of, name) => known[of]!.get(name) ?? noSums(), [...ofAgents!.keys()].sort());
    }
    return {
      ...this.#headOf(span, day, now),
      queues,
      total: figuresOf(all, over(DEFAULT_SERVICE_LEVEL, query), span, longest),
      agents,
    };
  }

  /** Throws as `wallboard`, and `no_such_queue`, also for a queue that `who` may not see. */
  async queue(who: Principal, name: string, query: QueueStatsQuery): Promise<QueueStatsReply> {
    const { calendar, clock, counter, directory } = this.#deps;
    if (!reaches(this.seen(who), name) || directory.queue(name) === undefined) throw noSuchQueue(name);
    checkDay(who, query);
    const now = clock.now();
    const { span, day } = spanOf(query, calendar, counter.today(), MOST_DAYS.queue);
    const level = over(this.#levelOf(name), query);
    const present = now >= span.from && now < span.to;
    const intervals = query.interval === undefined ? null : intervalsOf(calendar, span, query.interval, now);
    let all = noSums();
    const parts = intervals?.map(noSums);
    const read = async (): Promise<void> => {
      if (intervals === null || parts === undefined) {
        all = (await counter.totals('queue', span, now, name)).get(name) ?? all;
        return;
      }
      for await (const page of counter.slots('queue', name, span, now)) {
        for (const [slot, sums] of page) {
          fold(all, sums);
          const part = parts[indexOf(intervals, slot * SLOT_MS)];
          if (part !== undefined) fold(part, sums);
        }
      }
    };
    if (isToday(query)) await read();
    else await this.#reports.run(read);
    const open = this.#longestOpen(name, span, now);
    return {
      ...this.#headOf(span, day, now),
      stats: {
        queue: name,
        ...figuresOf(all, level, span, open),
        day,
        ...(present ? this.#nowIn(name) : {}),
      },
      interval_seconds: query.interval ?? null,
      series:
        intervals?.map((interval, i) => ({
          queue: name,
          ...figuresOf(parts![i]!, level, interval, this.#longestOpen(name, interval, now)),
        })) ?? null,
    };
  }

  #levelOf(queue: string): ServiceLevel {
    return this.#deps.levels.get(queue) ?? DEFAULT_SERVICE_LEVEL;
  }

  #callersOf(queue: string): readonly { readonly joined_at: number }[] {
    return this.#deps.live.queue(queue)?.callers ?? [];
  }

  /** Whole seconds waited by the first caller that joined in the span and still waits. */
  #longestOpen(queue: string, { from, to }: Span, now: number): number {
    let longest = 0;
    for (const { joined_at } of this.#callersOf(queue)) {
      if (joined_at >= from && joined_at < to) longest = Math.max(longest, now - joined_at);
    }
    return Math.floor(longest / 1000);
  }

  #nowIn(queue: string) {
    const { counter, live } = this.#deps;
    const callers = this.#callersOf(queue);
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
  }

  #headOf(span: Span, day: string | null, now: number) {
    const { counter, live, zone } = this.#deps;
    return {
      success: true as const,
      day,
      zone,
      from: rfc3339(span.from),
      to: rfc3339(span.to),
      as_of: rfc3339(now),
      stale: !live.live,
      gaps: counter.gaps
        .filter((gap) => gap.from < span.to && gap.to > span.from)
        .map((gap) => ({
          from: rfc3339(gap.from),
          to: rfc3339(gap.to),
          reason: gap.reason,
          settled: isSettled(gap),
        })),
    };
  }
}
export const noSuchQueue = (name: string): ServiceError =>
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
