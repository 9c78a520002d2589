import { MAX_CALLBACK_IDS, TAKEN_MINUTES } from '@offhook/contract/callbacks.ts';
import type { Callback, CallbacksQuery, CallbacksReply, CloseCallback } from '@offhook/contract/callbacks.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import type { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Customers } from '../../ports/customers.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import { callbacksOf, reaches } from '../../rights/rights.ts';
import { personScope } from './calls.ts';
import { settleAll } from './store.ts';
import type { CallbackRow, CallbackStore, Changed, Sight, Trx } from './store.ts';

export interface ServiceDeps extends Common<'clock' | 'publish'> {
  readonly store: CallbackStore;
  readonly audit: Required<Audit>;
  readonly directory: Pick<Directory, 'queue' | 'queuesOf'>;
  readonly customers: Customers;
}
const PAGE = 50;
const TAKEN_MS = TAKEN_MINUTES * 60_000;
const nameOf = ({ extension, username }: Caller): string => extension || username;

/** Reads and changes callbacks. Throws `not_found` for one that the caller may not see. */
export class Callbacks {
  readonly #deps: ServiceDeps;
  constructor(deps: ServiceDeps) {
    this.#deps = deps;
  }

  async page(who: Caller, query: CallbacksQuery): Promise<Omit<z.infer<typeof CallbacksReply>, 'success'>> {
    const { store } = this.#deps;
    const { state, queue, limit = PAGE, cursor } = query;
    const sight = this.#sightOf(who, 'read');
    const [at, id] = (cursor ?? '').split('-').map(Number);
    const after = id === undefined ? null : ([at!, id] as const);
    const rows = await store.page(sight, { open: state === 'open', queue }, after, limit + 1);
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      callbacks: await this.#views(who, shown),
      open: await store.countOpen(sight),
      next_cursor: rows.length > limit ? `${last!.last_at}-${last!.id}` : null,
    };
  }
  /** Throws `callback_taken`, `callback_closed`. */
  take(actor: Actor, id: number): Promise<Callback> {
    const by = nameOf(actor.caller);
    return this.#change(actor, id, 'callback.taken', async (trx, row) => {
      if (row.open === 0) throw new ServiceError('callback_closed', 'the callback is closed');
      const now = this.#takenBy(row);
      if (now === by) return false;
      if (now !== null) throw takenBy(now);
      await this.#setTaken(trx, row, by, this.#deps.clock.now());
      return true;
    });
  }
  /** Throws `callback_taken`. */
  release(actor: Actor, id: number): Promise<Callback> {
    const { caller } = actor;
    return this.#change(actor, id, 'callback.released', async (trx, row) => {
      const now = this.#takenBy(row);
      if (now === null) return false;
      if (now !== nameOf(caller) && !(caller.key === null && includesLevel(caller.level, 'supervisor')))
        throw takenBy(now);
      await this.#setTaken(trx, row, null, null);
      return true;
    });
  }
  close(actor: Actor, id: number, { reason, note }: CloseCallback): Promise<Callback> {
    return this.#change(actor, id, 'callback.closed', async (trx, row) => {
      if (row.open === 0) return false;
      await trx
        .updateTable('callbacks')
        .set({
          // Not before the newest try, which the close must cover.
          closed_at: Math.max(this.#deps.clock.now(), row.last_at),
          closed_by: nameOf(actor.caller),
          closed_reason: reason,
          closed_note: note,
        })
        .where('id', '=', row.id)
        .execute();
      return true;
    });
  }
  /** Publishes what changed, one event for each person or queue. */
  async changed(some: readonly Changed[]): Promise<void> {
    const { store, clock, publish } = this.#deps;
    const events: DomainEvent[] = [];
    for (const [scope, all] of Map.groupBy(some, (one) => one.scope)) {
      const [kind, name] = [scope.slice(0, scope.indexOf(':')), scope.slice(scope.indexOf(':') + 1)];
      const [extension, queue] = kind === 'person' ? [name, null] : [null, name];
      const ids = [...new Set(all.map(({ id }) => id))];
      const open = await store.countOpen({
        extensions: extension === null ? [] : [extension],
        queues: queue === null ? [] : [queue],
        since_ms: 0,
      });
      events.push({
        type: 'callback.changed',
        subject: `callbacks/${scope.replace(':', '/')}`,
        at: clock.now(),
        observed: 'live',
        data: { extension, queue, ids: ids.length > MAX_CALLBACK_IDS ? null : ids, open },
      });
    }
    if (events.length > 0) publish(events);
  }

  /** Changes one callback and writes its audit entry in one transaction; `work` returns false if nothing changes. */
  async #change(
    actor: Actor,
    id: number,
    action: string,
    work: (trx: Trx, row: CallbackRow) => Promise<boolean>,
  ): Promise<Callback> {
    const { store, audit } = this.#deps;
    const sight = this.#sightOf(actor.caller, 'write');
    const changed = await store.transaction(async (trx) => {
      const row = await trx.selectFrom('callbacks').selectAll().where('id', '=', id).executeTakeFirst();
      if (row === undefined || !isSeen(sight, row))
        throw new ServiceError('not_found', 'there is no such callback');
      if (!(await work(trx, row))) return [];
      await audit.recordIn(trx, {
        action,
        actor: actor.caller.username,
        object: `callback ${id}`,
        outcome: 'ok',
        ip: actor.ip,
      });
      const sharing = await trx
        .selectFrom('callbacks')
        .select(['id', 'scope'])
        .where('number', '=', row.number)
        .where('open', '=', 1)
        .execute();
      return [...(await settleAll(trx, [row])), ...sharing];
    });
    await this.changed(changed);
    const [view] = await this.#views(actor.caller, [(await store.one(id))!]);
    return view!;
  }
  /** Marks all open callbacks of the number, so that only one person calls the customer. */
  async #setTaken(trx: Trx, row: CallbackRow, taken_by: string | null, taken_at: number | null) {
    await trx
      .updateTable('callbacks')
      .set({ taken_by, taken_at })
      .where('number', '=', row.number)
      .where('open', '=', 1)
      .execute();
  }
  #takenBy({ taken_by, taken_at }: CallbackRow): string | null {
    return taken_at !== null && taken_at + TAKEN_MS > this.#deps.clock.now() ? taken_by : null;
  }
  #sightOf(who: Caller, access: 'read' | 'write'): Sight {
    const own = this.#deps.directory.queuesOf(who.extension).map(({ name }) => name);
    return callbacksOf(who, own, access);
  }
  async #views(who: Caller, rows: readonly CallbackRow[]): Promise<Callback[]> {
    const named = await this.#deps.customers.named(who, [...new Set(rows.map(({ number }) => number))]);
    return rows.map((row): Callback => {
      const name = row.scope.slice(row.scope.indexOf(':') + 1);
      const isPerson = row.scope === personScope(name);
      const taken = this.#takenBy(row);
      return {
        id: row.id,
        extension: isPerson ? name : null,
        queue: isPerson ? null : name,
        queue_title: isPerson ? null : (this.#deps.directory.queue(name)?.title ?? null),
        number: row.number,
        customer: named.get(row.number) ?? null,
        tries: row.tries,
        first_at: rfc3339(row.first_at),
        last_at: rfc3339(row.last_at),
        conversation: row.conversation,
        state: row.open === 1 ? 'open' : 'closed',
        taken:
          taken === null
            ? null
            : { by: taken, at: rfc3339(row.taken_at!), until: rfc3339(row.taken_at! + TAKEN_MS) },
        closed: row.open === 1 ? null : closedOf(row),
      };
    });
  }
}
const takenBy = (name: string): ServiceError =>
  new ServiceError('callback_taken', say`${name} has already taken this callback`);
const isSeen = ({ extensions, queues, since_ms }: Sight, { scope, last_at }: CallbackRow): boolean => {
  const name = scope.slice(scope.indexOf(':') + 1);
  return scope === personScope(name)
    ? reaches(extensions, name) && last_at >= since_ms
    : reaches(queues, name);
};
function closedOf(row: CallbackRow): Callback['closed'] {
  if (row.contact_at !== null)
    return {
      at: rfc3339(row.contact_at),
      by: row.contact_by,
      reason: 'contact',
      note: null,
      conversation: row.contact_conversation,
    };
  return {
    at: rfc3339(row.closed_at ?? row.last_at),
    by: row.closed_by,
    reason: row.closed_reason ?? 'other',
    note: row.closed_note,
    conversation: null,
  };
}
