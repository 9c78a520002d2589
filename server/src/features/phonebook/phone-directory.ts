import type { PhoneDirectoryFile } from '@offhook/contract/phonebook-directory.ts';
import type { CustomerRow } from './rows.ts';

/** Characters that XML 1.0 cannot hold, not even escaped. */
const NOT_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;
const escaped = (text: string): string =>
  text.replace(NOT_XML, '').replace(/[<>&"']/g, (one) => `&#${one.charCodeAt(0)};`);

interface Entry {
  readonly name: string;
  readonly number: string;
}
/** An entry for each number; its name has company and, beside other numbers of the customer, the label. */
const entriesOf = ({ name, company, numbers }: CustomerRow): Entry[] =>
  numbers.map(({ number, e164, label }) => {
    const marks = [company, numbers.length > 1 ? label : null].filter((mark) => mark !== null);
    return { name: marks.length === 0 ? name : `${name} (${marks.join(', ')})`, number: e164 ?? number };
  });
/** The format that Cisco published, which others took over with another name of the root. */
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
const byName = new Intl.Collator();

/** Number of customers that a file lists at most. */
export const mostOf = (file: PhoneDirectoryFile): number => FORMATS[file].most;
/** The customers as a desk phone reads them, by name. */
export function directoryOf(file: PhoneDirectoryFile, rows: readonly CustomerRow[], title: string): string {
  const { most, write } = FORMATS[file];
  const entries = rows.flatMap(entriesOf).toSorted((a, b) => byName.compare(a.name, b.name));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${write(entries.slice(0, most), title)}`;
}
