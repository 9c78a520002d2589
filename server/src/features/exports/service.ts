import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { ConversationFilter } from '@offhook/contract/conversations.ts';
import type { Export, ExportColumn, ExportsQuery, NewExport } from '@offhook/contract/exports.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { rfc3339 } from '../../core/clock.ts';
import { pageOf } from '../../core/page.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import { covers, historyOf, historySince } from '../../rights/rights.ts';
import type { Principal } from '../../rights/rights.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ConversationRows } from '../../ports/conversations.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Store } from '../../ports/store.ts';
import type { Credentials } from '../../ports/stream.ts';
import { createFileFolder } from '../../core/file-folder.ts';
import { writeQueue } from '../../core/queue.ts';
import { createChanges } from './changes.ts';
import { createRunner } from './runner.ts';
import { countIn, insertExport, migrations, readExport } from './store.ts';
import type { ExportRow, Tables } from './store.ts';

/** Exports that wait or run, of everybody and of one person. */
/** Longest wait for the exports that others ask for at the same time. */
const PATIENCE_MS = 10_000;
const MAX_WAITING = 50;
const MAX_OWN_WAITING = 3;
/** Finished files of one person. */
const MAX_OWN_FILES = 20;
/** What became of an export is told for so long. */
const KEEP_ROWS_MS = 30 * 86_400_000;
const SWEEP_MS = 60_000;
const HOUR_MS = 3_600_000;
const WAIT_SECONDS = 25;

export interface ExportsDeps {
  /** Where the exports are written down: beside the conversations. */
  readonly store: Store;
  readonly rows: ConversationRows;
  readonly audit: Audit;
  readonly clock: Clock;
  /** Ends the requests that wait with their session or key. */
  readonly credentials: Pick<Credentials, 'onSessionEnded' | 'onKeyEnded'>;
  readonly log: Log;
  /** Folder of the files. */
  readonly folder: string;
  /** How long a finished file is kept. */
  readonly hours: number;
  /** Bytes that stay free on the disk. */
  readonly diskFloor: number;
}
export interface ExportFile {
  readonly name: string;
  readonly format: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly stream: Readable;
}
export interface Exports extends AsyncDisposable {
  /** Throws `invalid_request`, `forbidden`, `limit_reached`, `overloaded` and `store_unavailable`. */
  create(actor: Actor, wanted: NewExport): Promise<Export>;
  /**
   * Waits until the version of what this caller sees is another one than `seen`, `wait` seconds at most or until `gone` is
   * aborted. Throws `too_many_requests` where the caller waits often enough already, `not_authenticated` once its session ends.
   */
  next(caller: Caller, query: ExportsQuery, gone: AbortSignal): Promise<void>;
  /** One's own, an administrator's view is all; newest first. */
  page(
    caller: Caller,
    query: ExportsQuery,
  ): Promise<{ exports: Export[]; version: string; next_cursor: string | null }>;
  /** Answers the requests that wait; the service stops. */
  endWaiting(): void;
  /** Throws `not_found`. */
  one(caller: Caller, id: number): Promise<Export>;
  /** Stops it, or deletes its file. Throws `not_found`. */
  remove(actor: Actor, id: number): Promise<Export>;
  /** Throws `not_found`, `file_not_ready`, `file_gone`, and `forbidden` for who may no longer see what is in it. */
  file(actor: Actor, id: number): Promise<ExportFile>;
  /** Deletes every file, and begins again what runs: something in them was erased. Resolves with the number of files. */
  expireAll(): Promise<number>;
  /** Numbers that exports were narrowed to; erasing them takes every file along. */
  readonly data: PersonalData;
  close(): Promise<void>;
}

/** The file's name for people. */
const nameOf = (row: ExportRow): string =>
  `conversations-${rfc3339(row.created_ms).slice(0, 10)}-${row.id}.${row.format}`;

/** Runs the migrations, and begins again what was running when the service ended. */
export async function createExports(deps: ExportsDeps): Promise<Exports> {
  const { store, rows, audit, clock } = deps;
  const log = deps.log.child({ part: 'exports' });
  await store.migrate('exports', migrations);
  const db = store.db<Tables>();
  const folder = createFileFolder(deps.folder, deps.diskFloor);
  const changes = createChanges(clock, deps.credentials);
  const changed = (person: number): void => changes.changed(person);
  const keep_ms = deps.hours * HOUR_MS;
  const runner = createRunner({ store, rows, folder, audit, clock, log, changed, keep_ms });

  const view = (row: ExportRow): Export => {
    const at = (ms: number | null): string | null => (ms === null ? null : rfc3339(Number(ms)));
    const { id, state, by, bytes, sha256, error } = row;
    return {
      id,
      state,
      format: row.format as Export['format'],
      filter: JSON.parse(row.filter) as ConversationFilter,
      columns: row.columns.split(',') as ExportColumn[],
      by,
      rows: { done: runner.done(id) ?? row.rows_done, estimated: row.rows_estimated },
      bytes: bytes === null ? null : Number(bytes),
      sha256,
      error,
      created_at: rfc3339(Number(row.created_ms)),
      started_at: at(row.started_ms),
      finished_at: at(row.finished_ms),
      expires_at: at(row.expires_ms),
    };
  };
  const seesAll = (caller: Caller): boolean => caller.key === null && includesLevel(caller.level, 'admin');
  /** The person whose exports a caller sees; null for all. */
  const whose = (caller: Caller): number | null => (seesAll(caller) ? null : caller.person_id);
  async function mine(caller: Caller, id: number): Promise<ExportRow> {
    const row = await readExport(db, id);
    if (row === undefined || !(seesAll(caller) || row.person_id === caller.person_id)) {
      throw new ServiceError('not_found', 'there is no such export');
    }
    return row;
  }
  async function checkLimits(person_id: number): Promise<void> {
    if ((await countIn(db, ['queued', 'running'])) >= MAX_WAITING) {
      throw new ServiceError('overloaded', 'too many exports are waiting', { retry_after_seconds: 60 });
    }
    if ((await countIn(db, ['queued', 'running'], person_id)) >= MAX_OWN_WAITING) {
      throw new ServiceError('limit_reached', say`${MAX_OWN_WAITING} of your exports are waiting or running`);
    }
    if ((await countIn(db, ['done'], person_id)) >= MAX_OWN_FILES) {
      throw new ServiceError('limit_reached', say`you have ${MAX_OWN_FILES} files; delete one of them`);
    }
  }
  /** Of these exports the file goes, and `state` says what became of them. */
  async function drop(some: readonly ExportRow[], state: 'cancelled' | 'expired'): Promise<void> {
    for (const row of some) {
      await db
        .updateTable('exports')
        .set({ state, finished_ms: clock.now() })
        .where('id', '=', row.id)
        .execute();
      changed(row.person_id);
      await runner.stop(row.id);
      await folder.remove(row.id, row.format);
    }
  }
  async function recover(): Promise<void> {
    await db.updateTable('exports').set({ state: 'queued' }).where('state', '=', 'running').execute();
    const kept = await db
      .selectFrom('exports')
      .select(['id', 'format'])
      .where('state', '=', 'done')
      .execute();
    await folder.tidy(new Set(kept.map(({ id, format }) => `${id}.${format}`)));
  }
  let recovered: Promise<void> | undefined;
  /** Once, before the first file is made: the database may not be there yet when the service starts. */
  const begun = (): Promise<void> =>
    (recovered ??= recover().catch((error: unknown) => {
      recovered = undefined;
      throw error;
    }));
  async function sweep(): Promise<void> {
    await begun();
    const now = clock.now();
    const over = db
      .selectFrom('exports')
      .selectAll()
      .where('state', '=', 'done')
      .where('expires_ms', '<=', now);
    await drop(await over.execute(), 'expired');
    await db
      .deleteFrom('exports')
      .where('created_ms', '<', now - KEEP_ROWS_MS)
      .where('state', 'not in', ['queued', 'running', 'done'])
      .execute();
    runner.wake();
  }
  const creating = writeQueue(PATIENCE_MS);
  const stop = new AbortController();
  async function keepSweeping(): Promise<void> {
    while (!stop.signal.aborted) {
      await sweep().catch((error: unknown) =>
        log.warn({ error: messageOf(error) }, 'old exports could not be deleted; trying again in a minute'),
      );
      await clock.sleep(SWEEP_MS, stop.signal).catch(() => undefined);
    }
  }
  const sweeping = keepSweeping();
  const close = async (): Promise<void> => {
    stop.abort();
    changes.close();
    await Promise.all([sweeping, runner.close()]);
  };

  async function expireAll(): Promise<number> {
    // Those under way first: one that ends meanwhile finds that it does not run any more, and leaves no file.
    const again = await db
      .updateTable('exports')
      .set({ state: 'queued' })
      .where('state', '=', 'running')
      .returning(['id', 'person_id'])
      .execute();
    const done = await db.selectFrom('exports').selectAll().where('state', '=', 'done').execute();
    for (const { id, person_id } of again) {
      changed(person_id);
      await runner.stop(id);
    }
    await drop(done, 'expired');
    runner.wake();
    return done.length;
  }
  async function narrowedTo(subject: Subject): Promise<readonly ExportRow[]> {
    const all = await db.selectFrom('exports').selectAll().execute();
    const values = (row: ExportRow): unknown[] => Object.values(JSON.parse(row.filter) as object);
    return all.filter((row) => values(row).some((value) => subject.isIn(String(value))));
  }
  const data: PersonalData = {
    name: 'exports',
    count: async (subject) => {
      const { length } = await narrowedTo(subject);
      return length === 0 ? {} : { exports: length };
    },
    async erase(subject) {
      const found = await narrowedTo(subject);
      const waiting = found.filter((row) => row.state === 'queued' || row.state === 'running');
      await drop(waiting, 'cancelled');
      for (const { id } of found) {
        await db.updateTable('exports').set({ filter: '{}' }).where('id', '=', id).execute();
      }
      const files = await expireAll();
      return { exports: found.length, export_files: files };
    },
  };

  return {
    data,
    expireAll,
    async create({ caller, ip }, wanted) {
      await begun();
      // The limits hold only where no other request counts before this one is stored.
      return await creating.run(async () => {
        await checkLimits(caller.person_id);
        const { extension, level, key } = caller;
        const reader: Principal = { extension, level, key, since_ms: historySince(caller) };
        const { estimated } = await rows.begin(reader, wanted.filter);
        const by = extension || caller.username;
        const detail = { format: wanted.format, filter: JSON.stringify(wanted.filter), rows: estimated };
        await audit.record({ action: 'exports.create', actor: by, object: null, outcome: 'ok', ip, detail });
        const id = await insertExport(db, {
          person_id: caller.person_id,
          by,
          reader: JSON.stringify(reader),
          wanted,
          now: clock.now(),
        });
        changed(caller.person_id);
        runner.wake();
        return view(await mine(caller, id));
      });
    },
    async next(caller, { seen, wait = WAIT_SECONDS }, signal) {
      if (seen !== undefined) await changes.wait(caller, whose(caller), seen, { ms: wait * 1_000, signal });
    },
    async page(caller, { limit = 50, cursor }) {
      const person = whose(caller);
      // Before the rows are read: what changes meanwhile is answered next.
      const version = changes.version(person);
      let query = db
        .selectFrom('exports')
        .selectAll()
        .orderBy('id', 'desc')
        .limit(limit + 1);
      if (person !== null) query = query.where('person_id', '=', person);
      if (cursor !== undefined) query = query.where('id', '<', Number(cursor));
      const { page, next_cursor } = pageOf(await query.execute(), limit, (row) => row.id);
      return { exports: page.map(view), version, next_cursor };
    },
    endWaiting: () => changes.close(),
    one: async (caller, id) => view(await mine(caller, id)),
    async remove({ caller, ip }, id) {
      const row = await mine(caller, id);
      const by = caller.extension || caller.username;
      const waits = row.state === 'queued' || row.state === 'running';
      if (waits || row.state === 'done') {
        await audit.record({ action: 'exports.remove', actor: by, object: String(id), outcome: 'ok', ip });
        await drop([row], waits ? 'cancelled' : 'expired');
      }
      return view(await mine(caller, id));
    },
    async file({ caller, ip }, id) {
      const row = await mine(caller, id);
      if (row.state === 'queued' || row.state === 'running') {
        throw new ServiceError('file_not_ready', 'the file is not made yet', { retry_after_seconds: 2 });
      }
      if (row.state !== 'done') throw new ServiceError('file_gone', say`the export is ${row.state}`);
      const reader = JSON.parse(row.reader) as Principal;
      const older = historySince(reader) < historySince(caller);
      if (older || !covers(historyOf(caller), historyOf(reader))) {
        throw new ServiceError('forbidden', 'you may not see any more what is in this file');
      }
      const at = folder.pathOf(row.id, row.format);
      await access(at).catch(() => {
        throw new ServiceError('file_gone', 'the file was deleted');
      });
      await audit.record({
        action: 'exports.download',
        actor: caller.extension || caller.username,
        object: String(id),
        outcome: 'ok',
        ip,
        detail: { format: row.format, filter: row.filter, rows: row.rows_done, made_by: row.by },
      });
      return {
        name: nameOf(row),
        format: row.format,
        bytes: Number(row.bytes),
        sha256: row.sha256!,
        stream: createReadStream(at),
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
