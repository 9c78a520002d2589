import { setImmediate } from 'node:timers/promises';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { QueueStats } from '@offhook/contract/wallboard.ts';
import { messageOf } from '../../core/errors.ts';
import { isPaused } from '../../pbx/agent-state.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Common } from '../../ports/common.ts';

/**
 * Number of a queue's members by tile state (domain.md section 2); members without an extension of ours are
 * not counted.
 */
export function agentsByState(live: LiveView, queue: string): QueueStats['agents'] {
  const agents = {
    logged_in: 0,
    available: 0,
    offered: 0,
    talking: 0,
    wrap_up: 0,
    busy_other: 0,
    not_ready: 0,
    unreachable: 0,
  };
  const counted = new Set<string>();
  for (const member of live.queue(queue)?.members ?? []) {
    // An agent may have several rows, by several interfaces.
    if (member.extension === null || counted.has(member.extension)) continue;
    counted.add(member.extension);
    agents.logged_in += 1;
    const summary = live.agent(member.extension)?.summary;
    const engagement = summary?.engagement ?? 'idle';
    switch (engagement) {
      case 'unreachable':
      case 'offered':
      case 'wrap_up':
      case 'busy_other':
        agents[engagement] += 1;
        break;
      case 'talking':
      case 'held':
        agents.talking += 1;
        break;
      default:
        agents[isPaused(member) || summary?.not_responding ? 'not_ready' : 'available'] += 1;
    }
  }
  return agents;
}

/** Shortest interval between two `queue.stats` of a queue. */
const EVERY_MS = 500;
/** Delay that gathers simultaneous events (caller left, offer accepted, agent talking) into one `queue.stats`. */
const GATHER_MS = 40;
/** Milliseconds of figures before the event loop runs other work. The figures of larger queues take longer. */
const AT_ONCE_MS = 5;

export interface PublisherOptions extends Common<'clock' | 'live' | 'log' | 'publish'> {
  readonly queues: () => readonly string[];
  readonly stats: (queue: string) => QueueStats;
  /** Start of the next day, milliseconds since 1970. */
  readonly nextDay: () => number;
}
export interface Publisher {
  /** Marks this queue as changed, or every queue if none is given. O(1). */
  touch(queue?: string): void;
  close(): Promise<void>;
}

/** Publishes `queue.stats` for changed queues, at a limited rate. */
export function createPublisher(options: PublisherOptions): Publisher {
  const { clock, live, log, queues, stats, publish, nextDay } = options;
  const touched = new Set<string>();
  const published = new Map<string, { readonly at: number; readonly what: string }>();
  const stop = new AbortController();
  const { signal } = stop;
  let wake = Promise.withResolvers<void>();

  const touch = (queue?: string): void => {
    // With marked queues the loop is awake already.
    const sleeps = touched.size === 0;
    if (queue === undefined) for (const name of queues()) touched.add(name);
    else touched.add(queue);
    if (sleeps) wake.resolve();
  };
  const tell = async (): Promise<void> => {
    let known = new Set(queues());
    let events: DomainEvent[] = [];
    let began = clock.now();
    // Queues marked from now on are gathered for the next time.
    const marked = [...touched];
    for (const queue of marked) {
      if (clock.now() - began >= AT_ONCE_MS) {
        if (events.length > 0) publish(events);
        events = [];
        await setImmediate();
        if (signal.aborted || !live.live) return;
        known = new Set(queues());
        began = clock.now();
      }
      if (!known.has(queue)) {
        touched.delete(queue);
        published.delete(queue);
        continue;
      }
      const now = clock.now();
      const before = published.get(queue);
      if (before !== undefined && before.at + EVERY_MS > now && before.at <= now) continue;
      touched.delete(queue);
      const data = stats(queue);
      const what = withoutTime(data);
      if (before?.what === what) continue;
      published.set(queue, { at: now, what });
      events.push({ type: 'queue.stats', subject: `queues/${queue}`, at: now, observed: 'live', data });
    }
    if (events.length > 0) publish(events);
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      if (touched.size === 0) await wake.promise;
      wake = Promise.withResolvers<void>();
      await clock.sleep(GATHER_MS, signal);
      // Before the engine's state is known there are no figures; its resync touches every queue.
      if (!live.live) {
        touched.clear();
        continue;
      }
      try {
        await tell();
      } catch (error) {
        touched.clear();
        log.error({ error: messageOf(error) }, 'the figures of the queues could not be published');
      }
      if (touched.size > 0) await clock.sleep(EVERY_MS / 5, signal);
    }
  };
  const days = async (): Promise<void> => {
    while (!signal.aborted) {
      // Bounded, so that a changed clock is noticed and the occupancy is published without other events.
      await clock.sleep(Math.min(Math.max(nextDay() - clock.now(), 0) + 1, 60_000), signal);
      touch();
    }
  };
  const unlessStopped = (error: unknown): void => {
    if (!signal.aborted) throw error;
  };
  const running = Promise.all([run().catch(unlessStopped), days().catch(unlessStopped)]);
  return {
    touch,
    async close() {
      stop.abort();
      wake.resolve();
      await running;
    },
  };
}

/** The figures without those that grow with time alone; occupancy in whole percent, as a tile shows it. */
function withoutTime(data: QueueStats): string {
  const { occupancy, longest_wait_seconds: _longest, sums, ...rest } = data;
  const { busy_seconds: _busy, available_seconds: _available, staffed_seconds: _staffed, ...counted } = sums;
  return JSON.stringify({ ...rest, counted, occupancy: occupancy && Math.round(occupancy * 100) });
}
