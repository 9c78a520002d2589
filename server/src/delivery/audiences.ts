import type { JournalRow } from '../ports/journal-store.ts';
import { isFromBefore } from '../rights/former-holder.ts';
import type { Bounds } from '../rights/hearing.ts';
import { EVERYONE, namesIn } from '../rights/topics.ts';
import type { Framing } from './batch.ts';
import type { Reader } from './reader.ts';

/** Readers of one transport with the same names and time bounds. */
export interface Audience {
  readonly key: string;
  readonly framing: Framing;
  readonly names: ReadonlySet<string>;
  /** Time bounds, equal for all its readers. */
  readonly bounds: Bounds;
  readonly live: Set<Reader>;
  readonly behind: Set<Reader>;
  /** Bytes of essential events since the audience was created. */
  essential: number;
}

/** All audiences, with an index by the names in a row's topics. */
export class Audiences {
  readonly #byKey = new Map<string, Audience>();
  readonly #byName = new Map<string, Set<Audience>>();

  get size(): number {
    return this.#byKey.size;
  }
  all(): Iterable<Audience> {
    return this.#byKey.values();
  }
  /** The audience for a reader of `names`, created for the first such reader. */
  of({ framing, bounds }: Reader, names: readonly string[]): Audience {
    const from = [...bounds].map(([name, since]) => `${name}@${since}`).sort();
    const key = [framing.name, ...names, ...from].join(' ');
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const audience: Audience = {
      key,
      framing,
      names: new Set(names),
      bounds,
      live: new Set(),
      behind: new Set(),
      essential: 0,
    };
    this.#byKey.set(key, audience);
    for (const name of names) {
      const set = this.#byName.get(name);
      if (set === undefined) this.#byName.set(name, new Set([audience]));
      else set.add(audience);
    }
    return audience;
  }
  /** Removes the reader, and its audience when that was the last reader. */
  remove(reader: Reader, audience: Audience): void {
    audience.live.delete(reader);
    audience.behind.delete(reader);
    if (audience.live.size > 0 || audience.behind.size > 0) return;
    this.#byKey.delete(audience.key);
    for (const name of audience.names) {
      const set = this.#byName.get(name);
      set?.delete(audience);
      if (set?.size === 0) this.#byName.delete(name);
    }
  }
  /** The rows that each audience receives; audiences that receive none are absent. */
  receiving(rows: readonly JournalRow[]): Map<Audience, JournalRow[]> {
    const found = new Map<Audience, JournalRow[]>();
    for (const row of rows) {
      const names = namesIn(row.topics);
      for (const name of names) {
        const audiences = name === EVERYONE ? this.#byKey.values() : this.#byName.get(name);
        if (audiences !== undefined) for (const audience of audiences) addRow(found, audience, row, names);
      }
    }
    return found;
  }
}

function addRow(
  found: Map<Audience, JournalRow[]>,
  audience: Audience,
  row: JournalRow,
  names: readonly string[],
): void {
  if (isFromBefore(row, names, audience.names, audience.bounds)) return;
  const list = found.get(audience);
  if (list === undefined) found.set(audience, [row]);
  // A row with two names of the audience is found twice, one after the other.
  else if (list.at(-1) !== row) list.push(row);
}
