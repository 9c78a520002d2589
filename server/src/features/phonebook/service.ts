import { MAX_CUSTOMERS, MAX_CUSTOMERS_OF_A_PERSON, MAX_MATCHES } from '@offhook/contract/phonebook.ts';
import type { Customer, NewCustomer, PhonebookQuery } from '@offhook/contract/phonebook.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { digitsOf } from '@offhook/contract/search.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { writeQueue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import { e164In } from '../../numbers/e164.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Store } from '../../ports/store.ts';
import { checkWholeSite } from '../../rights/rights.ts';
import { personalDataOf } from './personal-data.ts';
import { createPhonebookStore, keyOf } from './store.ts';
import type { Also, CustomerRow } from './store.ts';
import { EVERYONE } from './tables.ts';

export interface PhonebookOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly directory: Pick<Directory, 'byExtension'>;
  readonly audit: Required<Audit>;
  /** Whose national numbers are understood (numbers/e164.ts). */
  readonly country: string;
}
/**
 * The customers of the site, and those of each person. One that the caller may not see is `not_found`; every method throws
 * `store_unavailable`, and `forbidden` for an API key that is limited to some objects.
 */
export interface Phonebook {
  page(who: Caller, query: PhonebookQuery): Promise<{ customers: Customer[]; next_cursor: string | null }>;
  lookup(who: Caller, number: string): Promise<{ e164: string | null; customers: Customer[] }>;
  one(who: Caller, id: number): Promise<Customer>;
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
  readonly data: PersonalData;
}
const PATIENCE_MS = 30_000;

/** Runs the migrations. */
export async function createPhonebook(options: PhonebookOptions): Promise<Phonebook> {
  const { clock, directory, audit } = options;
  const store = await createPhonebookStore(options.store);
  const counts = await store.counts();
  const turn = writeQueue(PATIENCE_MS);
  const e164 = e164In(options.country);

  async function find(who: Caller, id: number): Promise<CustomerRow> {
    checkWholeSite(who);
    const row = await store.one(id);
    if (row === undefined || (row.person_id !== EVERYONE && row.person_id !== who.person_id))
      throw new ServiceError('not_found', 'there is no such customer');
    return row;
  }
  /** The customer, where the caller may change it and `versions` name its current state. */
  async function own(who: Caller, id: number, versions: readonly string[] | null): Promise<CustomerRow> {
    const row = await find(who, id);
    if (row.person_id === EVERYONE) checkShares(who);
    if (versions === null || versions.includes(String(row.version))) return row;
    throw new ServiceError('precondition_failed', 'the customer was changed meanwhile', {
      body: { etag: String(row.version) },
    });
  }
  /** The fields to store. Throws `invalid_request`. `owned`: the owner so far, who may be gone meanwhile. */
  function fieldsOf({ shared: _shared, ...wanted }: NewCustomer, owned: string | null) {
    if (wanted.owner !== owned && wanted.owner !== null && directory.byExtension(wanted.owner) === undefined)
      throw new ServiceError('invalid_request', say`owner: there is no extension ${wanted.owner}`);
    const numbers = wanted.numbers.map((one) => ({ ...one, e164: e164(one.number) }));
    const keys = numbers.map(keyOf);
    const twice = keys.findIndex((key, i) => keys.indexOf(key) !== i);
    if (twice >= 0)
      throw new ServiceError('invalid_request', say`numbers.${twice}: this number is listed twice`);
    return { ...wanted, numbers };
  }
  const count = (person_id: number, n: number): void =>
    void counts.set(person_id, (counts.get(person_id) ?? 0) + n);
  function checkRoom(person_id: number): void {
    const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
    const personal = person_id === EVERYONE ? 0 : (counts.get(person_id) ?? 0);
    if (all < MAX_CUSTOMERS && personal < MAX_CUSTOMERS_OF_A_PERSON) return;
    throw new ServiceError(
      'limit_reached',
      say`a site has at most ${MAX_CUSTOMERS} customers, a person ${MAX_CUSTOMERS_OF_A_PERSON} personal ones`,
    );
  }
  /** Names and numbers stay out of the trail, which outlives the customer. */
  const noted =
    (actor: Actor, action: string, { kind, person_id }: Pick<CustomerRow, 'kind' | 'person_id'>): Also =>
    (trx, id) =>
      audit.recordIn(trx, {
        action,
        actor: actor.caller.username,
        object: `customer:${id}`,
        outcome: 'ok',
        ip: actor.ip,
        detail: { kind, shared: person_id === EVERYONE },
      });

  return {
    async page(who, { q, cursor, limit = 50 }) {
      checkWholeSite(who);
      const before = cursor === undefined ? null : Number(cursor);
      const { rows, next } = await (q === undefined
        ? store.page(who.person_id, before, limit)
        : store.search(who.person_id, q, before, limit));
      return { customers: rows.map(shown), next_cursor: next === null ? null : String(next) };
    },
    async lookup(who, number) {
      checkWholeSite(who);
      const found = e164(number);
      const key = found ?? digitsOf(number);
      const rows = key === null ? [] : await store.withKey(who.person_id, key, MAX_MATCHES);
      return { e164: found, customers: rows.map(shown) };
    },
    one: async (who, id) => shown(await find(who, id)),
    create: (actor, wanted) =>
      turn.run(async () => {
        const { caller } = actor;
        checkWholeSite(caller);
        if (wanted.shared) checkShares(caller);
        else if (caller.key !== null)
          throw new ServiceError('invalid_request', 'shared: an API key has no personal customers');
        const person_id = wanted.shared ? EVERYONE : caller.person_id;
        const fields = fieldsOf(wanted, null);
        checkRoom(person_id);
        const fresh = { ...fields, person_id, source: 'manual', updated_at: clock.now(), version: 1 };
        const row = await store.add(fresh, noted(actor, 'customer.created', fresh));
        count(person_id, 1);
        return shown(row);
      }),
    replace: (actor, id, wanted, versions) =>
      turn.run(async () => {
        const row = await own(actor.caller, id, versions);
        if (row.person_id === EVERYONE && !wanted.shared)
          throw new ServiceError('invalid_request', 'shared: a shared customer stays shared');
        if (wanted.shared) checkShares(actor.caller);
        const next: CustomerRow = {
          ...row,
          ...fieldsOf(wanted, row.owner),
          person_id: wanted.shared ? EVERYONE : row.person_id,
          updated_at: clock.now(),
          version: row.version + 1,
        };
        await store.replace(next, noted(actor, 'customer.changed', next));
        count(row.person_id, -1);
        count(next.person_id, 1);
        return shown(next);
      }),
    remove: (actor, id, versions) =>
      turn.run(async () => {
        const row = await own(actor.caller, id, versions);
        await store.remove(id, noted(actor, 'customer.deleted', row));
        count(row.person_id, -1);
      }),
    data: personalDataOf({
      store,
      personOf: (extension) => directory.byExtension(extension)?.id ?? null,
      change: (id, decide) =>
        turn.run(async () => {
          const row = await store.one(id);
          if (row === undefined) return;
          const next = decide(row);
          const silently: Also = () => Promise.resolve();
          if (next !== null)
            await store.replace({ ...next, updated_at: clock.now(), version: row.version + 1 }, silently);
          else {
            await store.remove(id, silently);
            count(row.person_id, -1);
          }
        }),
    }),
  };
}

const shown = ({ person_id, updated_at, ...row }: CustomerRow): Customer => ({
  ...row,
  shared: person_id === EVERYONE,
  updated_at: rfc3339(updated_at),
});
/** Throws `forbidden` for a person below supervisor; a key has the level and needs the scope. */
function checkShares(who: Caller): void {
  if (includesLevel(who.level, 'supervisor')) return;
  throw new ServiceError('forbidden', 'only supervisors and administrators change shared customers');
}
