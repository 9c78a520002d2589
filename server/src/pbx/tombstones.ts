/** Long enough for any frame that was on its way when its channel ended. */
const KEEP_MS = 120_000;
const MAX = 50_000;

/**
 * Ids that must not come back, each kept for one to two times `KEEP_MS` of event time. Two generations instead of a time
 * for each, so that nothing is ever searched; a clock that jumps only turns a generation early.
 */
export class Tombstones<Id> {
  #young = new Set<Id>();
  #old = new Set<Id>();
  #turned = 0;
  get size(): number {
    return this.#young.size + this.#old.size;
  }
  has(id: Id): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }
  add(id: Id, at: number): void {
    if (at - this.#turned > KEEP_MS || at < this.#turned - KEEP_MS || this.#young.size >= MAX) {
      this.#old = this.#young;
      this.#young = new Set();
      this.#turned = at;
    }
    this.#young.add(id);
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
