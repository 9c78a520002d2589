import type { Clock } from '../../ports/clock.ts';
import type { Span, ZoneCalendar } from './days.ts';
import { SumTable } from './sum-table.ts';
import type { StoredSums } from './store.ts';
import { SLOT_MS, fold, noSums, slotOf, take } from './sums.ts';
import type { Count, Sums } from './sums.ts';

/**
 * Slots of agents in memory, the present one included: those of a whole day let the memory of a large centre grow until midnight.
 * Running counts can begin two slots ago, and must not be in the store meanwhile.
 */
const KEPT_SLOTS = 3;

/** In-memory sums of the day for queues and of the newest slots for agents, and today's totals of both. */
export class RecentSums {
  readonly #clock: Clock;
  readonly #calendar: ZoneCalendar;
  /** The present slot at the last call of `#keepTime`. */
  #slot = -1;
  #date = '';
  #span: Span = { from: 0, to: 0 };
  readonly #from = { queue: 0, agent: 0 };
  readonly #table = new SumTable();
  readonly #totals = { queue: new Map<string, Sums>(), agent: new Map<string, Sums>() };
  #days = 0;

  constructor(clock: Clock, calendar: ZoneCalendar) {
    this.#clock = clock;
    this.#calendar = calendar;
    this.#keepTime();
  }
  /** First slot in memory; older slots are only in the store. */
  from(of: Count['of']): number {
    this.#keepTime();
    return this.#from[of];
  }
  /** First slot that `load` needs. */
  get loaded(): number {
    return this.#from.queue;
  }
  get table(): SumTable {
    this.#keepTime();
    return this.#table;
  }
  /** Number of days begun; a new day changes every figure of today. */
  get days(): number {
    this.#keepTime();
    return this.#days;
  }
  get today(): { readonly date: string; readonly span: Span } {
    this.#keepTime();
    return { date: this.#date, span: this.#span };
  }
  /** Adds stored sums of today and of the slots from `from` on. */
  load(rows: Iterable<StoredSums>): void {
    for (const { of, name, slot, sums } of rows) {
      if (slot >= this.#from[of]) fold(this.#table.at(of, name, slot), sums);
      if (this.#isToday(slot)) fold(this.#totalOf(of, name), sums);
    }
  }
  count(one: Count): void {
    const { of, name, slot } = one;
    this.#keepTime();
    if (slot >= this.#from[of]) take(this.#table.at(of, name, slot), one);
    if (this.#isToday(slot)) take(this.#totalOf(of, name), one);
  }
  /** Queues or agents with anything counted today. */
  namesOfToday(of: Count['of']): Iterable<string> {
    this.#keepTime();
    return this.#totals[of].keys();
  }
  /** Today's sums including running counts. Must not be changed. */
  sumsOfToday(of: Count['of'], name: string, running: readonly Count[]): Sums {
    this.#keepTime();
    const total = this.#totals[of].get(name) ?? noSums();
    const now = running.filter((one) => this.#isToday(one.slot));
    if (now.length === 0) return total;
    // A copy of the first level is enough: running counts never change the waits.
    const sums = { ...total };
    for (const one of now) take(sums, one);
    return sums;
  }
  #totalOf(of: Count['of'], name: string): Sums {
    let total = this.#totals[of].get(name);
    if (total === undefined) this.#totals[of].set(name, (total = noSums()));
    return total;
  }
  #isToday(slot: number): boolean {
    return slot * SLOT_MS >= this.#span.from && slot * SLOT_MS < this.#span.to;
  }
  #beginDay(now: number): void {
    this.#date = this.#calendar.dayOf(now);
    this.#span = this.#calendar.day(this.#date);
    this.#totals.queue.clear();
    this.#totals.agent.clear();
    // An engine whose clock is ahead was counted in the new day already.
    for (const { of, name, slot, sums } of this.#table.rows())
      if (this.#isToday(slot)) fold(this.#totalOf(of, name), sums);
    this.#days += 1;
  }
  /** Days begin with a slot, so all but the first call in a slot return at once: each count makes one. */
  #keepTime(): void {
    const now = this.#clock.now();
    const slot = slotOf(now);
    if (slot === this.#slot) return;
    this.#slot = slot;
    if (now < this.#span.from || now >= this.#span.to) this.#beginDay(now);
    this.#dropOld(slot);
  }
  #dropOld(present: number): void {
    const agent = present - KEPT_SLOTS + 1;
    const queue = Math.min(agent, slotOf(this.#span.from));
    for (const [of, from] of [
      ['queue', queue],
      ['agent', agent],
    ] as const) {
      if (from <= this.#from[of]) continue;
      this.#from[of] = from;
      this.#table.dropBefore(of, from);
    }
  }
}
