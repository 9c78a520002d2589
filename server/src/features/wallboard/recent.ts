import type { Clock } from '../../ports/clock.ts';
import type { Span, ZoneCalendar } from './days.ts';
import { SumTable } from './store.ts';
import { SLOT_MS, fold, noSums, slotOf, take } from './sums.ts';
import type { Count, Sums } from './sums.ts';

/** In-memory sums by slot since the day of the start, and today's totals of each queue and agent. */
export class RecentSums {
  readonly #clock: Clock;
  readonly #calendar: ZoneCalendar;
  #date = '';
  #span: Span = { from: 0, to: 0 };
  #from = 0;
  #table = new SumTable();
  readonly #totals = { queue: new Map<string, Sums>(), agent: new Map<string, Sums>() };
  #days = 0;

  constructor(clock: Clock, calendar: ZoneCalendar) {
    this.#clock = clock;
    this.#calendar = calendar;
    this.#beginDay(clock.now());
    this.#from = slotOf(this.#span.from);
  }
  /** First slot in memory; older slots are only in the store. */
  get from(): number {
    return this.#from;
  }
  get table(): SumTable {
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
  /** Sets the stored sums from `from` on. */
  load(table: SumTable): void {
    this.#table = table;
  }
  count(one: Count): void {
    const { of, name, slot } = one;
    if (slot >= this.#from) take(this.#table.at(of, name, slot), one);
    const total = this.#isToday(slot) ? this.#totals[of].get(name) : undefined;
    if (total !== undefined) take(total, one);
  }
  /** Today's sums including running counts. Must not be changed. */
  sumsOfToday(of: Count['of'], name: string, running: readonly Count[]): Sums {
    this.#keepTime();
    let total = this.#totals[of].get(name);
    if (total === undefined) {
      total = noSums();
      for (const [slot, sums] of this.#table.slots(of, name) ?? []) {
        if (this.#isToday(slot)) fold(total, sums);
      }
      this.#totals[of].set(name, total);
    }
    const now = running.filter((one) => this.#isToday(one.slot));
    if (now.length === 0) return total;
    // A copy of the first level is enough: running counts never change the waits.
    const sums = { ...total };
    for (const one of now) take(sums, one);
    return sums;
  }
  #isToday(slot: number): boolean {
    return slot * SLOT_MS >= this.#span.from && slot * SLOT_MS < this.#span.to;
  }
  #beginDay(now: number): void {
    this.#date = this.#calendar.dayOf(now);
    this.#span = this.#calendar.day(this.#date);
    this.#totals.queue.clear();
    this.#totals.agent.clear();
    this.#days += 1;
  }
  #keepTime(): void {
    const now = this.#clock.now();
    if (now >= this.#span.from && now < this.#span.to) return;
    this.#beginDay(now);
    if (slotOf(this.#span.from) <= this.#from) return;
    this.#from = slotOf(this.#span.from);
    this.#table.dropBefore(this.#from);
  }
}
