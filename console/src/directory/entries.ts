/** Contacts of a list with their order and headings. Pure; 10,000 take a frame or two. */
import type { Contact, Presence } from '@offhook/contract/extensions.ts';
import { matcherOf, searched } from '@offhook/contract/search.ts';
import { shownOf } from '../presence/state.ts';
import type { Group } from '../presence/state.ts';

export interface Entry {
  readonly contact: Contact;
  /** Text that `matcherOf` searches. */
  readonly found: string;
}
export type Section = 'favourites' | 'everybody' | 'none' | { readonly department: string };
export type Row =
  | { readonly kind: 'head'; readonly section: Section; readonly count: number }
  /** `place` counts people, from 1. */
  | { readonly kind: 'person'; readonly contact: Contact; readonly place: number };
export interface Wanted {
  readonly q: string;
  /** Null: all departments; empty: people without one. */
  readonly department: string | null;
  readonly group: Group | null;
  readonly grouped: boolean;
  readonly favourites: ReadonlySet<string>;
  readonly presenceOf: (extension: string) => Presence | undefined;
}

/** In the order of names of a language. */
export function entriesOf(contacts: readonly Contact[], lang: string): Entry[] {
  const { compare } = new Intl.Collator(lang, { numeric: true, sensitivity: 'base' });
  return contacts
    .map((contact) => ({
      contact,
      found: searched([contact.name, contact.department], [contact.extension, contact.mobile]),
    }))
    .sort(
      (a, b) => compare(a.contact.name, b.contact.name) || compare(a.contact.extension, b.contact.extension),
    );
}
export function departmentsOf(contacts: readonly Contact[], lang: string): string[] {
  const all = new Set(contacts.flatMap(({ department }) => department ?? []));
  return [...all].sort(new Intl.Collator(lang).compare);
}
/** Favourites come first and are not listed again below. */
export function rowsOf(
  entries: readonly Entry[],
  wanted: Wanted,
  lang: string,
): { rows: Row[]; people: number } {
  const matches = matcherOf(wanted.q);
  const favourites: Contact[] = [];
  const others = new Map<string | null, Contact[]>();
  for (const { contact, found } of entries) {
    const department = contact.department ?? '';
    if (wanted.department !== null && department !== wanted.department) continue;
    if (!matches(found)) continue;
    if (wanted.group !== null && shownOf(wanted.presenceOf(contact.extension)).group !== wanted.group)
      continue;
    if (wanted.favourites.has(contact.extension)) {
      favourites.push(contact);
      continue;
    }
    const key = wanted.grouped ? department : null;
    const group = others.get(key);
    if (group === undefined) others.set(key, [contact]);
    else group.push(contact);
  }
  const rows: Row[] = [];
  let people = 0;
  const add = (section: Section, contacts: readonly Contact[], headed: boolean): void => {
    if (contacts.length === 0) return;
    if (headed) rows.push({ kind: 'head', section, count: contacts.length });
    for (const contact of contacts) rows.push({ kind: 'person', contact, place: (people += 1) });
  };
  add('favourites', favourites, true);
  const { compare } = new Intl.Collator(lang);
  const keys = [...others.keys()].sort(
    (a, b) => Number(a === '') - Number(b === '') || compare(a ?? '', b ?? ''),
  );
  for (const key of keys) {
    const section: Section = key === null ? 'everybody' : key === '' ? 'none' : { department: key };
    add(section, others.get(key) ?? [], wanted.grouped || favourites.length > 0);
  }
  return { rows, people };
}
