/** A search of the directory: candidates from the phonebook's index, compared with the filter one by one. */
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
/** Blanks around the parts of a name mean nothing. */
export const nameOf = (dn: string): string => dn.toLowerCase().replaceAll(/[ \t]/g, '');

/** Entries that hold others. */
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
/** The description of this server, which anybody may read (RFC 4512, 5.1). */
export const isRootDse = ({ base, scope }: { readonly base: string; readonly scope: number }): boolean =>
  nameOf(base) === '' && scope === SCOPE_BASE;
export const exists = (base: string): boolean => containers.has(nameOf(base));

/**
 * Entries that match, colleagues first. Below the root all people are listed whatever the scope, and the two folders never:
 * phones would show them as people.
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
        // An entry can be found twice only by several searches.
        if (!fits(entry) || given.has(row.id)) continue;
        if (probes !== null && probes.length > 1) given.add(row.id);
        yield entry;
      }
      before = next;
      // The limit of time is also checked during a long search without a match.
      yield null;
    }
  }
}
