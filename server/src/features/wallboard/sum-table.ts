/** Sums of queues and agents by slot, in memory. */
import { fold, noSums } from './sums.ts';
import type { Sums } from './sums.ts';

export type Of = 'queue' | 'agent';
/** Every statement of the store names one of them, so that the database uses an index that begins with it. */
export const BOTH = ['queue', 'agent'] as const;
/** Sums by queue or agent and slot. */
export class SumTable {
  /** By name and slot. */
  readonly #rows: Readonly<Record<Of, Map<string, Map<number, Sums>>>> = {
    queue: new Map(),
    agent: new Map(),
  };

  /** Sums of this slot, for adding to. */
  at(of: Of, name: string, slot: number): Sums {
    const rows = this.#rows[of];
    let slots = rows.get(name);
    if (slots === undefined) rows.set(name, (slots = new Map()));
    let sums = slots.get(slot);
    if (sums === undefined) slots.set(slot, (sums = noSums()));
    return sums;
  }
  slots(of: Of, name: string): ReadonlyMap<number, Sums> | undefined {
    return this.#rows[of].get(name);
  }
  names(of: Of): string[] {
    return [...this.#rows[of].keys()];
  }
  *rows(): Generator<{ readonly of: Of; readonly name: string; readonly slot: number; readonly sums: Sums }> {
    for (const of of BOTH) {
      for (const [name, slots] of this.#rows[of]) {
        for (const [slot, sums] of slots) yield { of, name, slot, sums };
      }
    }
  }
  /** True if it has a slot before this one. */
  before(slot: number): boolean {
    for (const row of this.rows()) if (row.slot < slot) return true;
    return false;
  }
  addAll(other: SumTable): void {
    for (const { of, name, slot, sums } of other.rows()) fold(this.at(of, name, slot), sums);
  }
  /** Drops every slot before this one. */
  dropBefore(of: Of, slot: number): void {
    for (const [name, slots] of this.#rows[of]) {
      for (const known of slots.keys()) if (known < slot) slots.delete(known);
      if (slots.size === 0) this.#rows[of].delete(name);
    }
  }
}
