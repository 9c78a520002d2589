import type { Kysely, Selectable, SelectQueryBuilder, Transaction } from 'kysely';
import { MAX_CALLBACKS } from '@offhook/contract/callbacks.ts';
import type { Objects } from '../../rights/rights.ts';
import type { Store } from '../../ports/store.ts';
import { personScope, queueScope } from './calls.ts';
import type { NumberCall } from './calls.ts';
import { settle } from './settle.ts';
import { migrations } from './tables.ts';
import type { CallbacksTable, Tables } from './tables.ts';

export type CallbackRow = Selectable<CallbacksTable>;
export type Trx = Transaction<Tables>;
/** Persons and queues whose callbacks are read. */
export interface Sight {
  readonly extensions: Objects;
  readonly queues: Objects;
  /** Older tries belong to the previous holder of the extension; ms since 1970. */
  readonly since_ms: number;
}
/** A callback that changed, or is gone. */
export type Changed = Pick<CallbackRow, 'id' | 'scope'>;
type Removed = Pick<CallbackRow, 'id' | 'number' | 'scope'>;
export interface Reader {
  readonly cursor: string | null;
  readonly round: number;
  readonly behind: boolean;
}
/** The calls of one conversation, which replace its stored ones. */
export interface ReadCalls {
  readonly conversation: string;
  readonly calls: readonly NumberCall[];
}
/** Limit of calls of one number that are read, newest first. */
const CALLS_OF_A_NUMBER = 500;
/** Numbers, or callbacks, that one clean-up transaction handles. */
const AT_ONCE = 200;
const READER = 1;

/** Every method throws `store_unavailable` when the database refuses. */
export class CallbackStore {
  readonly #store: Store;
  private constructor(store: Store) {
    this.#store = store;
  }
  /** Runs the migrations. */
  static async open(store: Store): Promise<CallbackStore> {
    await store.migrate('callbacks', migrations);
    return new CallbackStore(store);
  }
  get #db(): Kysely<Tables> {
    return this.#store.db<Tables>();
  }
  transaction<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#store.transaction<Tables, R>(work);
  }

  async reader(): Promise<Reader> {
    const row = await this.#db.selectFrom('callback_reader').selectAll().executeTakeFirst();
    return row === undefined
      ? { cursor: null, round: 0, behind: false }
      : { cursor: row.cursor, round: row.round, behind: row.behind === 1 };
  }
  /** Stores the rows of a page and the position behind it; returns what changed. */
  async advance(reader: Reader, read: readonly ReadCalls[]): Promise<readonly Changed[]> {
    return this.transaction(async (trx) => {
      const row = { id: READER, ...reader, behind: reader.behind ? 1 : 0 };
      await trx
        .insertInto('callback_reader')
        .values(row)
        .onConflict((c) => c.column('id').doUpdateSet(row))
        .execute();
      if (read.length === 0) return [];
      const ids = read.map(({ conversation }) => conversation);
      const before = await trx
        .selectFrom('callback_calls')
        .select('number')
        .distinct()
        .where('conversation', 'in', ids)
        .execute();
      await trx.deleteFrom('callback_calls').where('conversation', 'in', ids).execute();
      const rows = read.flatMap(({ conversation, calls }) =>
        calls.map((call) => ({ ...call, conversation, contact: call.contact ? 1 : 0, round: reader.round })),
      );
      for (const one of rows) await trx.insertInto('callback_calls').values(one).execute();
      return settleAll(trx, [...before, ...rows]);
    });
  }
  /** Deletes rows of earlier readings; null when none is left. Returns what changed. */
  removeBefore(round: number): Promise<readonly Changed[] | null> {
    return this.#remove('round', round);
  }
  /** Removes tries and contacts before this moment; null where there are none. */
  removeOlder(at: number): Promise<readonly Changed[] | null> {
    return this.#remove('at', at);
  }
  #remove(column: 'round' | 'at', least: number): Promise<readonly Changed[] | null> {
    return this.transaction(async (trx) => {
      const numbers = await trx
        .selectFrom('callback_calls')
        .select('number')
        .distinct()
        .where(column, '<', least)
        .limit(AT_ONCE)
        .execute();
      if (numbers.length === 0) return null;
      const some = numbers.map(({ number }) => number);
      await trx.deleteFrom('callback_calls').where(column, '<', least).where('number', 'in', some).execute();
      return settleAll(trx, numbers);
    });
  }

  async one(id: number): Promise<CallbackRow | undefined> {
    return this.#db.selectFrom('callbacks').selectAll().where('id', '=', id).executeTakeFirst();
  }
  /** Whether a number waits to be called back. */
  async isOpen(number: string): Promise<boolean> {
    const row = await this.#db
      .selectFrom('callbacks')
      .select('id')
      .where('number', '=', number)
      .where('open', '=', 1)
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }
  /** The newest try first. */
  async page(
    sight: Sight,
    wanted: { readonly open: boolean; readonly queue: string | undefined },
    after: readonly [last_at: number, id: number] | null,
    limit: number,
  ): Promise<readonly CallbackRow[]> {
    let query = seen(this.#db.selectFrom('callbacks').selectAll(), sight)
      .where('open', '=', wanted.open ? 1 : 0)
      .orderBy('last_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit);
    if (wanted.queue !== undefined) query = query.where('scope', '=', queueScope(wanted.queue));
    if (after !== null) {
      const [at, id] = after;
      query = query.where((e) =>
        e.or([e('last_at', '<', at), e.and([e('last_at', '=', at), e('id', '<', id)])]),
      );
    }
    return query.execute();
  }
  async countOpen(sight: Sight): Promise<number> {
    const query = seen(this.#db.selectFrom('callbacks').selectAll(), sight).where('open', '=', 1);
    const row = await query
      .clearSelect()
      .select((e) => e.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow();
    return Number(row.n);
  }
  /** All callbacks, oldest first. */
  after(id: number, limit: number): Promise<readonly CallbackRow[]> {
    return this.#db
      .selectFrom('callbacks')
      .selectAll()
      .where('id', '>', id)
      .orderBy('id')
      .limit(limit)
      .execute();
  }
  /** Removes a callback with its tries. */
  async remove(one: Removed): Promise<void> {
    await this.transaction((trx) => removeWithTries(trx, one));
  }
  async rewrite(id: number, fields: Partial<CallbackRow>): Promise<void> {
    await this.#db.updateTable('callbacks').set(fields).where('id', '=', id).execute();
  }
  /** Deletes all calls of a number, or those of an extension, which `placeholder` replaces in contacts of others. */
  async forget(kind: 'number' | 'extension', value: string, placeholder: string): Promise<void> {
    if (kind === 'number') {
      await this.#db.deleteFrom('callback_calls').where('number', '=', value).execute();
      return;
    }
    await this.#db.deleteFrom('callback_calls').where('scope', '=', personScope(value)).execute();
    await this.#db.updateTable('callback_calls').set({ by: placeholder }).where('by', '=', value).execute();
  }
}

const startsWith = (prefix: string) => ({ from: `${prefix}:`, to: `${prefix};` }) as const;
function seen<Q extends SelectQueryBuilder<Tables, 'callbacks', CallbackRow>>(
  query: Q,
  { extensions, queues, since_ms }: Sight,
): SelectQueryBuilder<Tables, 'callbacks', CallbackRow> {
  const sides = [
    [startsWith('person'), extensions?.map(personScope) ?? null, since_ms],
    [startsWith('queue'), queues?.map(queueScope) ?? null, 0],
  ] as const;
  return query.where((e) =>
    e.or(
      sides
        .filter(([, names]) => names === null || names.length > 0)
        .map(([{ from, to }, names, since]) =>
          e.and([
            names === null ? e.and([e('scope', '>=', from), e('scope', '<', to)]) : e('scope', 'in', names),
            e('last_at', '>=', since),
          ]),
        ),
    ),
  );
}

/** Stores the callbacks that follow from the calls of these numbers; returns what changed. */
export async function settleAll(
  trx: Trx,
  numbers: readonly { readonly number: string }[],
): Promise<readonly Changed[]> {
  const changed: Changed[] = [];
  for (const number of new Set(numbers.map((one) => one.number)))
    changed.push(...(await settleNumber(trx, number)));
  for (const scope of new Set(changed.map((one) => one.scope))) changed.push(...(await trim(trx, scope)));
  return changed;
}
const SAME = [
  'tries',
  'first_at',
  'last_at',
  'conversation',
  'open',
  'taken_by',
  'taken_at',
  'contact_at',
] as const;
async function settleNumber(trx: Trx, number: string): Promise<readonly Changed[]> {
  const calls = await trx
    .selectFrom('callback_calls')
    .selectAll()
    .where('number', '=', number)
    .orderBy('at', 'desc')
    .limit(CALLS_OF_A_NUMBER)
    .execute();
  const rows = await trx.selectFrom('callbacks').selectAll().where('number', '=', number).execute();
  const known = new Map(rows.map((row) => [row.scope, row]));
  const settled = settle(
    calls,
    new Map(rows.flatMap(({ scope, closed_at }) => (closed_at === null ? [] : [[scope, closed_at]]))),
  );
  const taken = rows.find(({ open, taken_by }) => open === 1 && taken_by !== null);
  const changed: Changed[] = [];
  for (const [scope, { contact, open, ...run }] of settled) {
    const fields = {
      ...run,
      open: open ? 1 : 0,
      taken_by: open ? (taken?.taken_by ?? null) : null,
      taken_at: open ? (taken?.taken_at ?? null) : null,
      contact_at: contact?.at ?? null,
      contact_by: contact?.by ?? null,
      contact_conversation: contact?.conversation ?? null,
    };
    const row = known.get(scope);
    if (row === undefined) {
      const none = { closed_at: null, closed_by: null, closed_reason: null, closed_note: null };
      const { id } = await trx
        .insertInto('callbacks')
        .values({ scope, number, ...fields, ...none })
        .returning('id')
        .executeTakeFirstOrThrow();
      changed.push({ id: Number(id), scope });
    } else if (SAME.some((field) => row[field] !== fields[field])) {
      await trx.updateTable('callbacks').set(fields).where('id', '=', row.id).execute();
      changed.push({ id: row.id, scope });
    }
  }
  const gone = rows.filter(({ scope }) => !settled.has(scope));
  for (const { id } of gone) await trx.deleteFrom('callbacks').where('id', '=', id).execute();
  return [...changed, ...gone];
}
/** Deletes the oldest callbacks of one person or queue beyond the limit. */
async function trim(trx: Trx, scope: string): Promise<readonly Changed[]> {
  const beyond = await trx
    .selectFrom('callbacks')
    .select(['id', 'scope', 'number'])
    .where('scope', '=', scope)
    .orderBy('last_at', 'desc')
    .orderBy('id', 'desc')
    .offset(MAX_CALLBACKS)
    .limit(AT_ONCE)
    .execute();
  for (const one of beyond) await removeWithTries(trx, one);
  return beyond;
}
async function removeWithTries(trx: Trx, { id, number, scope }: Removed): Promise<void> {
  await trx.deleteFrom('callbacks').where('id', '=', id).execute();
  await trx
    .deleteFrom('callback_calls')
    .where('number', '=', number)
    .where('scope', '=', scope)
    .where('contact', '=', 0)
    .execute();
}
