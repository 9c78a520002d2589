import { setImmediate as yieldLoop } from 'node:timers/promises';
import type { PhonebookExportQuery } from '@offhook/contract/phonebook-files.ts';
import type { Queue } from '../../core/queue.ts';
import type { CustomerRow } from './rows.ts';
import type { PhonebookStore } from './store.ts';
import { csvWriter } from './csv.ts';
import { vcardOf } from './vcard.ts';

/** Customers of one piece, during which other requests wait; 500 cards take 20 ms. */
const AT_ONCE = 100;

/** A list of customers as the pieces of a file. `oneAtATime` runs one piece of all exports at a time. */
export async function* exportOf(
  store: Pick<PhonebookStore, 'ofPerson'>,
  person: number,
  format: PhonebookExportQuery['format'],
  oneAtATime: Queue,
): AsyncGenerator<string> {
  async function* each<T>(made: (rows: readonly CustomerRow[]) => T): AsyncGenerator<T> {
    for (let after = 0; ;) {
      const { piece, last } = await oneAtATime.run(async () => {
        const rows = await store.ofPerson(person, after, AT_ONCE);
        const done = { piece: made(rows), last: rows.length < AT_ONCE ? null : rows.at(-1)!.id };
        // Within this run, so that other work runs before the next piece of any export.
        await yieldLoop();
        return done;
      });
      yield piece;
      if (last === null) return;
      after = last;
    }
  }
  if (format !== 'csv') {
    const version = format === 'vcard' ? '3.0' : '4.0';
    yield* each((rows) => rows.map((row) => vcardOf(row, version)).join(''));
    return;
  }
  // The heading names a column for each number of the customer that has the most.
  const most = { numbers: 1, emails: 1 };
  const count = (rows: readonly CustomerRow[]): void => {
    for (const { numbers, emails } of rows) {
      most.numbers = Math.max(most.numbers, numbers.length);
      most.emails = Math.max(most.emails, emails.length);
    }
  };
  for await (const _counted of each(count));
  const { head, row } = csvWriter(most);
  yield head;
  yield* each((rows) => rows.map(row).join(''));
}
