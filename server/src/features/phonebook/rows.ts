import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import { CONNECTOR_SOURCE, PHONEBOOK_SOURCE } from '@offhook/contract/phonebook.ts';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { fold } from '@offhook/contract/search.ts';
import { likeLiteral } from '../../core/text-index.ts';
import { nationalOf } from '../../numbers/e164.ts';
import { EVERYONE } from './tables.ts';
import type { CustomersTable } from './tables.ts';

/** A customer as the tables hold it. */
export interface CustomerRow extends Omit<Customer, 'shared' | 'source_fields' | 'updated_at'> {
  /** Id at its source; null for one that has none. */
  readonly external_id: string | null;
  /** 0: shared. */
  readonly person_id: number;
  /** Milliseconds since 1970. */
  readonly updated_at: number;
}
type Number_ = Customer['numbers'][number];

/** Whether a system outside owns the fields of a customer, so that people change them there. */
export const isForeign = ({ source }: Pick<CustomerRow, 'source'>): boolean =>
  source.startsWith(CONNECTOR_SOURCE) || source.startsWith(PHONEBOOK_SOURCE);
/** Key of a number in lookups: E.164, else its digits. */
export const keyOf = ({ number, e164 }: Pick<Number_, 'number' | 'e164'>): string => e164 ?? number;

export const rowOf = (row: Selectable<CustomersTable>): CustomerRow => ({
  ...row,
  numbers: JSON.parse(row.numbers) as Number_[],
  emails: JSON.parse(row.emails) as string[],
  vip: row.vip === 1,
  blocked: row.blocked === 1,
});
export const columnsOf = ({ id: _id, ...row }: Omit<CustomerRow, 'id'> & { readonly id?: number }) => ({
  ...row,
  numbers: JSON.stringify(row.numbers),
  emails: JSON.stringify(row.emails),
  vip: row.vip ? 1 : 0,
  blocked: row.blocked ? 1 : 0,
});
/** Folded lines, the name first; a number in the spellings that people type the beginning of. */
export function textOf({ name, company, emails, numbers }: Omit<CustomerRow, 'id'>): string {
  const spelled = numbers.flatMap(({ number, e164 }) => {
    const national = e164 === null ? undefined : nationalOf(e164)?.national;
    return [number, ...(e164 === null ? [] : [e164]), ...(national === undefined ? [] : [`0${national}`])];
  });
  return [...new Set([name, company ?? '', ...emails].map(fold).concat(spelled))].join('\n');
}
/** Whether the text `t` is of a customer with this name. */
export const isNamed = (name: string) =>
  sql<boolean>`t.text like ${likeLiteral(`${fold(name)}\n`).slice(1)} escape '\\'`;
/** Ids of the persons whose customers this person sees: the shared ones and its own. */
export const seenBy = (person: number): readonly number[] => (person > 0 ? [EVERYONE, person] : [EVERYONE]);
/** Above every id. */
export const NEWEST = Number.MAX_SAFE_INTEGER;
