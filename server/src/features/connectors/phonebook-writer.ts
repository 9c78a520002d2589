import { CONNECTOR_SOURCE } from '@offhook/contract/phonebook.ts';
import type { CustomerSources, SourceRow, SourceSync } from '../../ports/customers.ts';
import type { ConnectorCustomer } from './format/customers.ts';
import { withoutExtension } from './format/number-formats.ts';

const sourceOf = (connector: number): string => `${CONNECTOR_SOURCE}${connector}`;

/** Writes the customers of connected systems into the phonebook. */
export class PhonebookWriter {
  readonly #customers: CustomerSources;
  readonly #e164: (number: string) => string | null;
  readonly #underWay = new Set<Promise<unknown>>();
  constructor(customers: CustomerSources, e164: (number: string) => string | null) {
    this.#customers = customers;
    this.#e164 = e164;
  }
  /** Whether the system of a connector names languages, so that people change them only there. */
  namesLanguages(connector: number, names: boolean): void {
    this.#customers.namesLanguages(sourceOf(connector), names);
  }
  /**
   * `by`: looked up number, which is stored even if the file reads no numbers. `sync` decides which customers keep
   * their stored numbers; without it, customers keep them if the file does not read all of their numbers.
   */
  store(
    connector: number,
    customers: readonly ConnectorCustomer[],
    { by, sync }: { readonly by?: string; readonly sync?: SourceSync } = {},
  ): Promise<void> {
    const given = customers.map(({ id, numbers: written, adds_numbers, owner: _owner, ...fields }) => {
      const numbers = written.map(withoutExtension);
      const isBy = by === undefined || numbers.some((one) => this.#e164(one) === by);
      return {
        ...fields,
        external_id: id,
        numbers: isBy ? numbers : [by, ...numbers],
        adds_numbers: sync === undefined && adds_numbers === true,
      };
    });
    return this.#run(this.#customers.store(sourceOf(connector), given, sync));
  }
  remove(connector: number, ids: readonly string[]): Promise<void> {
    return this.#run(this.#customers.remove(sourceOf(connector), ids));
  }
  /**
   * Deletes customers that the sync did not name and that were not stored after its start (`since`), at most `most`
   * (`removeSome`).
   */
  async removeOthers(
    connector: number,
    named: { has(row: number): boolean },
    since: number,
    most: ((all: number) => number) | null,
  ): Promise<{ readonly all: number; readonly found: number } | null> {
    const isGone = (row: SourceRow): boolean => !named.has(row.id) && row.updated_at < since;
    return await this.#run(this.#customers.removeSome(sourceOf(connector), isGone, most));
  }
  removeAll(connector: number): Promise<void> {
    return this.#run(this.#customers.removeAll(sourceOf(connector)));
  }
  /** Resolves when all writes in progress have ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }
  async #run<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }
}
