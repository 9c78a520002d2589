import { setImmediate as yieldLoop } from 'node:timers/promises';
import type { ExpressionBuilder, Kysely } from 'kysely';
import type { Store } from '../../ports/store.ts';
import { timeOf } from './ids.ts';
import { migrations } from './tables.ts';
import type { RecordingRow, RecordingState, Tables } from './tables.ts';
import { windowsOf } from './view.ts';
import type { Window } from './view.ts';

export interface Filter {
  readonly extension?: string | undefined;
  /** Only recordings of these extensions. */
  readonly own?: readonly string[] | undefined;
  readonly queue?: string | undefined;
  readonly calls?: readonly string[] | undefined;
  /** Milliseconds since 1970; `to` is not included. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Only recordings older than this id. */
  readonly below?: string | undefined;
  readonly limit: number;
}
/** Recordings by the node of their engine (null: all nodes) and by state. */
export interface Scope {
  readonly node: string | null;
  readonly states: readonly RecordingState[];
}
/** Every method throws `store_unavailable`. */
export interface RecordingStore {
  /** False if the file has a recording already. */
  add(row: RecordingRow): Promise<boolean>;
  drop(id: string): Promise<void>;
  byId(id: string): Promise<RecordingRow | undefined>;
  ofCalls(calls: readonly string[]): Promise<RecordingRow[]>;
  storedOf(calls: readonly string[]): Promise<Set<string>>;
  ofChannels(channels: readonly string[]): Promise<RecordingRow[]>;
  /** Running recordings with an id above `after`, in the order of their ids. */
  running(after: string, limit: number): Promise<RecordingRow[]>;
  /** Newest first. */
  page(filter: Filter): Promise<RecordingRow[]>;
  /** Recordings in `scope` that began before `ms`, oldest first, without the first `skip`. */
  before(scope: Scope, ms: number, limit: number, skip: number): Promise<RecordingRow[]>;
  /** Stores the end unless an earlier one is stored; closes an open pause window. */
  end(id: string, ended_ms: number): Promise<void>;
  pause(id: string, on: boolean, at: number): Promise<void>;
  /** Changes the state of a recording that is `running`, or still in the state `from`. */
  settle(
    id: string,
    state: RecordingState,
    bytes: number | null,
    sha256: string | null,
    from?: RecordingState,
  ): Promise<void>;
  leave(id: string, state: RecordingState): Promise<void>;
  /** Those of `files` that have a recording, in `scope` if given. */
  known(files: readonly string[], scope?: Scope): Promise<Set<string>>;
  /** Recordings of `files` that count as missing. */
  missing(files: readonly string[]): Promise<RecordingRow[]>;
  sums(): Promise<{ state: RecordingState; count: number; bytes: number }[]>;
}

/** Rows that one statement sums up: a few milliseconds. */
const SUMMED_AT_ONCE = 5_000;
/** Values per statement, below every database's limit. */
const AT_ONCE = 500;
async function inParts<T, R>(values: readonly T[], read: (part: readonly T[]) => Promise<R[]>): Promise<R[]> {
  const all: R[] = [];
  for (let i = 0; i < values.length; i += AT_ONCE) all.push(...(await read(values.slice(i, i + AT_ONCE))));
  return all;
}

const inScope =
  ({ node, states }: Scope) =>
  (e: ExpressionBuilder<Tables, 'recordings'>) =>
    e.and([
      e('state', 'in', states),
      // The semicolon is the character after the colon.
      ...(node === null ? [] : [e('channel', '>=', `${node}:`), e('channel', '<', `${node};`)]),
    ]);

/** Sums by state, a part at a time: rows of deleted recordings stay, so there may be millions. */
async function sumsOf(db: Kysely<Tables>): ReturnType<RecordingStore['sums']> {
  const all = new Map<RecordingState, { state: RecordingState; count: number; bytes: number }>();
  for (let after = '', rows = SUMMED_AT_ONCE; rows === SUMMED_AT_ONCE;) {
    const page = db
      .selectFrom('recordings')
      .select(['id', 'state', 'bytes'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(SUMMED_AT_ONCE);
    const found = await db
      .selectFrom(page.as('page'))
      .select((e) => [
        'state',
        e.fn.countAll().as('count'),
        e.fn.sum('bytes').as('bytes'),
        e.fn.max('id').as('last'),
      ])
      .groupBy('state')
      .execute();
    rows = 0;
    for (const { state, count, bytes, last } of found) {
      const sum = all.get(state) ?? { state, count: 0, bytes: 0 };
      sum.count += Number(count);
      sum.bytes += Number(bytes ?? 0);
      all.set(state, sum);
      rows += Number(count);
      if (last > after) after = last;
    }
    await yieldLoop();
  }
  return [...all.values()];
}

/** Runs the migrations. */
export async function createRecordingStore(store: Store): Promise<RecordingStore> {
  await store.migrate('recordings', migrations);
  return openRecordingStore(store);
}
/** For a node that does not lead: the leading node runs the migrations. */
export function openRecordingStore(store: Pick<Store, 'db' | 'transaction'>): RecordingStore {
  const db = store.db<Tables>();
  const rows = () => db.selectFrom('recordings').selectAll();
  /** Updates one row with the result of `change`, in one transaction. */
  const change = (id: string, next: (row: RecordingRow) => Partial<RecordingRow> | null): Promise<void> =>
    store.transaction<Tables, void>(async (trx) => {
      const row = await trx.selectFrom('recordings').selectAll().where('id', '=', id).executeTakeFirst();
      const set = row === undefined ? null : next(row);
      if (set !== null) await trx.updateTable('recordings').set(set).where('id', '=', id).execute();
    });
  return {
    async add(row) {
      const added = await db
        .insertInto('recordings')
        .values(row)
        .onConflict((c) => c.column('file').doNothing())
        .executeTakeFirst();
      return Number(added.numInsertedOrUpdatedRows ?? 0) > 0;
    },
    async drop(id) {
      await db.deleteFrom('recordings').where('id', '=', id).execute();
    },
    byId: (id) => rows().where('id', '=', id).executeTakeFirst(),
    ofCalls: (calls) => inParts(calls, (part) => rows().where('call', 'in', part).orderBy('id').execute()),
    async storedOf(calls) {
      const found = await inParts(calls, (part) =>
        db
          .selectFrom('recordings')
          .select('call')
          .distinct()
          .where('call', 'in', part)
          .where('state', '=', 'stored')
          .execute(),
      );
      return new Set(found.map((row) => row.call));
    },
    ofChannels: (channels) => inParts(channels, (part) => rows().where('channel', 'in', part).execute()),
    running: (after, limit) =>
      rows().where('state', '=', 'running').where('id', '>', after).orderBy('id').limit(limit).execute(),
    async page({ extension, own, queue, calls, from, to, below, limit }) {
      let query = rows().orderBy('id', 'desc').limit(limit);
      if (own !== undefined) query = query.where('extension', 'in', own);
      if (extension !== undefined) query = query.where('extension', '=', extension);
      if (queue !== undefined) query = query.where('queue', '=', queue);
      // The id begins with the time, so one index serves both the order and the range.
      if (from !== undefined) query = query.where('id', '>=', timeOf(from));
      if (to !== undefined) query = query.where('id', '<', timeOf(to));
      if (below !== undefined) query = query.where('id', '<', below);
      if (calls === undefined) return query.execute();
      const found = await inParts(calls, (part) => query.where('call', 'in', part).execute());
      return found.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
    },
    before: (scope, ms, limit, skip) =>
      rows()
        .where(inScope(scope))
        .where('started_ms', '<', ms)
        .orderBy('started_ms')
        .orderBy('id')
        .limit(limit)
        .offset(skip)
        .execute(),
    end: (id, ended_ms) =>
      change(id, (row) => {
        const end = Math.max(row.started_ms, Math.min(ended_ms, row.ended_ms ?? ended_ms));
        if (end === row.ended_ms) return null;
        const paused = windowsOf(row)
          .filter(([from]) => from < end)
          .map(([from, to]): Window => [from, Math.min(to ?? end, end)]);
        return { ended_ms: end, paused: JSON.stringify(paused) };
      }),
    pause: (id, on, at) =>
      change(id, (row) => {
        const windows = windowsOf(row);
        const last = windows.at(-1);
        const open = last !== undefined && last[1] === null;
        if (row.state !== 'running' || row.ended_ms !== null || open === on) return null;
        const from = Math.max(at, row.started_ms, last?.[1] ?? 0);
        const next = on
          ? [...windows, [from, null]]
          : [...windows.slice(0, -1), [last![0], Math.max(at, last![0])]];
        return { paused: JSON.stringify(next) };
      }),
    async settle(id, state, bytes, sha256, from = 'running') {
      await db
        .updateTable('recordings')
        .set({ state, bytes, sha256 })
        .where('id', '=', id)
        .where('state', '=', from)
        .execute();
    },
    async leave(id, state) {
      await db.updateTable('recordings').set({ state }).where('id', '=', id).execute();
    },
    async known(files, scope) {
      const found = await inParts(files, (part) => {
        const query = db.selectFrom('recordings').select('file').where('file', 'in', part);
        return (scope === undefined ? query : query.where(inScope(scope))).execute();
      });
      return new Set(found.map((row) => row.file));
    },
    missing: (files) =>
      inParts(files, (part) => rows().where('file', 'in', part).where('state', '=', 'missing').execute()),
    sums: () => sumsOf(db),
  };
}
