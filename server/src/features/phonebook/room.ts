import { MAX_CUSTOMERS, MAX_CUSTOMERS_OF_A_PERSON } from '@offhook/contract/phonebook.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { EVERYONE } from './tables.ts';

/** Counts the customers of each person, so that a site and a person keep to their limits. */
export class Room {
  readonly #counts: Map<number, number>;
  constructor(counts: ReadonlyMap<number, number>) {
    this.#counts = new Map(counts);
  }
  /** Throws `limit_reached` where this person, or the site, has no room for as many more. */
  check(person_id: number, more = 1): void {
    const all = [...this.#counts.values()].reduce((sum, n) => sum + n, 0);
    const personal = person_id === EVERYONE ? 0 : (this.#counts.get(person_id) ?? 0) + more;
    if (all + more <= MAX_CUSTOMERS && personal <= MAX_CUSTOMERS_OF_A_PERSON) return;
    throw new ServiceError(
      'limit_reached',
      say`a site has at most ${MAX_CUSTOMERS} customers, a person ${MAX_CUSTOMERS_OF_A_PERSON} personal ones`,
    );
  }
  /** Counts customers that were added; negative for deleted ones. */
  count(person_id: number, added: number): void {
    this.#counts.set(person_id, (this.#counts.get(person_id) ?? 0) + added);
  }
  /** Person ids with customers; 0 is the shared ones. */
  owners(): number[] {
    return [...this.#counts].flatMap(([id, n]) => (n > 0 ? [id] : []));
  }
  /** Resets the count of a person who has no customers left. */
  clear(person_id: number): void {
    this.#counts.delete(person_id);
  }
}
