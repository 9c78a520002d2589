import type { PhoneDirectoryFile } from '@offhook/contract/phonebook-directory.ts';
import { matcherOf, searched } from '@offhook/contract/search.ts';
import type { Person } from '../../ports/directory.ts';
import type { CustomerRow } from './rows.ts';

/** Characters that XML 1.0 cannot hold, not even escaped. */
const NOT_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;
const escaped = (text: string): string =>
  text.replace(NOT_XML, '').replace(/[<>&"']/g, (one) => `&#${one.charCodeAt(0)};`);

interface Entry {
  readonly name: string;
  readonly number: string;
}
const named = (name: string, marks: readonly (string | null)[]): string => {
  const all = marks.filter((mark) => mark !== null);
  return all.length === 0 ? name : `${name} (${all.join(', ')})`;
};
/** An entry for each number; its name has company and, beside other numbers of the customer, the label. */
const entriesOf = ({ name, company, numbers }: CustomerRow): Entry[] =>
  numbers.map(({ number, e164, label }) => ({
    name: named(name, [company, numbers.length > 1 ? label : null]),
    number: e164 ?? number,
  }));
/** Extensions of the company that match `q`, or all of them. */
function colleaguesOf(people: readonly Person[], q: string): Entry[] {
  const fits = matcherOf(q);
  return people
    .filter(({ active }) => active)
    .filter(({ name, department, extension }) => fits(searched([name, department], [extension])))
    .map(({ name, department, extension }) => ({ name: named(name, [department]), number: extension }));
}
/** Directory format of Cisco; other vendors use it with another root element. */
const listed =
  (root: string) =>
  (entries: readonly Entry[], title: string): string =>
    `<${root}><Title>${escaped(title)}</Title><Prompt/>${entries
      .map(
        ({ name, number }) =>
          `<DirectoryEntry><Name>${escaped(name)}</Name><Telephone>${escaped(number)}</Telephone></DirectoryEntry>`,
      )
      .join('')}</${root}>`;
const FORMATS: Readonly<
  Record<
    PhoneDirectoryFile,
    { readonly most: number; readonly write: (entries: readonly Entry[], title: string) => string }
  >
> = {
  // Older phones of Cisco show 32 entries at most.
  'cisco.xml': { most: 32, write: listed('CiscoIPPhoneDirectory') },
  'snom.xml': { most: 100, write: listed('SnomIPPhoneDirectory') },
  'yealink.xml': { most: 1_000, write: listed('YealinkIPPhoneDirectory') },
  // Grandstream phones request this name below the address that they are given, and keep 2,000 entries.
  'phonebook.xml': {
    most: 2_000,
    write: (entries) =>
      `<AddressBook>${entries
        .map(
          ({ name, number }) =>
            `<Contact><LastName>${escaped(name)}</LastName><FirstName/><Phone type="Work"><phonenumber>${escaped(number)}</phonenumber><accountindex>0</accountindex></Phone></Contact>`,
        )
        .join('')}</AddressBook>`,
  },
};
/** Created on first use, because it takes 3 MB of memory. */
let byName: Intl.Collator | undefined;
const compareNames = (a: Entry, b: Entry): number => (byName ??= new Intl.Collator()).compare(a.name, b.name);

/** Number of customers that a file lists at most. */
export const mostOf = (file: PhoneDirectoryFile): number => FORMATS[file].most;
/**
 * Directory of a desk phone, sorted by name: the colleagues that match `q`, and the customers `rows`. If the file has
 * no room for all, colleagues get half of it and the room that customers leave.
 */
export function directoryOf(
  file: PhoneDirectoryFile,
  q: string,
  { people, rows }: { readonly people: readonly Person[]; readonly rows: readonly CustomerRow[] },
): string {
  const { most, write } = FORMATS[file];
  const sorted = (entries: readonly Entry[]) => entries.toSorted(compareNames);
  const customers = sorted(rows.flatMap(entriesOf));
  const room = Math.max(most / 2, most - customers.length);
  const colleagues = sorted(colleaguesOf(people, q)).slice(0, room);
  const entries = sorted([...colleagues, ...customers.slice(0, most - colleagues.length)]);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${write(entries, q === '' ? 'Phonebook' : q)}`;
}
