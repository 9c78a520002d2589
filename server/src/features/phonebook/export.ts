import { setImmediate as yieldLoop } from 'node:timers/promises';
import type { PhonebookExportQuery } from '@offhook/contract/phonebook-files.ts';
import type { CustomerRow } from './rows.ts';
import type { PhonebookStore } from './store.ts';
import { csvWriter } from './csv.ts';
import { vcardOf } from './vcard.ts';

/** Customers per read. */
const AT_ONCE = 500;

/** A list of customers as the pieces of a file. */
export async function* exportOf(
  store: Pick<PhonebookStore, 'ofPerson'>,
  person: number,
  format: PhonebookExportQuery['format'],
): AsyncGenerator<string> {
  async function* all(): AsyncGenerator<readonly CustomerRow[]> {
    for (let after = 0; ;) {
      const rows = await store.ofPerson(person, after, AT_ONCE);
      if (rows.length > 0) yield rows;
      if (rows.length < AT_ONCE) return;
      after = rows.at(-1)!.id;
      await yieldLoop();
    }
  }
  if (format !== 'csv') {
    const version = format === 'vcard' ? '3.0' : '4.0';
    for await (const rows of all()) yield rows.map((row) => vcardOf(row, version)).join('');
    return;
  }
  // The heading names a column for each number of the customer that has the most.
  const most = { numbers: 1, emails: 1 };
  for await (const rows of all())
    for (const { numbers, emails } of rows) {
      most.numbers = Math.max(most.numbers, numbers.length);
      most.emails = Math.max(most.emails, emails.length);
    }
  const { head, row } = csvWriter(most);
  yield head;
  for await (const rows of all()) yield rows.map(row).join('');
}
