/** The entries of the directory: shared customers and colleagues, in the attributes that desk phones read. */
import { fold } from '@offhook/contract/search.ts';
import { SEARCHED } from './filter.ts';
import type { Sought } from './filter.ts';

export const ROOT = 'dc=phonebook';
export const CUSTOMERS = `ou=customers,${ROOT}`;
export const COLLEAGUES = `ou=colleagues,${ROOT}`;

export interface PhoneNumber {
  /** Number to dial. */
  readonly number: string;
  readonly label: string | null;
  /** Other spellings, because people may type the beginning of any of them. */
  readonly spelled: readonly string[];
}
/** A customer or a colleague. */
export interface Listed {
  readonly id: string;
  readonly colleague: boolean;
  readonly name: string;
  /** False for a company, whose name has no parts. */
  readonly person: boolean;
  readonly company: string | null;
  readonly numbers: readonly PhoneNumber[];
  readonly emails: readonly string[];
}
export interface LdapEntry {
  readonly dn: string;
  /** Values by the name of the attribute. */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
  readonly sought: Sought;
}

/** Labels of mobile and home numbers as people write them in the languages of the console. */
const MOBILE = /mobil|handy|cell|cep/i;
const HOME = /home|priv|ev\b/i;
const attributeOf = ({ label }: PhoneNumber): string =>
  MOBILE.test(label ?? '') ? 'mobile' : HOME.test(label ?? '') ? 'homePhone' : 'telephoneNumber';

export function entryOf(one: Listed): LdapEntry {
  const { id, name, person, company, numbers, emails } = one;
  const cut = person ? name.lastIndexOf(' ') : -1;
  const attributes = new Map<string, string[]>([
    ['objectClass', ['top', 'person', 'organizationalPerson', 'inetOrgPerson']],
    ['uid', [id]],
    ['cn', [name]],
    ['sn', [name.slice(cut + 1)]],
    ['displayName', [name]],
  ]);
  if (cut > 0) attributes.set('givenName', [name.slice(0, cut)]);
  if (company !== null) attributes.set('o', [company]);
  if (emails.length > 0) attributes.set('mail', [...emails]);
  const spelled = new Map<string, string[]>();
  for (const number of numbers) {
    const attribute = attributeOf(number);
    attributes.set(attribute, [...new Set([...(attributes.get(attribute) ?? []), number.number])]);
    const key = attribute.toLowerCase();
    spelled.set(key, [...(spelled.get(key) ?? []), number.number, ...number.spelled]);
  }
  const known = new Map([...attributes].map(([key, values]) => [key.toLowerCase(), values]));
  return {
    dn: `uid=${id},${one.colleague ? COLLEAGUES : CUSTOMERS}`,
    attributes,
    sought: (attribute) =>
      spelled.get(attribute) ?? known.get(attribute)?.map(fold) ?? (SEARCHED.has(attribute) ? [] : undefined),
  };
}
