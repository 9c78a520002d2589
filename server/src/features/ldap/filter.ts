/** Search filters of LDAP: parses them, compares them with entries and derives searches of the phonebook's index. */
import { digitsOf, fold } from '@offhook/contract/search.ts';
import { cutText } from '../../core/cut-text.ts';
import { BerError, BerReader, SEQUENCE } from './ber.ts';

export type Filter =
  | { readonly is: 'and' | 'or'; readonly of: readonly Filter[] }
  | { readonly is: 'not'; readonly of: Filter }
  | { readonly is: 'present'; readonly attribute: string }
  | {
      readonly is: 'text';
      readonly attribute: string;
      /** Folded; `initial` or `final` is null if the beginning or the end is open. */
      readonly initial: string | null;
      readonly any: readonly string[];
      readonly final: string | null;
    }
  /** Neither true nor false: a comparison that this server does not support. */
  | { readonly is: 'undefined' };

/** Folded texts of an entry by attribute in lower case; undefined for an attribute that the directory does not have. */
export type Sought = (attribute: string) => readonly string[] | undefined;

const MOST_DEPTH = 12;
const MOST_PARTS = 100;
/** Limit of characters of a probe, equal to that of a search by API: each word becomes a condition of the statement. */
const MOST_SEARCHED = 64;
/** Limit of index searches for one filter; beyond it the filter is compared with the whole phonebook. */
const MOST_PROBES = 8;
const NUMBERS: ReadonlySet<string> = new Set(['telephonenumber', 'mobile', 'homephone']);
/** Attributes whose texts are in the phonebook's index too; an entry may lack them. */
export const SEARCHED: ReadonlySet<string> = new Set([
  ...NUMBERS,
  'cn',
  'sn',
  'givenname',
  'displayname',
  'o',
  'mail',
]);

const valueOf = (attribute: string, text: string): string =>
  NUMBERS.has(attribute) ? text.replace(/[\s()./-]/g, '').toLowerCase() : fold(text);

/** Throws `BerError`. */
export function readFilter(reader: BerReader): Filter {
  let parts = 0;
  const text = (bytes: Buffer): string => bytes.toString('utf8');
  const all = (inside: BerReader, depth: number): Filter[] => {
    const of: Filter[] = [];
    while (inside.tag !== null) of.push(read(inside, depth + 1));
    return of;
  };
  const compared = (value: Buffer): Filter => {
    const inside = new BerReader(value);
    const attribute = inside.text().toLowerCase();
    const wanted = valueOf(attribute, inside.text());
    return { is: 'text', attribute, initial: wanted, any: [], final: wanted };
  };
  const substrings = (value: Buffer): Filter => {
    const inside = new BerReader(value);
    const attribute = inside.text().toLowerCase();
    const list = inside.inside(SEQUENCE);
    let initial: string | null = null;
    let final: string | null = null;
    const any: string[] = [];
    while (list.tag !== null) {
      if (++parts > MOST_PARTS) throw new BerError('the filter has too many parts');
      const part = list.next();
      const folded = valueOf(attribute, text(part.value));
      if (part.tag === 0x80) initial = folded;
      else if (part.tag === 0x81) any.push(folded);
      else if (part.tag === 0x82) final = folded;
      else throw new BerError('not a part of a substring filter');
    }
    return { is: 'text', attribute, initial, any, final };
  };
  const read = (from: BerReader, depth: number): Filter => {
    if (depth > MOST_DEPTH || ++parts > MOST_PARTS) throw new BerError('the filter has too many parts');
    const { tag, value } = from.next();
    switch (tag) {
      case 0xa0:
        return { is: 'and', of: all(new BerReader(value), depth) };
      case 0xa1:
        return { is: 'or', of: all(new BerReader(value), depth) };
      case 0xa2:
        return { is: 'not', of: read(new BerReader(value), depth + 1) };
      case 0xa3:
      case 0xa8:
        return compared(value);
      case 0xa4:
        return substrings(value);
      case 0x87:
        return { is: 'present', attribute: text(value).toLowerCase() };
      case 0xa5:
      case 0xa6:
      case 0xa9:
        return { is: 'undefined' };
      default:
        throw new BerError('not a filter');
    }
  };
  return read(reader, 0);
}

function textMatches({ initial, any, final }: Extract<Filter, { is: 'text' }>, text: string): boolean {
  if (initial !== null && initial === final && any.length === 0) return text === initial;
  if (initial !== null && !text.startsWith(initial)) return false;
  let at = initial?.length ?? 0;
  for (const part of any) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return final === null || (text.length - final.length >= at && text.endsWith(final));
}
/** Null means undefined: neither such a filter nor its negation matches (RFC 4511, 4.5.1.7). */
export function matches(filter: Filter, sought: Sought): boolean | null {
  switch (filter.is) {
    case 'and': {
      const all = filter.of.map((one) => matches(one, sought));
      return all.includes(false) ? false : all.includes(null) ? null : true;
    }
    case 'or': {
      const all = filter.of.map((one) => matches(one, sought));
      return all.includes(true) ? true : all.includes(null) ? null : false;
    }
    case 'not': {
      const one = matches(filter.of, sought);
      return one === null ? null : !one;
    }
    case 'present':
      return (sought(filter.attribute)?.length ?? 0) > 0;
    case 'text':
      return sought(filter.attribute)?.some((text) => textMatches(filter, text)) ?? null;
    case 'undefined':
      return null;
  }
}
/** Texts to search in the phonebook's index: every match contains at least one. Null if any entry may match. */
export function probesOf(filter: Filter): readonly string[] | null {
  switch (filter.is) {
    case 'and': {
      const some = filter.of.map(probesOf).filter((one) => one !== null);
      const shortest = (probes: readonly string[]): number =>
        Math.min(...probes.map((one) => one.length), 1_000);
      return some.toSorted((a, b) => shortest(b) - shortest(a))[0] ?? null;
    }
    case 'or': {
      const all = filter.of.map(probesOf);
      if (all.includes(null)) return null;
      const probes = [...new Set(all.flatMap((one) => one!))];
      return probes.length > MOST_PROBES ? null : probes;
    }
    case 'text': {
      const { attribute, initial, any, final } = filter;
      if (!SEARCHED.has(attribute)) return null;
      const parts = [initial ?? '', ...any, final ?? ''];
      const longest = parts.toSorted((a, b) => b.length - a.length)[0]!;
      if (longest === '') return null;
      // No number contains a text without digits.
      if (NUMBERS.has(attribute) && digitsOf(longest) === null) return longest === '+' ? null : [];
      return [cutText(longest, MOST_SEARCHED)];
    }
    case 'undefined':
      return [];
    default:
      return null;
  }
}
