/** Number of rows in one block; its bits take 4 kB. */
const BLOCK = 32_768;

/** Customers that a sync has named: one bit for each row of the phonebook, because the ids would take megabytes. */
export class NamedCustomers {
  readonly #blocks = new Map<number, Uint8Array>();
  /** Ids of customers that the phonebook cannot store. */
  readonly #unstored = new Set<string>();
  #rows = 0;

  get size(): number {
    return this.#rows + this.#unstored.size;
  }
  has(row: number): boolean {
    const block = this.#blocks.get(Math.floor(row / BLOCK));
    return block !== undefined && (block[(row % BLOCK) >> 3]! & (1 << (row & 7))) !== 0;
  }
  /** `row`: null for a customer that the phonebook cannot store. */
  add(id: string, row: number | null): void {
    if (row === null) this.#unstored.add(id);
    else if (!this.has(row)) {
      const at = Math.floor(row / BLOCK);
      const block = this.#blocks.get(at) ?? new Uint8Array(BLOCK / 8);
      block[(row % BLOCK) >> 3]! |= 1 << (row & 7);
      this.#blocks.set(at, block);
      this.#rows += 1;
    }
  }
}
