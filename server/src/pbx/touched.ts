import type { AgentNote } from './state.ts';

const NO_NOTES: readonly AgentNote[] = Object.freeze([]);
/** Up to this size a linear search is cheaper; a snapshot or a new site touches thousands. */
const FEW = 8;

/**
 * Agents to derive at the end of a step, each once and in the order of their first touch, with their queue
 * notes. Shared by all steps: filling and emptying a map costs more than most steps.
 */
export class Touched {
  readonly #extensions: string[] = [];
  readonly #notes: (readonly AgentNote[])[] = [];
  readonly #places = new Map<string, number>();
  #size = 0;
  get size(): number {
    return this.#size;
  }
  extension(place: number): string {
    return this.#extensions[place] ?? '';
  }
  notes(place: number): readonly AgentNote[] {
    return this.#notes[place] ?? NO_NOTES;
  }
  add(extension: string): number {
    const known = this.#find(extension);
    if (known >= 0) return known;
    const place = this.#size++;
    this.#extensions[place] = extension;
    this.#notes[place] = NO_NOTES;
    if (place >= FEW) this.#places.set(extension, place);
    return place;
  }
  note(extension: string, note: AgentNote): void {
    const place = this.add(extension);
    this.#notes[place] = [...this.notes(place), note];
  }
  clear(): void {
    if (this.#size > FEW) this.#places.clear();
    this.#size = 0;
  }
  #find(extension: string): number {
    const few = Math.min(this.#size, FEW);
    for (let i = 0; i < few; i++) if (this.#extensions[i] === extension) return i;
    return this.#size > FEW ? (this.#places.get(extension) ?? -1) : -1;
  }
}
