import { setImmediate as turn } from 'node:timers/promises';
import type { ConversationFilter } from '@offhook/contract/conversations.ts';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Principal } from '../../rights/rights.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ConversationRows, ExportPlace } from '../../ports/conversations.ts';
import type { Store } from '../../ports/store.ts';
import type { Rows } from './cells.ts';
import { csvOf } from './csv.ts';
import { NoRoomError } from '../../core/file-folder.ts';
import type { FileFolder } from '../../core/file-folder.ts';
import type { ExportRow, Tables } from './store.ts';
import { xlsxOf } from './xlsx.ts';

/** Rows of one read: two milliseconds of the event loop or a little more, and texts small enough to be collected young. */
export const PAGE_ROWS = { csv: 200, xlsx: 50 } as const;
/** How long, and how often, a database that does not answer is asked again before the export fails. */
const PATIENCE_MS = 15 * 60_000;
const AGAIN_MS = 2_000;
/** How often the rows of a running export are told at most. */
const STEP_MS = 1_000;

type Page = Awaited<ReturnType<ConversationRows['page']>>;
export interface RunnerDeps {
  readonly store: Store;
  readonly rows: ConversationRows;
  readonly folder: FileFolder;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
  /** An export of this person moved on, and it can be read. */
  readonly changed: (person: number) => void;
  /** How long a finished file is kept. */
  readonly keep_ms: number;
}
export interface Runner {
  /** There is something to do. */
  wake(): void;
  /** Rows that the running export has written; null where another one, or none, runs. */
  done(id: number): number | null;
  /** Stops it if it runs; resolves when it no longer does. */
  stop(id: number): Promise<void>;
  /** What runs is begun again at the next start. */
  close(): Promise<void>;
}

/** Makes one file at a time, in the order in which they were asked for. */
export function createRunner(deps: RunnerDeps): Runner {
  const { store, rows, folder, audit, clock, log } = deps;
  const db = store.db<Tables>();
  const closing = new AbortController();
  let current: {
    readonly id: number;
    readonly person: number;
    readonly stop: AbortController;
    done: number;
  } | null = null;
  let working: Promise<void> | null = null;
  let asked = false;

  /** Repeats what the database does not take now. */
  async function patient<R>(work: () => Promise<R>, signal: AbortSignal): Promise<R> {
    const until = clock.now() + PATIENCE_MS;
    for (;;) {
      try {
        signal.throwIfAborted();
        return await work();
      } catch (error) {
        const later = error instanceof ServiceError && error.code === 'store_unavailable';
        if (!later || clock.now() >= until) throw error;
        await clock.sleep(AGAIN_MS, signal);
      }
    }
  }
  async function* read(
    reader: Principal,
    filter: ConversationFilter,
    { bound, limit }: { readonly bound: number; readonly limit: number },
    progress: { done: number; readonly person: number },
    signal: AbortSignal,
  ): Rows & AsyncGenerator {
    let told = clock.now();
    for (let after: ExportPlace | null = null; ;) {
      const page: Page = await patient(() => rows.page(reader, filter, { bound, after, limit }), signal);
      if (page.lines.length > 0) yield page.lines;
      progress.done += page.lines.length;
      if (clock.now() - told >= STEP_MS) {
        told = clock.now();
        deps.changed(progress.person);
      }
      if (page.next === null) return;
      after = page.next;
      // Everybody else gets a turn between two reads.
      await turn();
      signal.throwIfAborted();
    }
  }
  /** False where it does not run any more: somebody cancelled it. */
  async function change({ id, person_id }: ExportRow, values: Partial<ExportRow>): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable('exports')
      .set(values)
      .where('id', '=', id)
      .where('state', '=', 'running')
      .executeTakeFirstOrThrow();
    deps.changed(person_id);
    return Number(numUpdatedRows) === 1;
  }
  async function make(
    row: ExportRow,
    progress: { done: number; readonly person: number },
    signal: AbortSignal,
  ): Promise<void> {
    const reader = JSON.parse(row.reader) as Principal;
    const filter = JSON.parse(row.filter) as ConversationFilter;
    const columns = row.columns.split(',') as ExportColumn[];
    const { bound, estimated } = await patient(() => rows.begin(reader, filter), signal);
    await patient(() => change(row, { rows_estimated: estimated }), signal);
    const pages = read(
      reader,
      filter,
      { bound, limit: PAGE_ROWS[row.format === 'csv' ? 'csv' : 'xlsx'] },
      progress,
      signal,
    );
    const pieces = row.format === 'csv' ? csvOf(columns, pages) : xlsxOf(columns, pages, estimated);
    const { bytes, sha256 } = await folder.write(row.id, row.format, pieces);
    await audit.record({
      action: 'exports.done',
      actor: row.by,
      object: String(row.id),
      outcome: 'ok',
      ip: null,
      detail: { format: row.format, filter: row.filter, rows: progress.done, bytes, sha256 },
    });
    const now = clock.now();
    const done = { state: 'done', rows_done: progress.done, bytes, sha256 } as const;
    const times = { finished_ms: now, expires_ms: now + deps.keep_ms };
    const kept = await patient(() => change(row, { ...done, ...times }), signal);
    if (!kept) return await folder.remove(row.id, row.format);
    log.info({ export: row.id, rows: progress.done, bytes }, 'an export is done');
  }
  async function next(): Promise<ExportRow | undefined> {
    const row = await db
      .selectFrom('exports')
      .selectAll()
      .where('state', '=', 'queued')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const started = await db
      .updateTable('exports')
      .set({ state: 'running', started_ms: clock.now() })
      .where('id', '=', row.id)
      .where('state', '=', 'queued')
      .executeTakeFirst();
    deps.changed(row.person_id);
    return Number(started.numUpdatedRows) === 1 ? row : next();
  }
  async function fail(row: ExportRow, error: unknown): Promise<void> {
    log.error({ export: row.id, error: messageOf(error) }, 'an export failed');
    const known = error instanceof ServiceError || error instanceof NoRoomError;
    const told = known ? messageOf(error) : 'the service failed; see its log';
    const values = { state: 'failed', error: told, finished_ms: clock.now() } as const;
    await patient(() => change(row, values), closing.signal);
  }
  async function work(): Promise<void> {
    while (asked && !closing.signal.aborted) {
      asked = false;
      for (;;) {
        const row = await patient(next, closing.signal);
        if (row === undefined) break;
        const stop = new AbortController();
        current = { id: row.id, person: row.person_id, stop, done: 0 };
        const signal = AbortSignal.any([stop.signal, closing.signal]);
        try {
          await make(row, current, signal);
        } catch (error) {
          // Stopped on purpose, the row says so already; at the end of the service it is begun again at the next start.
          if (!signal.aborted) await fail(row, error);
        } finally {
          current = null;
        }
      }
    }
  }
  function wake(): void {
    asked = true;
    working ??= work()
      .catch((error: unknown) => {
        if (!closing.signal.aborted) log.error({ error: messageOf(error) }, 'exports wait for the database');
      })
      .finally(() => {
        working = null;
        if (asked && !closing.signal.aborted) wake();
      });
  }
  return {
    wake,
    done: (id) => (current?.id === id ? current.done : null),
    async stop(id) {
      if (current?.id !== id) return;
      current.stop.abort();
      while (current?.id === id) await turn();
    },
    async close() {
      closing.abort();
      await working;
    },
  };
}
