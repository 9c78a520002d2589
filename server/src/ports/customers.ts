import type { CallCustomer } from '@offhook/contract/phonebook.ts';
import type { Caller } from './http.ts';

/** A customer as a system outside stores it; the values are not trusted. */
export interface SourceCustomer {
  /** Id of the customer there. */
  readonly external_id: string;
  readonly kind: CallCustomer['kind'];
  readonly name: string;
  readonly company: string | null;
  readonly numbers: readonly string[];
  /** True if a known customer keeps its other numbers; by default `numbers` replaces them. */
  readonly adds_numbers?: boolean;
  readonly emails: readonly string[];
  readonly vip: boolean;
  readonly blocked: boolean;
  /** http(s) address of the page of the customer there. */
  readonly url: string | null;
  /** Language of prompts, e.g. `de` or `pt_BR`; absent where the system names none for this customer. */
  readonly language?: string;
}
/** A sync that names the customers of a source part by part. */
export interface SourceSync {
  /** Called for each customer with its row in the phonebook; null for one that the phonebook cannot store. */
  named(external_id: string, row: number | null): void;
  /** Whether the customer in this row keeps the numbers that it has. */
  keepsNumbers(row: number): boolean;
}
/** A stored customer: `id` is its row in the phonebook, `updated_at` in milliseconds since 1970. */
export interface SourceRow {
  readonly id: number;
  readonly external_id: string | null;
  readonly updated_at: number;
}
/** The phonebook, for features that bring customers of other systems into it. All throw `store_unavailable`. */
export interface CustomerSources {
  /** Whether the system names languages, so that people change them only there; true until the first call. */
  namesLanguages(source: string, names: boolean): void;
  /** Creates or updates shared customers of a source; equal ones are not written. Throws `limit_reached`. */
  store(source: string, customers: readonly SourceCustomer[], sync?: SourceSync): Promise<void>;
  remove(source: string, external_ids: readonly string[]): Promise<void>;
  /** Deletes all customers of a source. */
  removeAll(source: string): Promise<void>;
  /**
   * Deletes the customers of a source for which `isGone` is true. If they are more than `most` of all, it deletes none
   * and resolves with both numbers; else with null. `most`: null without a limit.
   */
  removeSome(
    source: string,
    isGone: (row: SourceRow) => boolean,
    most: ((all: number) => number) | null,
  ): Promise<{ readonly all: number; readonly found: number } | null>;
}
/** The phonebook, for features that show numbers. */
export interface Customers {
  /**
   * The customer of each of these numbers that has one, in one query for 500: `who` null sees shared ones only. Of several
   * customers it is the first one of a lookup. Throws `store_unavailable`.
   */
  named(
    who: Pick<Caller, 'person_id'> | null,
    numbers: readonly string[],
  ): Promise<ReadonlyMap<string, CallCustomer>>;
}
