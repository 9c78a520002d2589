import type { ReadinessSource } from '@offhook/contract/agents.ts';
import { Backoff } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { QueueMember } from '../../ports/engine-state.ts';
import type { Common } from '../../ports/common.ts';
import { sameMembership } from './membership.ts';
import type { Membership } from './membership.ts';
import type { Batch, Fact, Facts, Intent, IntentStore } from './store.ts';

export const intended = (intent: Intent | undefined): Membership | undefined =>
  intent && { member: intent.member, paused: intent.paused, reason: intent.reason };

/** A new intent: the wanted state of one agent in one queue, its start, and the engine's row if any. */
export interface Wish {
  readonly extension: string;
  readonly queue: string;
  readonly state: Membership;
  readonly since: number;
  readonly source: ReadinessSource;
  readonly row: QueueMember | undefined;
}

const RETRY = { first_ms: 250, most_ms: 15_000 } as const;

export interface IntentsDeps extends Common<'clock' | 'log'> {
  readonly store: IntentStore;
}

/** Rows of the next transaction: changes made while one runs are committed together. */
interface Group {
  readonly rows: Map<string, Intent>;
  readonly facts: Facts;
  readonly trail: AuditEntry[];
  done: Promise<void>;
}

/** Every intent in memory, written through to the store. */
export class Intents {
  readonly #deps: IntentsDeps;
  readonly #byAgent = new Map<string, Map<string, Intent>>();
  readonly #facts = new Map<Fact, string>();
  readonly #stopped = new AbortController();
  #group: Group | null = null;
  #running: Promise<void> = Promise.resolve();
  readonly #behind = new Map<string, { extension: string; queue: string }>();
  #writing = false;
  #writer: Promise<void> = Promise.resolve();

  constructor(deps: IntentsDeps) {
    this.#deps = deps;
  }

  async load(): Promise<void> {
    const stored = await this.#deps.store.load();
    for (const intent of stored.intents) this.#put(intent);
    for (const [key, value] of stored.facts) this.#facts.set(key, value);
  }

  of(extension: string): Intent[] {
    return [...(this.#byAgent.get(extension)?.values() ?? [])];
  }

  *all(): Generator<Intent> {
    for (const queues of this.#byAgent.values()) yield* queues.values();
  }

  fact(key: Fact): string | undefined {
    return this.#facts.get(key);
  }

  /** Stores the wishes; resolves once they are on disk. If that fails, memory gets the previous intents back. */
  async keep(
    wishes: readonly Wish[],
    { facts = {}, trail = [] }: Partial<Omit<Batch, 'intents'>> = {},
  ): Promise<void> {
    const rows = wishes.flatMap((wish) => this.#next(wish) ?? []);
    if (rows.length === 0 && trail.length === 0 && Object.keys(facts).length === 0) return;
    const before = rows.map((row) => this.get(row.extension, row.queue));
    for (const row of rows) this.#put(row);
    try {
      await this.#commit({ intents: rows, facts, trail });
    } catch (error) {
      rows.forEach((row, i) => {
        if (this.get(row.extension, row.queue) !== row) return;
        const was = before[i];
        if (was) this.#put(was);
        else this.#byAgent.get(row.extension)?.delete(row.queue);
      });
      throw error;
    }
    for (const [key, value] of Object.entries(facts)) this.#facts.set(key as Fact, value);
  }

  /** Stores a wish that the engine already shows: in memory at once, on disk as soon as a write succeeds. */
  adopt(wish: Wish): void {
    const row = this.#next(wish);
    if (row === null) return;
    this.#put(row);
    this.#later(row);
  }

  /** Stores whether the engine has put a row on its own disk. Ignored if the row changed meanwhile. */
  settle(intent: Intent, settled: boolean): void {
    if (this.get(intent.extension, intent.queue) !== intent) return;
    const row = { ...intent, settled, noted_at: settled ? intent.noted_at : this.#deps.clock.now() };
    this.#put(row);
    this.#later(row);
  }

  /** Resolves when all adopted wishes are on disk. */
  async flushed(): Promise<void> {
    while (this.#writing) await this.#writer;
    await this.#running;
  }

  close(): void {
    this.#stopped.abort();
  }

  get(extension: string, queue: string): Intent | undefined {
    return this.#byAgent.get(extension)?.get(queue);
  }

  #put(intent: Intent): void {
    const queues = this.#byAgent.get(intent.extension) ?? new Map<string, Intent>();
    queues.set(intent.queue, intent);
    this.#byAgent.set(intent.extension, queues);
  }

  /** The row after a wish; null if the wish changes nothing. */
  #next({ extension, queue, state, since, source, row }: Wish): Intent | null {
    const was = this.get(extension, queue);
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
      noted_at: this.#deps.clock.now(),
      version: (was?.version ?? 0) + 1,
      settled: unchanged && was.settled,
    };
  }

  #commit({ intents, facts = {}, trail = [] }: Partial<Batch>): Promise<void> {
    let mine = this.#group;
    if (mine === null) {
      const opened: Group = { rows: new Map(), facts: {}, trail: [], done: Promise.resolve() };
      opened.done = this.#running.then(() => {
        this.#group = null;
        return this.#deps.store.save({ ...opened, intents: [...opened.rows.values()] });
      });
      this.#running = opened.done.catch(() => {});
      this.#group = opened;
      mine = opened;
    }
    for (const row of intents ?? []) mine.rows.set(`${row.extension}/${row.queue}`, row);
    Object.assign(mine.facts, facts);
    mine.trail.push(...trail);
    return mine.done;
  }

  async #writeBehind(): Promise<void> {
    const { clock, log } = this.#deps;
    for (const backoff = new Backoff(RETRY); this.#behind.size > 0 && !this.#stopped.signal.aborted;) {
      const keys = [...this.#behind.values()];
      this.#behind.clear();
      try {
        await this.#commit({ intents: keys.flatMap((k) => this.get(k.extension, k.queue) ?? []) });
        backoff.reset();
      } catch (error) {
        for (const k of keys) this.#behind.set(`${k.extension}/${k.queue}`, k);
        if (backoff.failures === 0)
          log.warn({ error: messageOf(error), rows: keys.length }, 'agent intents could not be stored yet');
        await backoff.wait(clock, this.#stopped.signal);
      }
    }
    this.#writing = false;
  }

  #later(intent: Intent): void {
    this.#behind.set(`${intent.extension}/${intent.queue}`, {
      extension: intent.extension,
      queue: intent.queue,
    });
    if (this.#writing) return;
    this.#writing = true;
    this.#writer = this.#writeBehind();
  }
}
