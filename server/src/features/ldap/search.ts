/** A search of the directory: takes candidates from the phonebook's index and compares each with the filter. */
import { COLLEAGUES, CUSTOMERS, ROOT, entryOf } from './entries.ts';
import type { LdapEntry, Listed } from './entries.ts';
import { matches, probesOf } from './filter.ts';
import type { Filter } from './filter.ts';
import { PAGED } from './messages.ts';

export interface LdapSource {
  colleagues(): readonly Listed[];
  /** Shared customers with `q` in their texts, or all of them, newest first; `next` is null at the end. */
  customers(
    q: string | null,
    before: number | null,
    limit: number,
  ): Promise<{ readonly rows: readonly Listed[]; readonly next: number | null }>;
}
const AT_ONCE = 200;
const SCOPE_BASE = 0;
/** Normal form of a DN: lower case, without spaces and tabs. */
export const nameOf = (dn: string): string => dn.toLowerCase().replaceAll(/[ \t]/g, '');

/** An entry that contains others: the root, or one of its folders. */
function containerOf(dn: string, fields: Readonly<Record<string, readonly string[]>>): LdapEntry {
  const known = new Map(Object.entries(fields).map(([key, values]) => [key.toLowerCase(), values]));
  const sought: LdapEntry['sought'] = (one) => known.get(one)?.map((value) => value.toLowerCase());
  return { dn, attributes: new Map(Object.entries(fields)), sought };
}
const containers = new Map(
  [
    containerOf('', {
      objectClass: ['top'],
      namingContexts: [ROOT],
      supportedLDAPVersion: ['3'],
      supportedControl: [PAGED],
    }),
    containerOf(ROOT, { objectClass: ['top', 'domain'], dc: ['phonebook'] }),
    containerOf(CUSTOMERS, { objectClass: ['top', 'organizationalUnit'], ou: ['customers'] }),
    containerOf(COLLEAGUES, { objectClass: ['top', 'organizationalUnit'], ou: ['colleagues'] }),
  ].map((one) => [one.dn, one]),
);
/** True for a search of the root DSE: it describes this server, and clients read it before a bind (RFC 4512, 5.1). */
export const isRootDse = ({ base, scope }: { readonly base: string; readonly scope: number }): boolean =>
  nameOf(base) === '' && scope === SCOPE_BASE;
export const exists = (base: string): boolean => containers.has(nameOf(base));

/**
 * Matching entries, colleagues first; null between them lets the caller check its limit of time. A search below the
 * root lists all people, whatever its scope, and never the two folders, because phones would show them as people.
 */
export async function* entriesOf(
  source: LdapSource,
  { base, scope, filter }: { readonly base: string; readonly scope: number; readonly filter: Filter },
): AsyncGenerator<LdapEntry | null> {
  const name = nameOf(base);
  const fits = (entry: LdapEntry): boolean => matches(filter, entry.sought) === true;
  if (scope === SCOPE_BASE) {
    const one = containers.get(name);
    if (one !== undefined && fits(one)) yield one;
    return;
  }
  if (name !== CUSTOMERS)
    for (const one of source.colleagues()) {
      const entry = entryOf(one);
      if (fits(entry)) yield entry;
    }
  if (name === COLLEAGUES) return;
  const given = new Set<string>();
  const probes = probesOf(filter);
  for (const q of probes ?? [null]) {
    for (let before: number | null = null, first = true; first || before !== null; first = false) {
      const { rows, next } = await source.customers(q, before, AT_ONCE);
      for (const row of rows) {
        const entry = entryOf(row);
        // Only several index searches can find an entry twice.
        if (!fits(entry) || given.has(row.id)) continue;
        if (probes !== null && probes.length > 1) given.add(row.id);
        yield entry;
      }
      before = next;
      // The caller checks the limit of time even if no entry matched.
      yield null;
    }
  }
}
