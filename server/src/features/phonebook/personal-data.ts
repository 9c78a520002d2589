import { setImmediate as turn } from 'node:timers/promises';
import { rfc3339 } from '../../core/clock.ts';
import { lengthOf } from '../../core/page.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { CustomerRow } from './rows.ts';
import type { PhonebookStore } from './store.ts';
import { isForeign, keyOf } from './rows.ts';

/** Customers read at once. */
const SCAN = 500;

/** The uid of an imported customer, which may hold a number. The id in a connected system stays: it finds the customer again. */
const uidOf = (row: Pick<CustomerRow, 'external_id' | 'source'>): string | null =>
  isForeign(row) ? null : row.external_id;
/** The customer without the subject; null where nothing is left to keep. */
type Erase = (row: CustomerRow) => CustomerRow | null;

/**
 * Customers with a number, or that name it in a text; of an extension, its personal customers and those it looks after. A
 * customer whose last number is erased is deleted.
 */
export function personalDataOf(deps: {
  readonly store: Pick<PhonebookStore, 'after'>;
  /** Id of the person with this extension; null where there is none. */
  readonly personOf: (extension: string) => number | null;
  /** Replaces the current customer by the result of `decide`; null deletes it. */
  readonly change: (id: number, decide: Erase) => Promise<void>;
}): PersonalData {
  const { store, personOf, change } = deps;
  const has = (subject: Subject, one: CustomerRow['numbers'][number]): boolean =>
    keyOf(one) === subject.value || subject.isIn(one.number);
  const textsOf = ({ name, company, note, emails, numbers, ...row }: CustomerRow): readonly string[] => [
    name,
    company ?? '',
    note ?? '',
    uidOf(row) ?? '',
    ...emails,
    ...numbers.map(({ label }) => label ?? ''),
  ];
  const isAbout = (subject: Subject, person: number | null, row: CustomerRow): boolean =>
    subject.kind === 'extension'
      ? row.person_id === person || row.owner === subject.value
      : row.numbers.some((one) => has(subject, one)) || textsOf(row).some((text) => subject.isIn(text));
  async function* all(subject: Subject, signal: AbortSignal): AsyncGenerator<CustomerRow> {
    const person = subject.kind === 'extension' ? personOf(subject.value) : null;
    for (let after = 0; ;) {
      signal.throwIfAborted();
      const rows = await store.after(after, SCAN);
      yield* rows.filter((row) => isAbout(subject, person, row));
      if (rows.length < SCAN) return;
      after = rows.at(-1)!.id;
      await turn();
    }
  }
  const erased =
    (subject: Subject, placeholder: string): Erase =>
    (row) => {
      if (subject.kind === 'extension')
        return row.person_id === personOf(subject.value)
          ? null
          : { ...row, owner: row.owner === subject.value ? null : row.owner };
      const numbers = row.numbers.filter((one) => !has(subject, one));
      if (numbers.length === 0 && row.numbers.length > 0) return null;
      const without = <T extends string | null>(text: T) =>
        (text === null ? null : subject.without(text, placeholder)) as T;
      return {
        ...row,
        numbers: numbers.map((one) => ({ ...one, label: without(one.label) })),
        name: without(row.name),
        company: without(row.company),
        note: without(row.note),
        external_id: uidOf(row) === null ? row.external_id : without(row.external_id),
        emails: row.emails.filter((email) => !subject.isIn(email)),
        url: row.url !== null && subject.isIn(row.url) ? null : row.url,
      };
    };
  const places = (n: number) => (n === 0 ? {} : { customers: n });
  return {
    name: 'phonebook',
    count: async (subject, signal) => places(await lengthOf(all(subject, signal))),
    async erase(subject, placeholder, signal) {
      let n = 0;
      for await (const { id } of all(subject, signal)) {
        await change(id, erased(subject, placeholder));
        n += 1;
      }
      return places(n);
    },
    async *collect(subject, _usernames, signal) {
      for await (const { person_id: _person, updated_at, ...row } of all(subject, signal)) {
        yield { kind: 'customer', value: { ...row, updated_at: rfc3339(updated_at) } };
      }
    },
  };
}
