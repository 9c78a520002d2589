import { CONNECTOR_SOURCE, MAX_MATCHES } from '@offhook/contract/phonebook.ts';
import type { CallCustomer, Customer, NewCustomer, PhonebookQuery } from '@offhook/contract/phonebook.ts';
import type { PhoneDirectoryFile } from '@offhook/contract/phonebook-directory.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { digitsOf } from '@offhook/contract/search.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { writeQueue } from '../../core/queue.ts';
import { e164In } from '../../numbers/e164.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Customers } from '../../ports/customers.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Store } from '../../ports/store.ts';
import { findFor } from './access.ts';
import { createChanges } from './changes.ts';
import { Departed } from './departed.ts';
import { CustomerEditor } from './editor.ts';
import { createFiles } from './files.ts';
import type { PhonebookFiles } from './files.ts';
import type { Checks } from './import-check.ts';
import { personalDataOf } from './personal-data.ts';
import { directoryOf, mostOf } from './phone-directory.ts';
import type { Match } from './reads.ts';
import { Room } from './room.ts';
import type { CustomerRow } from './rows.ts';
import { SourceFields } from './source-fields.ts';
import { createSources } from './sources.ts';
import type { LineSources } from './sources.ts';
import { createPhonebookStore } from './store.ts';
import type { PhonebookStore } from './store.ts';
import { EVERYONE } from './tables.ts';

export interface PhonebookOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly directory: Pick<Directory, 'byExtension' | 'onChange' | 'people'>;
  readonly log: Log;
  readonly audit: Required<Audit>;
  readonly publish: (events: readonly DomainEvent[]) => void;
  /** Country of national numbers (numbers/e164.ts). */
  readonly country: string;
}
/**
 * The customers of the site, and those of each person. One that the caller may not see is `not_found`; every method throws
 * `store_unavailable`. Requests of API keys that are limited to some objects do not get here (`WHOLE_SITE_SCOPES`).
 */
export interface Phonebook extends Customers {
  page(who: Caller, query: PhonebookQuery): Promise<{ customers: Customer[]; next_cursor: string | null }>;
  lookup(who: Caller, number: string): Promise<{ e164: string | null; customers: Customer[] }>;
  one(who: Caller, id: number): Promise<Customer>;
  /** Shared customers and colleagues as a desk phone reads them. */
  directory(file: PhoneDirectoryFile, q: string): Promise<string>;
  /** Throws `invalid_request`, `forbidden` and `limit_reached`. */
  create(actor: Actor, wanted: NewCustomer): Promise<Customer>;
  /** Throws as `create`, and `precondition_failed` where none of `versions` is the current one; null is any. */
  replace(
    actor: Actor,
    id: number,
    wanted: NewCustomer,
    versions: readonly string[] | null,
  ): Promise<Customer>;
  remove(actor: Actor, id: number, versions: readonly string[] | null): Promise<void>;
  /** For `EngineCustomers` and LDAP. */
  readonly store: Pick<PhonebookStore, 'onTouched' | 'page' | 'blocked' | 'newestWith' | 'search'>;
  readonly files: PhonebookFiles;
  readonly sources: LineSources;
  readonly data: PersonalData;
  /** Deletes personal customers of people who are gone. */
  readonly departed: Departed;
}
const PATIENCE_MS = 30_000;
/** Numbers of one query. */
const NUMBERS_AT_ONCE = 500;

/** Runs the migrations. */
export async function createPhonebook(options: PhonebookOptions): Promise<Phonebook> {
  const { clock, directory, log } = options;
  const store = await createPhonebookStore(options.store);
  const e164 = e164In(options.country);
  const deps = {
    store,
    clock,
    directory,
    audit: options.audit,
    changes: createChanges(options),
    room: new Room(await store.counts()),
    e164,
    sourceFields: new SourceFields(),
    isPerson: (extension: string) => directory.byExtension(extension) !== undefined,
    writes: writeQueue(PATIENCE_MS),
  };
  const editor = new CustomerEditor(deps);
  const shown = shownWith(deps.sourceFields);
  return {
    ...readsOf(store, deps),
    store,
    create: async (actor, wanted) => shown(await editor.create(actor, wanted)),
    replace: async (actor, id, wanted, versions) => shown(await editor.replace(actor, id, wanted, versions)),
    remove: (actor, id, versions) => editor.remove(actor, id, versions),
    files: createFiles(deps),
    sources: createSources(deps),
    departed: new Departed({ ...deps, log }),
    data: personalDataOf({
      store,
      personOf: (extension) => directory.byExtension(extension)?.id ?? null,
      change: (id, decide) => editor.decide(id, decide),
    }),
  };
}

type Reads = Pick<Phonebook, 'directory' | 'page' | 'lookup' | 'named' | 'one'>;
function readsOf(
  store: PhonebookStore,
  {
    directory,
    e164,
    isPerson,
    sourceFields,
  }: Omit<Checks, 'report'> & Pick<PhonebookOptions, 'directory'> & { readonly sourceFields: SourceFields },
): Reads {
  const shown = shownWith(sourceFields);
  const keyIn = (number: string): string | null => e164(number) ?? digitsOf(number);
  return {
    async page(who, { q, cursor, limit = 50 }) {
      const before = cursor === undefined ? null : Number(cursor);
      const { rows, next } = await (q === undefined
        ? store.page(who.person_id, before, limit)
        : store.search(who.person_id, q, before, limit));
      return { customers: rows.map(shown), next_cursor: next === null ? null : String(next) };
    },
    async directory(file, q) {
      const most = mostOf(file);
      const { rows } = await (q === ''
        ? store.page(EVERYONE, null, most)
        : store.search(EVERYONE, q, null, most));
      return directoryOf(file, q, { people: directory.people(), rows });
    },
    async lookup(who, number) {
      const key = keyIn(number);
      const rows = key === null ? [] : await store.withKey(who.person_id, key, MAX_MATCHES);
      return { e164: e164(number), customers: rows.map(shown) };
    },
    async named(who, numbers) {
      const keys = new Map<string, string>();
      for (const number of numbers) {
        const key = keyIn(number);
        if (key !== null && !isPerson(number)) keys.set(number, key);
      }
      const all = [...new Set(keys.values())];
      const found = new Map<string, Match>();
      for (let i = 0; i < all.length; i += NUMBERS_AT_ONCE) {
        const some = await store.newestWith(who?.person_id ?? EVERYONE, all.slice(i, i + NUMBERS_AT_ONCE));
        for (const [key, match] of some) found.set(key, match);
      }
      return new Map(
        [...keys].flatMap(([number, key]) => {
          const match = found.get(key);
          return match === undefined ? [] : [[number, knownOf(match)] as const];
        }),
      );
    },
    one: async (who, id) => shown(await findFor(who, store, id)),
  };
}
const shownWith =
  (sourceFields: SourceFields) =>
  ({ person_id, updated_at, external_id: _external, ...row }: CustomerRow): Customer => ({
    ...row,
    shared: person_id === EVERYONE,
    source_fields: [...sourceFields.of(row)],
    updated_at: rfc3339(updated_at),
  });
const knownOf = ({ row, matches }: Match): CallCustomer => {
  const { id, kind, name, company, owner, vip, blocked, source, external_id, url } = row;
  return {
    id,
    kind,
    name,
    company,
    owner,
    vip,
    blocked,
    source,
    matches,
    // The uid of an imported customer is the site's own.
    ...(source.startsWith(CONNECTOR_SOURCE) && external_id !== null && { external_id }),
    ...(url !== null && { url }),
  };
};
