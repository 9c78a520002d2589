import { includesLevel } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Caller } from '../../ports/http.ts';
import { grants } from '../../rights/rights.ts';
import type { CustomerRow } from './rows.ts';
import type { PhonebookStore } from './store.ts';
import { EVERYONE } from './tables.ts';

/** Throws `forbidden` for a person below supervisor; a key has the level and needs the scope. */
export function checkShares(who: Caller): void {
  if (includesLevel(who.level, 'supervisor')) return;
  throw new ServiceError('forbidden', 'changing a shared customer needs the level supervisor');
}
/** True for an API key by which desk phones may read all shared customers and colleagues. */
export const readsAtPhones = ({ key }: Caller): boolean => key !== null && grants(key, 'phonebook:phones');
/** The customer with this id. Throws `not_found` for one that the caller may not see. */
export async function findFor(
  who: Caller,
  store: Pick<PhonebookStore, 'one'>,
  id: number,
): Promise<CustomerRow> {
  const row = await store.one(id);
  if (row === undefined || (row.person_id !== EVERYONE && row.person_id !== who.person_id))
    throw new ServiceError('not_found', 'there is no such customer');
  return row;
}
/** The person id of a list that the caller may read or change. */
export function personOf(who: Caller, list: 'shared' | 'mine', access: 'read' | 'change'): number {
  if (list === 'mine') {
    if (who.key === null) return who.person_id;
    throw new ServiceError('invalid_request', 'list: an API key has no personal customers');
  }
  if (access === 'change') checkShares(who);
  return EVERYONE;
}
