/** Shortest time for which an ended id is kept, in ms: no frame arrives with a longer delay. */
export const TOMBSTONE_MS = 120_000;
const MAX = 50_000;

/**
 * Ids that ended and must not come back, each kept for one to two times `TOMBSTONE_MS` by the clock of its owner. Two
 * generations, so that expiry needs no search; a clock that jumps only ends a generation early.
 */
export class Tombstones<Id> {
  /** When each ended, by id. */
  #young = new Map<Id, number>();
  #old = new Map<Id, number>();
  #turned = 0;
  get size(): number {
    return this.#young.size + this.#old.size;
  }
  has(id: Id): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }
  /** True for an id that ended in `[from, to)`. */
  diedWithin(id: Id, from: number, to: number): boolean {
    const died = this.#young.get(id) ?? this.#old.get(id);
    return died !== undefined && died >= from && died < to;
  }
  add(id: Id, at: number): void {
    if (at - this.#turned > TOMBSTONE_MS || at < this.#turned - TOMBSTONE_MS || this.#young.size >= MAX) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#turned = at;
    }
    this.#young.set(id, at);
  }
  delete(id: Id): void {
    this.#young.delete(id);
    this.#old.delete(id);
  }
  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
