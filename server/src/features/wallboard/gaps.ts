import type { Board } from './board.ts';
import type { Span } from './days.ts';
import { SLOT_MS } from './sums.ts';

/** A span without counts; milliseconds since 1970. */
export interface Gap extends Span {
  readonly reason: 'retention' | 'new_journal' | 'unheard';
  /**
   * Engines whose call records did not supply the visits of that time yet, by node, with the end of their absence; a null
   * node is any, in a gap of an earlier version. Only if the reason is `unheard`.
   */
  readonly unsettled?: readonly (readonly [node: string | null, to: number])[];
}
/** True if the call records have supplied the visits of that time. */
export const isSettled = ({ unsettled }: Gap): boolean => unsettled?.length === 0;

/** Times whose visits no figure counts, because their events were not received. */
export class Gaps {
  #all: readonly Gap[];
  #unsaved: readonly Gap[] = [];
  #board: Board;
  /** Time of the newest event before this start, and the nodes whose engines were linked since. */
  #started: number | null = null;
  readonly #linked = new Set<string>();

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
  onLinkUp(node: string, to: number, restarted: boolean): boolean {
    if (this.#started !== null && this.#linked.size === 0) this.#lead(node);
    const from = this.#unheardSince(node);
    this.#board.unheard.set(node, null);
    this.#linked.add(node);
    if (from === null || restarted || to <= from) return false;
    const near = this.#all.findLast(
      (gap) => gap.reason === 'unheard' && gap.from <= from && from - gap.to < SLOT_MS,
    );
    const others = near?.unsettled?.filter(([other]) => other !== node) ?? [];
    this.#put({
      from: near?.from ?? from,
      to: Math.max(near?.to ?? to, to),
      reason: 'unheard',
      unsettled: [...others, [node, to]],
    });
    return true;
  }
  /**
   * The call records of this engine have supplied the visits up to `to`; without `node`, in an event of an earlier version,
   * those of every engine. Returns true if a gap waited for them.
   */
  settle(node: string | undefined, to: number): boolean {
    const before = this.#all;
    for (const gap of before) {
      const { unsettled = [] } = gap;
      const left = unsettled.filter(
        ([of, end]) => end > to || (node !== undefined && of !== null && of !== node),
      );
      if (left.length < unsettled.length) this.#put({ ...gap, unsettled: left });
    }
    return this.#all !== before;
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
  /** Adds the gap, or replaces the one with the same start and reason. */
  #put(gap: Gap): void {
    const isOther = ({ from, reason }: Gap): boolean => from !== gap.from || reason !== gap.reason;
    this.#all = [...this.#all.filter(isOther), gap];
    this.#unsaved = [...this.#unsaved.filter(isOther), gap];
  }
  #unheardSince(node: string): number | null {
    return this.#board.unheard.get(node) ?? (this.#linked.has(node) ? null : this.#started);
  }
  /** Restores gaps that could not be stored. */
  giveBack(gaps: readonly Gap[]): void {
    this.#unsaved = [...gaps, ...this.#unsaved];
  }
}
