import type { Board } from './board.ts';
import type { Gap } from './store.ts';
import { SLOT_MS } from './sums.ts';

/** Times whose visits no figure counts, because their events were not received. */
export class Gaps {
  #all: readonly Gap[];
  #unsaved: readonly Gap[] = [];
  #board: Board;
  /** Time of the newest event before this start, and the nodes whose engines were linked since. */
  #started: number | null = null;
  readonly #linked = new Set<string>();
  /** Time of the newest link since this start. */
  #linkedAt = 0;

  constructor(stored: readonly Gap[], board: Board) {
    this.#all = stored;
    this.#board = board;
  }
  /** Continues the absences of a stored board. */
  resume(board: Board): void {
    this.#board = board;
  }
  get all(): readonly Gap[] {
    return this.#all;
  }
  /** Adds a gap that is already stored. */
  addStored(gap: Gap): void {
    this.#all = [...this.#all, gap];
  }
  /** Begins an absence of every engine. `at`: time of the newest event before this start. */
  onStart(at: number): void {
    this.#started = at;
    this.#linked.clear();
    this.#linkedAt = 0;
    const { unheard } = this.#board;
    for (const [node, since] of unheard) unheard.set(node, since ?? at);
  }
  onLinkDown(node: string, at: number): void {
    this.#board.unheard.set(node, this.#unheardSince(node) ?? at);
  }
  /**
   * Ends the absence of an engine; returns true if it is a gap. `restarted`: the engine restarted meanwhile, so there
   * were no visits to miss. A gap soon after another, or during it, extends it.
   */
  onLinkUp(node: string, at: number, restarted: boolean): boolean {
    if (this.#started !== null && this.#linked.size === 0) this.#lead(node);
    const from = this.#unheardSince(node);
    // An engine that was linked before the first one of this start is not heard until that one is linked, too.
    const to = this.#linked.has(node) ? at : Math.max(at, this.#linkedAt);
    this.#board.unheard.set(node, null);
    this.#linked.add(node);
    this.#linkedAt = Math.max(this.#linkedAt, at);
    if (from === null || restarted || to <= from) return false;
    const near = this.#all.findLast(
      (gap) => gap.reason === 'unheard' && gap.from <= from && from - gap.to < SLOT_MS,
    );
    const gap: Gap = { from: near?.from ?? from, to: Math.max(near?.to ?? to, to), reason: 'unheard' };
    this.#all = [...this.#all.filter((one) => one !== near), gap];
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
  /** After a failover the engine of the former leading node is not followed, so it is not away. */
  #lead(node: string): void {
    const { unheard, leader } = this.#board;
    if (leader !== null && leader !== node) unheard.delete(leader);
    this.#board.leader = node;
  }
  #unheardSince(node: string): number | null {
    return this.#board.unheard.get(node) ?? (this.#linked.has(node) ? null : this.#started);
  }
  /** Restores gaps that could not be stored. */
  giveBack(gaps: readonly Gap[]): void {
    this.#unsaved = [...gaps, ...this.#unsaved];
  }
}
