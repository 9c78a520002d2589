import { MAX_EMAILS, MAX_NUMBERS, NewCustomer } from '@offhook/contract/phonebook.ts';
import { cutText } from '../../core/cut-text.ts';
import type { Queue } from '../../core/queue.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CustomerSources, SourceCustomer, SourceSync } from '../../ports/customers.ts';
import type { Changes } from './changes.ts';
import { checkLine } from './import-check.ts';
import type { Checks, Given } from './import-check.ts';
import type { Line } from './line.ts';
import { merged } from './import.ts';
import type { Room } from './room.ts';
import { keyOf } from './rows.ts';
import type { CustomerRow } from './rows.ts';
import type { SourceFields } from './source-fields.ts';
import type { PhonebookStore } from './store.ts';
import { EVERYONE } from './tables.ts';

/** Customers stored, or deleted, in one transaction. */
const AT_ONCE = 256;
/** Customers whose origin is read at once. */
const ORIGINS_AT_ONCE = 2_000;
const MAX_NAME = 120;

const NAME = NewCustomer.shape.name;
// A cut surrogate pair would be stored as another character, so each update would find a difference.
const cut = (text: string): string => cutText(text, MAX_NAME);
function lineOf(one: SourceCustomer): Line {
  const values = (list: readonly string[], field: string, most: number) =>
    list.slice(0, most).map((value) => ({ value, label: null, field }));
  return {
    line: 0,
    uid: one.external_id,
    fields: {
      kind: one.kind,
      name: one.name,
      company: one.company ?? '',
      vip: String(one.vip),
      blocked: String(one.blocked),
      ...(one.language !== undefined && { language: one.language }),
    },
    numbers: values(one.numbers, 'numbers', MAX_NUMBERS),
    emails: values(one.emails, 'emails', MAX_EMAILS),
    unreadable: [],
  };
}
/** The fields that the phonebook can store; null for a customer without a usable id or name. */
function givenOf(line: Line, checks: Omit<Checks, 'report'>): Given | null {
  // Note and owner are the site's own.
  const { note: _note, owner: _owner, name = '', company = '', ...fields } = line.fields;
  // Most customers have no company; the first test spares them a failed parse, which builds an error with a stack.
  const isNamed = company !== '' && NAME.safeParse(cut(company)).success;
  const short = { name: cut(name), company: isNamed ? cut(company) : '' };
  const given = checkLine(
    { ...line, fields: { ...fields, ...short } },
    { ...checks, report: () => undefined },
  );
  return given?.external_id == null ? null : given;
}

type Sourced = Given & Pick<SourceCustomer, 'adds_numbers'>;
/** The numbers of a customer with further ones, at most as many as a customer may have. */
function withNumbers(known: CustomerRow | undefined, more: CustomerRow['numbers']): CustomerRow['numbers'] {
  const byKey = new Map([...(known?.numbers ?? []), ...more].map((one) => [keyOf(one), one]));
  return [...byKey.values()].slice(0, MAX_NUMBERS);
}

export interface SourcesOptions extends Omit<Checks, 'report'> {
  readonly store: Pick<
    PhonebookStore,
    'origins' | 'originsOf' | 'removeAll' | 'storeAll' | 'withExternalIds'
  >;
  readonly clock: Clock;
  readonly changes: Pick<Changes, 'imported' | 'removed'>;
  readonly room: Room;
  readonly sourceFields: Pick<SourceFields, 'namesLanguages' | 'of'>;
  /** Runs one change after the other. */
  readonly writes: Queue;
}
/** `CustomerSources`, for sources whose customers are read as lines. */
export interface LineSources extends CustomerSources {
  /** As `store`, with the uid of each line as the id at the source. */
  storeLines(source: string, lines: readonly Line[]): Promise<void>;
}
/** Keeps shared customers equal to those of systems outside, except for the fields that are the site's own. */
export function createSources(options: SourcesOptions): LineSources {
  const { store, clock, changes, room, sourceFields, writes } = options;
  const knownOf = async (source: string, ids: readonly string[]): Promise<readonly CustomerRow[]> => {
    // Each source has at most one customer with an id; two sources may have the same id.
    const rows = await store.withExternalIds(EVERYONE, ids, ids.length * AT_ONCE);
    return rows.filter((row) => row.source === source);
  };
  async function removeRows(rows: readonly { readonly id: number }[]): Promise<void> {
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    await store.removeAll(ids);
    room.count(EVERYONE, -ids.length);
    changes.removed(EVERYONE, ids);
  }
  async function storeSome(
    source: string,
    all: readonly (Sourced | null)[],
    named?: { readonly ids: readonly string[]; readonly sync: SourceSync },
  ): Promise<void> {
    const byId = new Map<string, Sourced>();
    for (const one of all) if (one !== null) byId.set(one.external_id!, one);
    const some = [...byId.values()];
    const known = new Map(
      (await knownOf(source, named?.ids ?? some.map(({ external_id }) => external_id!))).map((row) => [
        row.external_id,
        row,
      ]),
    );
    const fresh = { person_id: EVERYONE, source, now: clock.now() };
    const isNamed = sourceFields.of({ source }).includes('language');
    const next = some.map(({ adds_numbers, ...given }) => {
      const before = known.get(given.external_id!);
      const isKept = adds_numbers === true || (before !== undefined && named?.sync.keepsNumbers(before.id));
      const numbers = isKept ? withNumbers(before, given.numbers) : given.numbers;
      // A system that names languages but none for this customer has none for it.
      return merged({ ...(isNamed && { language: null }), ...given, numbers }, before, fresh);
    });
    const changed = next.filter((row) => row !== null);
    const rows = new Map([...known].map(([external_id, { id }]) => [external_id, id]));
    if (changed.length > 0) {
      const more = changed.filter(({ id }) => id === 0).length;
      room.check(EVERYONE, more);
      const stored = await store.storeAll(changed);
      room.count(EVERYONE, more);
      for (const { external_id, id } of stored) rows.set(external_id, id);
      changes.imported(
        EVERYONE,
        stored.map(({ id }) => id),
      );
    }
    for (const id of named?.ids ?? []) named!.sync.named(id, rows.get(id) ?? null);
  }
  /** Other work of the service runs between the parts. */
  async function inParts<T>(all: readonly T[], work: (some: readonly T[]) => Promise<void>): Promise<void> {
    for (let i = 0; i < all.length; i += AT_ONCE) await writes.run(() => work(all.slice(i, i + AT_ONCE)));
  }
  const read = (one: SourceCustomer): Sourced | null => {
    const given = givenOf(lineOf(one), options);
    return given && { ...given, url: one.url, adds_numbers: one.adds_numbers === true };
  };
  return {
    namesLanguages: (source, names) => sourceFields.namesLanguages(source, names),
    storeLines: (source, lines) =>
      inParts(lines, (some) =>
        storeSome(
          source,
          some.map((line) => givenOf(line, options)),
        ),
      ),
    store: (source, customers, sync) =>
      inParts(customers, (some) =>
        storeSome(source, some.map(read), sync && { sync, ids: some.map(({ external_id }) => external_id) }),
      ),
    remove: (source, ids) => inParts(ids, async (some) => removeRows(await knownOf(source, some))),
    async removeSome(source, isGone, most) {
      let all = 0;
      const gone: number[] = [];
      for (let after: number | undefined = 0; after !== undefined;) {
        const rows = await store.origins(after, ORIGINS_AT_ONCE);
        for (const row of rows) {
          if (row.source !== source) continue;
          all += 1;
          if (isGone(row)) gone.push(row.id);
        }
        after = rows.at(-1)?.id;
      }
      if (most !== null && gone.length > most(all)) return { all, found: gone.length };
      // A lookup may have stored some of them since.
      await inParts(gone, async (ids) => removeRows((await store.originsOf(ids)).filter(isGone)));
      return null;
    },
    async removeAll(source) {
      for (let after: number | null = 0; after !== null;)
        after = await writes.run(async (): Promise<number | null> => {
          const rows = await store.origins(after!, ORIGINS_AT_ONCE);
          await removeRows(rows.filter((row) => row.source === source));
          return rows.at(-1)?.id ?? null;
        });
    },
  };
}
