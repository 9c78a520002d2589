import type { NewCustomer } from '@offhook/contract/phonebook.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import { checkShares, findFor } from './access.ts';
import type { Changes } from './changes.ts';
import type { Room } from './room.ts';
import { isForeign, keyOf } from './rows.ts';
import type { CustomerRow } from './rows.ts';
import type { SourceFields } from './source-fields.ts';
import type { Also, PhonebookStore } from './store.ts';
import { EVERYONE } from './tables.ts';

export interface EditorDeps {
  readonly store: Pick<PhonebookStore, 'add' | 'one' | 'remove' | 'replace'>;
  readonly clock: Clock;
  readonly directory: Pick<Directory, 'byExtension'>;
  readonly audit: Pick<Required<Audit>, 'recordIn'>;
  readonly changes: Pick<Changes, 'customer'>;
  readonly room: Room;
  readonly sourceFields: Pick<SourceFields, 'changed' | 'of'>;
  readonly e164: (number: string) => string | null;
  /** Runs one change after the other. */
  readonly writes: Queue;
}

/** Creates, replaces and deletes single customers, each with its line in the audit trail. */
export class CustomerEditor {
  readonly #deps: EditorDeps;
  constructor(deps: EditorDeps) {
    this.#deps = deps;
  }
  /** Throws `invalid_request`, `forbidden` and `limit_reached`. */
  create(actor: Actor, wanted: NewCustomer): Promise<CustomerRow> {
    const { store, clock, room, changes, writes } = this.#deps;
    return writes.run(async () => {
      const { caller } = actor;
      if (wanted.shared) checkShares(caller);
      else if (caller.key !== null)
        throw new ServiceError('invalid_request', 'shared: an API key has no personal customers');
      const person_id = wanted.shared ? EVERYONE : caller.person_id;
      const fields = this.#fieldsOf(wanted, null);
      room.check(person_id);
      const fresh = {
        ...fields,
        person_id,
        source: 'manual',
        external_id: null,
        url: null,
        updated_at: clock.now(),
        version: 1,
      };
      const row = await store.add(fresh, this.#noted(actor, 'customer.created', fresh));
      room.count(person_id, 1);
      changes.customer(null, row);
      return row;
    });
  }
  /** Throws as `create`, and `precondition_failed` where none of `versions` is the current one; null is any. */
  replace(
    actor: Actor,
    id: number,
    wanted: NewCustomer,
    versions: readonly string[] | null,
  ): Promise<CustomerRow> {
    const { store, clock, room, changes, sourceFields, writes } = this.#deps;
    return writes.run(async () => {
      const row = await this.#changeable(actor.caller, id, versions);
      if (row.person_id === EVERYONE && !wanted.shared)
        throw new ServiceError('invalid_request', 'shared: a shared customer cannot become personal');
      if (wanted.shared) checkShares(actor.caller);
      // A request without a language has null here.
      const language = wanted.language ?? (sourceFields.of(row).includes('language') ? row.language : null);
      const fields = this.#fieldsOf({ ...wanted, language }, row.owner);
      const foreign = sourceFields.changed(row, fields);
      if (foreign !== undefined)
        throw new ServiceError(
          'invalid_request',
          say`${foreign}: this field comes from the connected system; change it there`,
        );
      const next: CustomerRow = {
        ...row,
        ...fields,
        person_id: wanted.shared ? EVERYONE : row.person_id,
        updated_at: clock.now(),
        version: row.version + 1,
      };
      await store.replace(next, this.#noted(actor, 'customer.changed', next));
      room.count(row.person_id, -1);
      room.count(next.person_id, 1);
      changes.customer(row, next);
      return next;
    });
  }
  remove(actor: Actor, id: number, versions: readonly string[] | null): Promise<void> {
    const { store, room, changes, writes } = this.#deps;
    return writes.run(async () => {
      const row = await this.#changeable(actor.caller, id, versions);
      if (isForeign(row))
        throw new ServiceError(
          'in_use',
          'the customer comes from a connected system; delete it there, or the connector or source',
        );
      await store.remove(id, this.#noted(actor, 'customer.deleted', row));
      room.count(row.person_id, -1);
      changes.customer(row, null);
    });
  }
  /** Replaces the current customer by the result of `decide`, without an audit entry; null deletes it. */
  decide(id: number, decide: (row: CustomerRow) => CustomerRow | null): Promise<void> {
    const { store, clock, room, changes, writes } = this.#deps;
    return writes.run(async () => {
      const row = await store.one(id);
      if (row === undefined) return;
      const next = decide(row);
      const silently: Also = () => Promise.resolve();
      if (next !== null)
        await store.replace({ ...next, updated_at: clock.now(), version: row.version + 1 }, silently);
      else {
        await store.remove(id, silently);
        room.count(row.person_id, -1);
      }
      changes.customer(row, next);
    });
  }

  /** The customer, where the caller may change it and `versions` name its current state. */
  async #changeable(who: Caller, id: number, versions: readonly string[] | null): Promise<CustomerRow> {
    const row = await findFor(who, this.#deps.store, id);
    if (row.person_id === EVERYONE) checkShares(who);
    if (versions === null || versions.includes(String(row.version))) return row;
    throw new ServiceError('precondition_failed', 'the customer was changed meanwhile', {
      body: { etag: String(row.version) },
    });
  }
  /** The fields to store. Throws `invalid_request`. `owned`: the present owner, who may no longer exist. */
  #fieldsOf({ shared: _shared, ...wanted }: NewCustomer, owned: string | null) {
    const { directory, e164 } = this.#deps;
    if (wanted.owner !== owned && wanted.owner !== null && directory.byExtension(wanted.owner) === undefined)
      throw new ServiceError('invalid_request', say`owner: there is no extension ${wanted.owner}`);
    const numbers = wanted.numbers.map((one) => ({ ...one, e164: e164(one.number) }));
    const keys = numbers.map(keyOf);
    const twice = keys.findIndex((key, i) => keys.indexOf(key) !== i);
    if (twice >= 0)
      throw new ServiceError('invalid_request', say`numbers.${twice}: this number is listed twice`);
    return { ...wanted, numbers };
  }
  /** Names and numbers stay out of the trail, which outlives the customer. */
  #noted(actor: Actor, action: string, { kind, person_id }: Pick<CustomerRow, 'kind' | 'person_id'>): Also {
    return (trx, id) =>
      this.#deps.audit.recordIn(trx, {
        action,
        actor: actor.caller.username,
        object: `customer:${id}`,
        outcome: 'ok',
        ip: actor.ip,
        detail: { kind, shared: person_id === EVERYONE },
      });
  }
}
