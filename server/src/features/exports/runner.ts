import { setImmediate as turn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { ConversationFilter } from '@offhook/contract/conversations.ts';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import { ServiceError, hasCode, messageOf } from '../../core/errors.ts';
import type { Principal } from '../../rights/rights.ts';
import type { ConversationRows, ExportPlace } from '../../ports/conversations.ts';
import type { Common } from '../../ports/common.ts';
import type { Rows } from './cells.ts';
import { csvOf } from './csv.ts';
import { NoRoomError } from '../../core/file-folder.ts';
import type { FileFolder } from '../../core/file-folder.ts';
import { readExport, requeueRunning } from './store.ts';
import type { ExportRow, Tables } from './store.ts';
import { xlsxOf } from './xlsx.ts';

/**
 * Rows of one read: about two milliseconds of the event loop, and texts small enough for the young generation
 * of the heap.
 */
export const PAGE_ROWS = { csv: 200, xlsx: 50 } as const;
/** Total time and interval of retries while the database is unavailable. */
const PATIENCE_MS = 15 * 60_000;
const AGAIN_MS = 2_000;
/** Shortest interval between reports of the rows of a running export. */
const STEP_MS = 1_000;

type Page = Awaited<ReturnType<ConversationRows['page']>>;
export interface RunnerDeps extends Common<'audit' | 'clock' | 'log' | 'store'> {
  readonly rows: ConversationRows;
  readonly folder: FileFolder;
  /** Called once a change of an export of this person can be read. */
  readonly changed: (person: number) => void;
  /** Milliseconds for which a finished file is kept. */
  readonly keep_ms: number;
}

interface Current {
  readonly id: number;
  readonly person: number;
  readonly stop: AbortController;
  /** Rows written. */
  done: number;
}

/** Writes one file at a time, in the order of the requests. */
export class ExportRunner {
  readonly #deps: RunnerDeps;
  readonly #db: Kysely<Tables>;
  readonly #closing = new AbortController();
  #current: Current | null = null;
  #working: Promise<void> | null = null;
  #asked = false;

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#db = this.#deps.store.db<Tables>();
  }
  /** Starts the work unless it runs. */
  wake(): void {
    this.#asked = true;
    this.#working ??= this.#work()
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted)
          this.#deps.log.error(
            { error: messageOf(error) },
            'exports could not continue; waiting for the database',
          );
      })
      .finally(() => {
        this.#working = null;
        if (this.#asked && !this.#closing.signal.aborted) this.wake();
      });
  }
  /** Rows that the running export has written; null if it does not run. */
  done(id: number): number | null {
    return this.#current?.id === id ? this.#current.done : null;
  }
  /** Stops the export if it runs; resolves when it has stopped. */
  async stop(id: number): Promise<void> {
    if (this.#current?.id !== id) return;
    this.#current.stop.abort();
    while (this.#current?.id === id) await turn();
  }
  /** Stops; the next start repeats the running export. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#working;
  }

  /** Retries work while the database is unavailable. */
  async #patient<R>(work: () => Promise<R>, signal: AbortSignal): Promise<R> {
    const { clock } = this.#deps;
    const until = clock.now() + PATIENCE_MS;
    for (;;) {
      try {
        signal.throwIfAborted();
        return await work();
      } catch (error) {
        const later = hasCode(error, 'store_unavailable');
        if (!later || clock.now() >= until) throw error;
        await clock.sleep(AGAIN_MS, signal);
      }
    }
  }
  async *#read(
    reader: Principal,
    filter: ConversationFilter,
    { bound, limit }: { readonly bound: number; readonly limit: number },
    progress: Current,
    signal: AbortSignal,
  ): Rows & AsyncGenerator {
    const { rows, clock } = this.#deps;
    let reported = clock.now();
    for (let after: ExportPlace | null = null; ;) {
      const page: Page = await this.#patient(
        () => rows.page(reader, filter, { bound, after, limit }),
        signal,
      );
      if (page.lines.length > 0) yield page.lines;
      progress.done += page.lines.length;
      if (clock.now() - reported >= STEP_MS) {
        reported = clock.now();
        this.#deps.changed(progress.person);
      }
      if (page.next === null) return;
      after = page.next;
      // Lets other work run between two reads.
      await turn();
      signal.throwIfAborted();
    }
  }
  /** False if the export no longer runs because it was cancelled. */
  async #change({ id, person_id }: ExportRow, values: Partial<ExportRow>): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('exports')
      .set(values)
      .where('id', '=', id)
      .where('state', '=', 'running')
      .executeTakeFirstOrThrow();
    this.#deps.changed(person_id);
    return Number(numUpdatedRows) === 1;
  }
  /** True also if the answer to the change was lost. */
  async #isDone({ id }: ExportRow): Promise<boolean> {
    return (await this.#patient(() => readExport(this.#db, id), this.#closing.signal))?.state === 'done';
  }
  async #make(row: ExportRow, progress: Current, signal: AbortSignal): Promise<void> {
    const { rows, folder, audit, clock, log } = this.#deps;
    const reader = JSON.parse(row.reader) as Principal;
    const filter = JSON.parse(row.filter) as ConversationFilter;
    const columns = row.columns.split(',') as ExportColumn[];
    const { bound, estimated } = await this.#patient(() => rows.begin(reader, filter), signal);
    await this.#patient(() => this.#change(row, { rows_estimated: estimated }), signal);
    const pages = this.#read(
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
    const times = { finished_ms: now, expires_ms: now + this.#deps.keep_ms };
    const kept = await this.#patient(() => this.#change(row, { ...done, ...times }), signal);
    if (!kept && !(await this.#isDone(row))) return await folder.remove(row.id, row.format);
    log.info({ export: row.id, rows: progress.done, bytes }, 'an export is done');
  }
  async #next(): Promise<ExportRow | undefined> {
    // No export runs now, so these had an end that could not be stored, here or in an earlier process.
    for (const { person_id } of await requeueRunning(this.#db)) this.#deps.changed(person_id);
    const row = await this.#db
      .selectFrom('exports')
      .selectAll()
      .where('state', '=', 'queued')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const started = await this.#db
      .updateTable('exports')
      .set({ state: 'running', started_ms: this.#deps.clock.now() })
      .where('id', '=', row.id)
      .where('state', '=', 'queued')
      .executeTakeFirst();
    this.#deps.changed(row.person_id);
    return Number(started.numUpdatedRows) === 1 ? row : this.#next();
  }
  async #fail(row: ExportRow, error: unknown): Promise<void> {
    const { clock, folder, log } = this.#deps;
    if (await this.#isDone(row)) return;
    log.error({ export: row.id, error: messageOf(error) }, 'an export failed');
    // The file may be complete; an erasure deletes only files of exports that are done.
    await folder.remove(row.id, row.format).catch((cause: unknown) => {
      log.warn({ export: row.id, error: messageOf(cause) }, 'the file of a failed export was not deleted');
    });
    const known = error instanceof ServiceError || error instanceof NoRoomError;
    const reported = known ? messageOf(error) : 'the service failed; see its log';
    const values = { state: 'failed', error: reported, finished_ms: clock.now() } as const;
    await this.#patient(() => this.#change(row, values), this.#closing.signal);
  }
  async #work(): Promise<void> {
    while (this.#asked && !this.#closing.signal.aborted) {
      this.#asked = false;
      for (;;) {
        const row = await this.#patient(() => this.#next(), this.#closing.signal);
        if (row === undefined) break;
        const stop = new AbortController();
        this.#current = { id: row.id, person: row.person_id, stop, done: 0 };
        const signal = AbortSignal.any([stop.signal, this.#closing.signal]);
        try {
          await this.#make(row, this.#current, signal);
        } catch (error) {
          // A cancelled export has its state already; one cut short by the end of the service is repeated at
          // the next start.
          if (!signal.aborted) await this.#fail(row, error);
        } finally {
          this.#current = null;
        }
      }
    }
  }
}
