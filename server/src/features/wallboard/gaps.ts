import type { Gap } from './store.ts';
import { SLOT_MS } from './sums.ts';

/** Times whose visits no figure counts, because their events were not received. */
export class Gaps {
  #all: readonly Gap[];
  #unsaved: readonly Gap[] = [];
  /** Time since which no events of the engine are received, ms since 1970; null while they are. */
  #unheardSince: number | null = null;

  constructor(stored: readonly Gap[]) {
    this.#all = stored;
  }
  get all(): readonly Gap[] {
    return this.#all;
  }
  /** Adds a gap that is already stored. */
  addStored(gap: Gap): void {
    this.#all = [...this.#all, gap];
  }
  onLinkDown(at: number): void {
    this.#unheardSince ??= at;
  }
  /** Ends an absence without a gap: an engine that restarted meanwhile had no visits to miss. */
  onOtherBoot(): void {
    this.#unheardSince = null;
  }
  /** Ends an absence; returns true if it is a gap. A gap soon after another extends it. */
  onResynced(at: number, restarted: boolean): boolean {
    const from = this.#unheardSince;
    this.#unheardSince = null;
    if (from === null || restarted || at <= from) return false;
    const before = this.#all.at(-1);
    const near = before?.reason === 'unheard' && before.to <= from && from - before.to < SLOT_MS;
    const gap: Gap = { from: near ? before.from : from, to: at, reason: 'unheard' };
    this.#all = [...(near ? this.#all.slice(0, -1) : this.#all), gap];
    this.#unsaved = [...this.#unsaved.filter((one) => one.from !== gap.from), gap];
    return true;
  }
  /** Marks gaps up to `to`, whose visits the call records have supplied; returns true if there were any. */
  settle(to: number): boolean {
    const settled = this.#all.filter(
      (gap) => gap.reason === 'unheard' && gap.settled !== true && gap.to <= to,
    );
    if (settled.length === 0) return false;
    const marked = settled.map((gap) => ({ ...gap, settled: true }));
    this.#all = this.#all.map((gap) => marked[settled.indexOf(gap)] ?? gap);
    this.#unsaved = [
      ...this.#unsaved.filter((gap) => !settled.some(({ from }) => from === gap.from)),
      ...marked,
    ];
    return true;
  }
  takeUnsaved(): readonly Gap[] {
    const taken = this.#unsaved;
    this.#unsaved = [];
    return taken;
  }
  /** Restores gaps that could not be stored. */
  giveBack(gaps: readonly Gap[]): void {
    this.#unsaved = [...gaps, ...this.#unsaved];
  }
}
