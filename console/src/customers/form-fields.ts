/** Fields of the form of a customer. Pure, without texts of a language. */
import type { Customer, NewCustomer } from '@offhook/contract/phonebook.ts';
import { equal, merged } from '../app/merge.ts';

export interface NumberRow {
  readonly key: number;
  readonly number: string;
  readonly label: string;
}
/** As a person types them: an empty text is null for the service. */
export interface FormFields {
  readonly kind: Customer['kind'];
  readonly name: string;
  readonly company: string;
  readonly emails: string[];
  readonly note: string;
  readonly owner: string | null;
  readonly language: string;
  readonly vip: boolean;
  readonly blocked: boolean;
  readonly shared: boolean;
}
/** Whether the connected system of a customer owns a field, so that the form only shows it. */
export const isFixed = (customer: Pick<Customer, 'source_fields'> | null, field: string): boolean =>
  customer?.source_fields.includes(field) === true;
/** Hint about the fields that are changed here; null for a customer of the site itself. */
export function hintOf(
  customer: Pick<Customer, 'source_fields'> | null,
): 'connected' | 'connected_language' | null {
  if (customer === null || customer.source_fields.length === 0) return null;
  return isFixed(customer, 'language') ? 'connected' : 'connected_language';
}

export const fieldsOf = (customer: Customer): FormFields => ({
  kind: customer.kind,
  name: customer.name,
  company: customer.company ?? '',
  emails: customer.emails,
  note: customer.note ?? '',
  owner: customer.owner,
  language: customer.language ?? '',
  vip: customer.vip,
  blocked: customer.blocked,
  shared: customer.shared,
});
export const rowsOf = (numbers: Customer['numbers']): readonly NumberRow[] =>
  numbers.map((row, key) => ({ key, number: row.number, label: row.label ?? '' }));
/** Merges a customer that another person stored meanwhile: fields changed in this form since `base` stay, the others are `theirs`. */
export const mergedFields = (base: Customer, mine: FormFields, theirs: Customer): FormFields =>
  merged(fieldsOf(base), mine, fieldsOf(theirs));
/** The same for the numbers, which are one field. */
export function mergedRows(
  base: Customer,
  mine: readonly NumberRow[],
  theirs: Customer,
): readonly NumberRow[] {
  const plain = (rows: readonly NumberRow[]) => rows.map(({ number, label }) => [number, label]);
  return equal(plain(mine), plain(rowsOf(base.numbers))) ? rowsOf(theirs.numbers) : mine;
}

const textOf = (value: string): string | null => value.trim() || null;
/** The request that stores the form; `before` is null for a new customer. */
export function wantedOf(
  before: Pick<Customer, 'kind'> | null,
  fields: FormFields,
  numbers: readonly NumberRow[],
): NewCustomer {
  return {
    ...fields,
    // A company has no field for it, and keeps a value given by a program or connected system.
    company: fields.kind === 'company' && before?.kind !== 'company' ? null : textOf(fields.company),
    note: textOf(fields.note),
    language: textOf(fields.language),
    numbers: numbers
      .filter((row) => row.number.trim() !== '')
      .map((row) => ({ number: row.number.trim(), label: textOf(row.label) })),
  };
}
