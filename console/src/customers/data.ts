/** Queries of the pages of customers, and the right to change a customer. */
import type { Client } from '@offhook/client';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { useChanges } from '../app/changes.ts';
import { CUSTOMERS } from '../app/queries.ts';
import { useMay } from '../app/session.tsx';
import { PAGE_PATHS } from '../app/paths.ts';

/** Requests for one page of a search: the service may return empty pages before the next match. */
const MOST_REQUESTS = 5;

type Page = Awaited<ReturnType<Client['phonebook']['list']>>;
export async function readPage(
  client: Client,
  q: string,
  cursor: string,
  signal: AbortSignal,
): Promise<Page> {
  let page: Page = { success: true, customers: [], next_cursor: cursor };
  for (let request = 0; request < MOST_REQUESTS && page.customers.length === 0; request += 1) {
    if (page.next_cursor === null) break;
    page = await client.phonebook.list(
      { ...(q === '' ? {} : { q }), ...(page.next_cursor === '' ? {} : { cursor: page.next_cursor }) },
      signal,
    );
  }
  return page;
}
export const customerPath = (id: number): string => PAGE_PATHS.customer.replace(':customer', String(id));
/** Shared customers are changed by supervisors, personal ones by the person who sees them. */
export function useMayChange({ shared }: Pick<Customer, 'shared'>): boolean {
  return useMay('supervisor') || !shared;
}
/** A number as the telephone takes it. */
export const dialledOf = ({ number, e164 }: Customer['numbers'][number]): string => e164 ?? number;
/** Reloads the shown customers as the phonebook changes. */
export const useCustomerEvents = (): void =>
  useChanges(['phonebook/shared', 'phonebook/mine'], 'phonebook.', CUSTOMERS);
/** True if a connector (`connector:<id>`) or a phonebook source (`source:<id>`) owns the customer's fields. */
export const isConnected = ({ source }: Pick<Customer, 'source'>): boolean =>
  /^(?:connector|source):/.test(source);
