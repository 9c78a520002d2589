import type { ReadinessSource } from '@offhook/contract/agents.ts';
import { Backoff } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { QueueMember } from '../../ports/engine.ts';
import { sameMembership } from './membership.ts';
import type { Membership } from './membership.ts';
import type { Batch, Fact, Intent, IntentStore } from './store.ts';

export const intended = (intent: Intent | undefined): Membership | undefined =>
  intent && { member: intent.member, paused: intent.paused, reason: intent.reason };

/** One new intent: what is wanted of one agent in one queue, since when, and the engine's row where there is one. */
export interface Wish {
  readonly extension: string;
  readonly queue: string;
  readonly state: Membership;
  readonly since: number;
  /** Who chose it. */
  readonly source: ReadinessSource;
  readonly row: QueueMember | undefined;
}

/** Every intent in memory, written through to the store. */
export interface Intents {
  load(): Promise<void>;
  get(extension: string, queue: string): Intent | undefined;
  of(extension: string): Intent[];
  all(): Iterable<Intent>;
  fact(key: Fact): string | undefined;
  /** Keeps the wishes; resolves once they are on disk, and takes them back from memory when that fails. */
  keep(wishes: readonly Wish[], more?: Partial<Omit<Batch, 'intents'>>): Promise<void>;
  /** Keeps a wish that is a fact already: in memory at once, on disk as soon as the disk takes it. */
  adopt(wish: Wish): void;
  /** Marks a row as surely, or from now on not surely, on the engine's own disk. A row that changed meanwhile is left alone. */
  settle(intent: Intent, settled: boolean): void;
  /** Resolves when everything adopted is on disk. */
  flushed(): Promise<void>;
  close(): void;
}

const RETRY = { first_ms: 250, most_ms: 15_000 } as const;

export function createIntents(deps: { store: IntentStore; clock: Clock; log: Log }): Intents {
  const { store, clock, log } = deps;
  const byAgent = new Map<string, Map<string, Intent>>();
  const facts = new Map<Fact, string>();
  const stopped = new AbortController();

  const put = (intent: Intent): void => {
    const queues = byAgent.get(intent.extension) ?? new Map<string, Intent>();
    queues.set(intent.queue, intent);
    byAgent.set(intent.extension, queues);
  };
  const get = (extension: string, queue: string): Intent | undefined => byAgent.get(extension)?.get(queue);

  /** The row after a wish; null when it says what is known already. */
  const next = ({ extension, queue, state, since, source, row }: Wish): Intent | null => {
    const was = get(extension, queue);
    const dynamic = row ? row.membership === 'dynamic' : (was?.dynamic ?? true);
    const penalty = row?.penalty ?? was?.penalty ?? 0;
    const unchanged = was !== undefined && sameMembership(intended(was)!, state);
    if (unchanged && was.dynamic === dynamic && was.penalty === penalty) return null;
    return {
      extension,
      queue,
      ...state,
      dynamic,
      penalty,
      since: unchanged ? was.since : since,
      source: unchanged ? was.source : source,
      noted_at: clock.now(),
      version: (was?.version ?? 0) + 1,
      settled: unchanged && was.settled,
    };
  };

  // Everything that waits while one transaction runs goes into the next: one commit for many agents.
  interface Group {
    readonly rows: Map<string, Intent>;
    readonly facts: Partial<Record<Fact, string>>;
    readonly trail: AuditEntry[];
    done: Promise<void>;
  }
  let group: Group | null = null;
  let running: Promise<void> = Promise.resolve();
  const commit = ({ intents, facts: newFacts = {}, trail = [] }: Partial<Batch>): Promise<void> => {
    let mine = group;
    if (mine === null) {
      const opened: Group = { rows: new Map(), facts: {}, trail: [], done: Promise.resolve() };
      opened.done = running.then(() => {
        group = null;
        return store.save({ ...opened, intents: [...opened.rows.values()] });
      });
      running = opened.done.catch(() => {});
      group = opened;
      mine = opened;
    }
    for (const row of intents ?? []) mine.rows.set(`${row.extension}/${row.queue}`, row);
    Object.assign(mine.facts, newFacts);
    mine.trail.push(...trail);
    return mine.done;
  };

  const behind = new Map<string, { extension: string; queue: string }>();
  let writing = false;
  let writer: Promise<void> = Promise.resolve();
  const writeBehind = async (): Promise<void> => {
    for (const backoff = new Backoff(RETRY); behind.size > 0 && !stopped.signal.aborted;) {
      const keys = [...behind.values()];
      behind.clear();
      try {
        await commit({ intents: keys.flatMap((k) => get(k.extension, k.queue) ?? []) });
        backoff.reset();
      } catch (error) {
        for (const k of keys) behind.set(`${k.extension}/${k.queue}`, k);
        if (backoff.failures === 0)
          log.warn({ error: messageOf(error), rows: keys.length }, 'agent intents wait for the disk');
        await backoff.wait(clock, stopped.signal);
      }
    }
    writing = false;
  };
  const later = (intent: Intent): void => {
    behind.set(`${intent.extension}/${intent.queue}`, { extension: intent.extension, queue: intent.queue });
    if (writing) return;
    writing = true;
    writer = writeBehind();
  };

  return {
    async load() {
      const stored = await store.load();
      for (const intent of stored.intents) put(intent);
      for (const [key, value] of stored.facts) facts.set(key, value);
    },
    get,
    of: (extension) => [...(byAgent.get(extension)?.values() ?? [])],
    *all() {
      for (const queues of byAgent.values()) yield* queues.values();
    },
    fact: (key) => facts.get(key),
    async keep(wishes, { facts: newFacts = {}, trail = [] } = {}) {
      const rows = wishes.flatMap((wish) => next(wish) ?? []);
      if (rows.length === 0 && trail.length === 0 && Object.keys(newFacts).length === 0) return;
      const before = rows.map((row) => get(row.extension, row.queue));
      for (const row of rows) put(row);
      try {
        await commit({ intents: rows, facts: newFacts, trail });
      } catch (error) {
        rows.forEach((row, i) => {
          if (get(row.extension, row.queue) !== row) return;
          const was = before[i];
          if (was) put(was);
          else byAgent.get(row.extension)?.delete(row.queue);
        });
        throw error;
      }
      for (const [key, value] of Object.entries(newFacts)) facts.set(key as Fact, value);
    },
    adopt(wish) {
      const row = next(wish);
      if (row === null) return;
      put(row);
      later(row);
    },
    settle(intent, settled) {
      if (get(intent.extension, intent.queue) !== intent) return;
      const row = { ...intent, settled, noted_at: settled ? intent.noted_at : clock.now() };
      put(row);
      later(row);
    },
    async flushed() {
      while (writing) await writer;
      await running;
    },
    close: () => stopped.abort(),
  };
}
