import type { Insertable, Kysely, Selectable, Transaction } from 'kysely';
import type { EntryState } from '@offhook/contract/connectors.ts';
import type { Store } from '../../ports/store.ts';
import { batched } from './batched.ts';
import type { Entry, NewEntry } from './ledger.ts';
import { migrations } from './tables.ts';
import type { ConnectorsTable, Tables } from './tables.ts';

export interface ConnectorRow extends Omit<Selectable<ConnectorsTable>, 'settings' | 'secrets' | 'enabled'> {
  readonly settings: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly enabled: boolean;
}
export type SyncRow = Omit<Tables['connector_syncs'], 'connector'>;
/** Position of a connector in the feed of changes. */
export type Position = Pick<ConnectorRow, 'cursor' | 'doubt_ms'>;
/** A write in the same transaction as a change. */
export type Also = (trx: Transaction<unknown>, id: number) => Promise<void>;

/** A stored time further ahead than this means that the clock was set back. */
const CLOCK_BACK_MS = 25 * 3_600_000;
const NEVER = Number.MAX_SAFE_INTEGER;

const rowOf = (row: Selectable<ConnectorsTable>): ConnectorRow => ({
  ...row,
  settings: JSON.parse(row.settings) as Record<string, string>,
  secrets: JSON.parse(row.secrets) as Record<string, string>,
  enabled: row.enabled === 1,
});
const columnsOf = ({ settings, secrets, enabled, ...row }: Omit<ConnectorRow, 'id'>) => ({
  ...row,
  settings: JSON.stringify(settings),
  secrets: JSON.stringify(secrets),
  enabled: Number(enabled),
});

/** Kind of rows in the ledger: about entries, or about recordings attached to them. */
export type LedgerKind = 'entry' | 'recording';
const OF_KIND = { entry: '=', recording: '!=' } as const;

type Change = <R>(work: (trx: Transaction<Tables>) => Promise<R>) => Promise<R>;
const untyped = (trx: Transaction<Tables>): Transaction<unknown> => trx as unknown as Transaction<unknown>;

export type ConnectorStore = Awaited<ReturnType<typeof createConnectorStore>>;
/** Runs the migrations. Every method throws `store_unavailable`; when it resolves, its writes are on disk. */
export async function createConnectorStore(store: Store) {
  await store.migrate('connectors', migrations);
  const db = store.db<Tables>();
  const change: Change = (work) => store.transaction(work);
  return { ...settingsIn(db, change), ...ledgerIn(db, change), ...listsIn(db) };
}

/** Connectors with their settings. */
function settingsIn(db: Kysely<Tables>, change: Change) {
  return {
    all: async (): Promise<ConnectorRow[]> =>
      (await db.selectFrom('connectors').selectAll().orderBy('id').execute()).map(rowOf),
    add: (row: Omit<ConnectorRow, 'id'>, also: Also): Promise<number> =>
      change(async (trx) => {
        const values: Insertable<ConnectorsTable> = columnsOf(row);
        const { id } = await trx
          .insertInto('connectors')
          .values(values)
          .returning('id')
          .executeTakeFirstOrThrow();
        await also(untyped(trx), id);
        return id;
      }),
    async sync(connector: number): Promise<SyncRow | undefined> {
      const rows = db
        .selectFrom('connector_syncs')
        .select(['cursor', 'at', 'customers', 'whole_words', 'whole_missing']);
      return rows.where('connector', '=', connector).executeTakeFirst();
    },
    putSync: (connector: number, row: SyncRow): Promise<void> =>
      change(async (trx) => {
        await trx.deleteFrom('connector_syncs').where('connector', '=', connector).execute();
        await trx
          .insertInto('connector_syncs')
          .values({ connector, ...row })
          .execute();
      }),
    async token(connector: number): Promise<string | null> {
      const rows = db.selectFrom('connector_tokens').select('refresh_token');
      return (await rows.where('connector', '=', connector).executeTakeFirst())?.refresh_token ?? null;
    },
    putToken: (connector: number, refresh_token: string): Promise<void> =>
      change(async (trx) => {
        await trx.deleteFrom('connector_tokens').where('connector', '=', connector).execute();
        await trx.insertInto('connector_tokens').values({ connector, refresh_token }).execute();
      }),
    /**
     * Keeps the position in the feed, which the keeper writes, and returns the row with it. `rereads`: the next sync
     * reads all customers; `forgets`: the refresh token is deleted.
     */
    change: (
      { id, cursor: _cursor, doubt_ms: _doubt, ...row }: ConnectorRow,
      { rereads, forgets }: { readonly rereads: boolean; readonly forgets: boolean },
      also: Also,
    ): Promise<ConnectorRow> =>
      change(async (trx) => {
        const { cursor: _c, doubt_ms: _d, ...columns } = columnsOf({ ...row, cursor: null, doubt_ms: 0 });
        // With other settings, the connector may read another system or other customers.
        if (rereads) await trx.deleteFrom('connector_syncs').where('connector', '=', id).execute();
        if (forgets) await trx.deleteFrom('connector_tokens').where('connector', '=', id).execute();
        const update = trx.updateTable('connectors').set(columns).where('id', '=', id);
        const stored = await update.returningAll().executeTakeFirstOrThrow();
        await also(untyped(trx), id);
        return rowOf(stored);
      }),
    remove: (id: number, also: Also): Promise<void> =>
      change(async (trx) => {
        await trx.deleteFrom('connectors').where('id', '=', id).execute();
        await trx.deleteFrom('connector_entries').where('connector', '=', id).execute();
        await trx.deleteFrom('connector_tokens').where('connector', '=', id).execute();
        await trx.deleteFrom('connector_syncs').where('connector', '=', id).execute();
        await trx.deleteFrom('connector_inbox').where('connector', '=', id).execute();
        await also(untyped(trx), id);
      }),
    /** Stores the id of a message; false if it is stored already. Deletes ids from before `since` first. */
    take: (connector: number, message: string, now: number, since: number): Promise<boolean> =>
      change(async (trx) => {
        const marks = trx.deleteFrom('connector_inbox').where('connector', '=', connector);
        await marks.where('at', '<', since).execute();
        const { numInsertedOrUpdatedRows } = await trx
          .insertInto('connector_inbox')
          .values({ connector, message, at: now })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirstOrThrow();
        return Number(numInsertedOrUpdatedRows ?? 0n) > 0;
      }),
    /** Deletes the id of a message whose action failed, so that it may be sent again. */
    untake: (connector: number, message: string): Promise<void> =>
      change(async (trx) => {
        const marks = trx.deleteFrom('connector_inbox').where('connector', '=', connector);
        await marks.where('message', '=', message).execute();
      }),
  };
}

type Decide = (row: Entry) => Entry | null;
interface Decision {
  readonly id: number;
  readonly decide: Decide;
}
const put = (trx: Transaction<Tables>, { id, ...row }: Entry) =>
  trx.updateTable('connector_entries').set(row).where('id', '=', id).execute();
/** As `put`, only the columns that differ from `before`, because each one takes time to be put into the statement. */
async function putChanged(trx: Transaction<Tables>, before: Entry, next: Entry): Promise<void> {
  const columns = Object.entries(next).filter(([name, value]) => value !== before[name as keyof Entry]);
  if (columns.length === 0) return;
  const changed = Object.fromEntries(columns) as Partial<Entry>;
  await trx.updateTable('connector_entries').set(changed).where('id', '=', next.id).execute();
}
/** Decides and stores rows in order; returns each row afterwards (undefined if deleted) and whether it changed. */
async function decideAll(
  trx: Transaction<Tables>,
  all: readonly Decision[],
): Promise<{ readonly row: Entry | undefined; readonly changed: boolean }[]> {
  const ids = all.map(({ id }) => id);
  const found = await trx.selectFrom('connector_entries').selectAll().where('id', 'in', ids).execute();
  const rows = new Map<number, Entry>(found.map((row) => [row.id, row]));
  const decided: { row: Entry | undefined; changed: boolean }[] = [];
  for (const { id, decide } of all) {
    const row = rows.get(id);
    const next = row === undefined ? null : decide(row);
    if (row !== undefined && next !== null) {
      await putChanged(trx, row, next);
      rows.set(id, next);
    }
    decided.push({ row: next ?? row, changed: next !== null });
  }
  return decided;
}
/** Key of the order in which rows are due. */
export type DueOrder = Pick<Entry, 'next_at' | 'id'>;
/** Rows of one state in order of their due time. */
function rowsIn(
  db: Kysely<Tables>,
  connector: number,
  what: LedgerKind,
  state: EntryState,
  after: DueOrder,
  limit: number,
): Promise<Entry[]> {
  let rows = db
    .selectFrom('connector_entries as row')
    .where('connector', '=', connector)
    .where('state', '=', state)
    .where((e) => e(e.refTuple('next_at', 'id'), '>', e.tuple(e.val(after.next_at), e.val(after.id))))
    .where('recording', OF_KIND[what], '')
    .orderBy('next_at')
    .orderBy('id')
    .limit(limit);
  if (what === 'recording')
    rows = rows.where((e) =>
      e.exists(
        e
          .selectFrom('connector_entries as entry')
          .select('entry.id')
          .whereRef('entry.connector', '=', 'row.connector')
          .whereRef('entry.conversation', '=', 'row.conversation')
          .where('entry.recording', '=', '')
          .where('entry.remote_id', 'is not', null),
      ),
    );
  return rows.selectAll().execute();
}
/** The rows of the ledger. */
function ledgerIn(db: Kysely<Tables>, change: Change) {
  const together = batched((all: readonly Decision[]) =>
    change(async (trx) => (await decideAll(trx, all)).map(({ row }) => row)),
  );
  const decideRow = (id: number, decide: Decide, also?: Also): Promise<Entry | undefined> =>
    also === undefined
      ? together({ id, decide })
      : change(async (trx) => {
          const [entry] = await decideAll(trx, [{ id, decide }]);
          if (entry?.changed) await also(untyped(trx), id);
          return entry?.row;
        });
  const set = (trx: Transaction<Tables>, row: Entry | NewEntry) =>
    'id' in row ? put(trx, row) : trx.insertInto('connector_entries').values(row).execute();
  return {
    /** Commits the changes of a page of the feed to the ledger, together with the position after the page. */
    advance: (
      connector: number,
      position: Position,
      conversations: readonly string[],
      decide: (rows: ReadonlyMap<string, Entry>) => readonly (Entry | NewEntry)[],
    ): Promise<void> =>
      change(async (trx) => {
        const rows =
          conversations.length === 0
            ? []
            : await trx
                .selectFrom('connector_entries')
                .selectAll()
                .where('connector', '=', connector)
                .where('conversation', 'in', conversations)
                .where('recording', '=', '')
                .execute();
        for (const row of decide(new Map(rows.map((one) => [one.conversation, one])))) await set(trx, row);
        await trx.updateTable('connectors').set(position).where('id', '=', connector).execute();
      }),
    /** Replaces a row by the result of `decide`; null leaves it. Undefined for a deleted row. */
    decide: decideRow,
    /** As `decide`, but only if the row is unchanged since it was read; null if it has changed. */
    decideAs: async (read: Entry, decide: (row: Entry) => Entry, also?: Also): Promise<Entry | null> => {
      let done: Entry | null = null;
      const isSame = (row: Entry): boolean =>
        row.state === read.state && row.wanted_change === read.wanted_change && row.wanted === read.wanted;
      await decideRow(read.id, (row) => (done = isSame(row) ? decide(row) : null), also);
      return done;
    },
    /** Commits the rows that `decide` returns for the recordings of a conversation. */
    recordings: (
      connector: number,
      conversation: string,
      decide: (rows: readonly Entry[]) => readonly (Entry | NewEntry)[],
    ): Promise<void> =>
      change(async (trx) => {
        const rows = await trx
          .selectFrom('connector_entries')
          .selectAll()
          .where('connector', '=', connector)
          .where('conversation', '=', conversation)
          .where('recording', '!=', '')
          .execute();
        for (const row of decide(rows)) await set(trx, row);
      }),
    /**
     * The first due rows, at most `most`. `next_at`: due time of the next row; null if no other row waits, or if there
     * are `most` due rows. A recording is not due before the system has its entry.
     */
    async due(
      connector: number,
      what: LedgerKind,
      now: number,
      most: number,
      after: DueOrder | null = null,
    ): Promise<{ readonly rows: readonly Entry[]; readonly next_at: number | null }> {
      // One query for each state uses the index; a query for both states would sort a whole backlog.
      const found = async (from: DueOrder, limit: number): Promise<Entry[]> => {
        const waiting = await rowsIn(db, connector, what, 'waiting', from, limit);
        const unknown = await rowsIn(db, connector, what, 'unknown', from, limit);
        return [...waiting, ...unknown]
          .toSorted((a, b) => a.next_at - b.next_at || a.id - b.id)
          .slice(0, limit);
      };
      const first = await found(after ?? { next_at: -1, id: 0 }, most);
      const rows = first.filter(({ next_at }) => next_at <= now);
      const next_at = first.find((row) => row.next_at > now)?.next_at ?? null;
      if (rows.length > 0 || next_at === null) return { rows, next_at };
      return { rows: await found({ next_at: now + CLOCK_BACK_MS, id: 0 }, most), next_at };
    },
    sending: (connector: number, what: LedgerKind): Promise<Entry[]> =>
      db
        .selectFrom('connector_entries')
        .selectAll()
        .where('connector', '=', connector)
        .where('state', '=', 'sending')
        .where('recording', OF_KIND[what], '')
        .execute(),
  };
}

/** Reads of the ledger. */
function listsIn(db: Kysely<Tables>) {
  return {
    /** The entry of a conversation. */
    async entry(connector: number, conversation: string): Promise<Entry | undefined> {
      const rows = db.selectFrom('connector_entries').selectAll().where('connector', '=', connector);
      return rows.where('conversation', '=', conversation).where('recording', '=', '').executeTakeFirst();
    },
    async one(connector: number, id: number): Promise<Entry | undefined> {
      const rows = db.selectFrom('connector_entries').selectAll().where('id', '=', id);
      return rows.where('connector', '=', connector).executeTakeFirst();
    },
    /** Rows of all connectors with a text in `words`, oldest first. */
    withWords: (after: number, limit: number): Promise<Entry[]> =>
      db
        .selectFrom('connector_entries')
        .selectAll()
        .where('id', '>', after)
        .where('words', 'is not', null)
        .orderBy('id')
        .limit(limit)
        .execute(),
    /** Newest first. */
    entries(
      connector: number,
      query: { limit: number; before: number | null; state: EntryState | null; conversation: string | null },
    ): Promise<Entry[]> {
      let rows = db
        .selectFrom('connector_entries')
        .selectAll()
        .where('connector', '=', connector)
        .where('id', '<', query.before ?? NEVER)
        .orderBy('id', 'desc')
        .limit(query.limit);
      if (query.state !== null) rows = rows.where('state', '=', query.state);
      if (query.conversation !== null) rows = rows.where('conversation', '=', query.conversation);
      return rows.execute();
    },
    async counts(connector: number): Promise<Partial<Record<EntryState, number>>> {
      const rows = await db
        .selectFrom('connector_entries')
        .select(['state', (e) => e.fn.countAll<number>().as('n')])
        .where('connector', '=', connector)
        .groupBy('state')
        .execute();
      return Object.fromEntries(rows.map(({ state, n }) => [state, Number(n)]));
    },
  };
}
