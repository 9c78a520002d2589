import type { NewCustomer } from '@offhook/contract/phonebook.ts';
import { isForeign } from './rows.ts';
import type { CustomerRow } from './rows.ts';

const WITHOUT_LANGUAGE = ['kind', 'name', 'company', 'numbers', 'emails', 'vip', 'blocked'] as const;
const ALL = [...WITHOUT_LANGUAGE, 'language'] as const;
type SourceField = (typeof ALL)[number];
type Wanted = Omit<NewCustomer, 'shared'>;

/** Fields of customers that come from a system outside, so that people change them there. */
export class SourceFields {
  /** Sources whose systems name no languages, so that people set those of their customers here. */
  readonly #withoutLanguages = new Set<string>();

  /** True until the first call, because the next update of the source would overwrite a change. */
  namesLanguages(source: string, names: boolean): void {
    if (names) this.#withoutLanguages.delete(source);
    else this.#withoutLanguages.add(source);
  }
  of({ source }: Pick<CustomerRow, 'source'>): readonly SourceField[] {
    if (!isForeign({ source })) return [];
    return this.#withoutLanguages.has(source) ? WITHOUT_LANGUAGE : ALL;
  }
  /** First of these fields that a request would change; undefined if it changes none of them. */
  changed(row: CustomerRow, next: Wanted): SourceField | undefined {
    const numbersOf = ({ numbers }: CustomerRow | Wanted) =>
      numbers.map(({ number, label }) => ({ number, label }));
    const text = (one: CustomerRow | Wanted, field: SourceField): string =>
      JSON.stringify(field === 'numbers' ? numbersOf(one) : one[field]);
    return this.of(row).find((field) => text(row, field) !== text(next, field));
  }
}
