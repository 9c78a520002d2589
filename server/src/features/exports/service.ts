import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { ConversationFilter } from '@offhook/contract/conversations.ts';
import type { Export, ExportColumn, ExportsQuery, NewExport } from '@offhook/contract/exports.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { AuditedReads } from '../../commands/audited-reads.ts';
import { audited } from '../../commands/audited.ts';
import { rfc3339 } from '../../core/clock.ts';
import { pageOf } from '../../core/page.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import { covers, historyOf, historySince } from '../../rights/rights.ts';
import type { Principal } from '../../rights/rights.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { ConversationRows } from '../../ports/conversations.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { Store } from '../../ports/store.ts';
import type { Credentials } from '../../ports/stream.ts';
import type { Kysely } from 'kysely';
import { createFileFolder } from '../../core/file-folder.ts';
import type { FileFolder } from '../../core/file-folder.ts';
import { writeQueue } from '../../core/queue.ts';
import { repeat } from '../../core/retry.ts';
import { createChanges } from './changes.ts';
import type { Changes } from './changes.ts';
import { ExportRunner } from './runner.ts';
import { countIn, insertExport, keptFiles, migrations, readExport, requeueRunning } from './store.ts';
import type { ExportRow, Tables } from './store.ts';

/** Longest wait of a creation for the ones requested before it. */
const PATIENCE_MS = 10_000;
/** Limits of waiting or running exports, of all and of one person. */
const MAX_WAITING = 50;
const MAX_OWN_WAITING = 3;
/** Limit of finished files of one person. */
const MAX_OWN_FILES = 20;
/** Time for which an export without a file stays listed. */
const KEEP_ROWS_MS = 30 * 86_400_000;
const SWEEP_MS = 60_000;
const HOUR_MS = 3_600_000;
const WAIT_SECONDS = 25;

export interface ExportsDeps extends Common<'audit' | 'clock' | 'log'> {
  /** Store of the conversations, which also holds the exports. */
  readonly store: Store;
  readonly rows: ConversationRows;
  /** Ends waiting requests with their session or key. */
  readonly credentials: Pick<Credentials, 'onSessionEnded' | 'onKeyEnded'>;
  /** Folder of the files. */
  readonly folder: string;
  /** Hours for which a finished file is kept. */
  readonly hours: number;
  /** Bytes that must stay free on the disk. */
  readonly diskFloor: number;
}
export interface ExportFile {
  readonly name: string;
  readonly format: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly stream: Readable;
}

/** Name of the file for downloads. */
const nameOf = (row: ExportRow): string =>
  `conversations-${rfc3339(row.created_ms).slice(0, 10)}-${row.id}.${row.format}`;

const isUnfinished = ({ state }: ExportRow): boolean => state === 'queued' || state === 'running';
function seesAll(caller: Caller): boolean {
  return caller.key === null && includesLevel(caller.level, 'admin');
}
/** Person whose exports a caller sees; null for all. */
function whose(caller: Caller): number | null {
  return seesAll(caller) ? null : caller.person_id;
}

export class Exports implements AsyncDisposable {
  readonly #deps: ExportsDeps;
  readonly #log: Log;
  readonly #db: Kysely<Tables>;
  readonly #folder: FileFolder;
  readonly #changes: Changes;
  readonly #runner: ExportRunner;
  readonly #downloads: AuditedReads;
  #recovered: Promise<void> | undefined;
  readonly #creating = writeQueue(PATIENCE_MS);
  readonly #stop = new AbortController();
  readonly #sweeping: Promise<void>;
  /** Numbers in the filters of exports; an erasure also deletes every file, because any may contain the subject. */
  readonly data: PersonalData = {
    name: 'exports',
    count: async (subject) => {
      const { length } = await this.#narrowedTo(subject);
      return length === 0 ? {} : { exports: length };
    },
    erase: async (subject) => {
      const found = await this.#narrowedTo(subject);
      await this.#drop(found.filter(isUnfinished), 'cancelled');
      for (const { id } of found) {
        await this.#db.updateTable('exports').set({ filter: '{}' }).where('id', '=', id).execute();
      }
      const files = await this.expireAll();
      return { exports: found.length, export_files: files };
    },
  };

  /** Runs the migrations, and repeats exports that ran when the service ended. */
  static async open(deps: ExportsDeps): Promise<Exports> {
    await deps.store.migrate('exports', migrations);
    return new Exports(deps);
  }
  private constructor(deps: ExportsDeps) {
    this.#deps = deps;
    this.#log = deps.log.child({ part: 'exports' });
    this.#db = deps.store.db<Tables>();
    this.#downloads = new AuditedReads({ ...deps, since: 'first' });
    this.#folder = createFileFolder(deps.folder, deps.diskFloor);
    this.#changes = createChanges(deps.clock, deps.credentials);
    this.#runner = new ExportRunner({
      ...deps,
      folder: this.#folder,
      log: this.#log,
      changed: (person) => this.#changes.changed(person),
      keep_ms: deps.hours * HOUR_MS,
    });
    this.#sweeping = this.#keepSweeping();
  }
  /** Deletes every file after an erasure and restarts running exports. Resolves with the number of files. */
  async expireAll(): Promise<number> {
    // Running exports first, so that one that ends meanwhile leaves no file.
    const again = await requeueRunning(this.#db);
    const done = await this.#db.selectFrom('exports').selectAll().where('state', '=', 'done').execute();
    for (const { id, person_id } of again) {
      this.#changes.changed(person_id);
      await this.#runner.stop(id);
    }
    await this.#drop(done, 'expired');
    this.#runner.wake();
    return done.length;
  }
  /** Throws `invalid_request`, `forbidden`, `limit_reached`, `overloaded` and `store_unavailable`. */
  async create({ caller, ip }: Actor, wanted: NewExport): Promise<Export> {
    const { rows, audit, clock } = this.#deps;
    await this.#begun();
    // One request at a time, so that each is stored before the next one counts.
    return await this.#creating.run(async () => {
      await this.#checkLimits(caller.person_id);
      const { extension, level, key } = caller;
      const reader: Principal = { extension, level, key, since_ms: historySince(caller) };
      const { estimated } = await rows.begin(reader, wanted.filter);
      const by = extension || caller.username;
      const detail = { format: wanted.format, filter: JSON.stringify(wanted.filter), rows: estimated };
      const line = { action: 'exports.create', actor: by, object: null, ip, detail };
      const id = await audited(audit, line, () =>
        insertExport(this.#db, {
          person_id: caller.person_id,
          by,
          reader: JSON.stringify(reader),
          wanted,
          now: clock.now(),
        }),
      );
      // Read before the runner wakes, so that the reply shows the export as it was created.
      const created = this.#view(await this.#mine(caller, id));
      this.#changes.changed(caller.person_id);
      this.#runner.wake();
      return created;
    });
  }
  /**
   * Waits at most `wait` seconds, or until `gone` is aborted, for another version than `seen` of the exports
   * that this caller sees. Throws `too_many_requests` for too many waiting requests of the caller,
   * `not_authenticated` once its session ends.
   */
  async next(
    caller: Caller,
    { seen, wait = WAIT_SECONDS }: ExportsQuery,
    signal: AbortSignal,
  ): Promise<void> {
    if (seen !== undefined)
      await this.#changes.wait(caller, whose(caller), seen, { ms: wait * 1_000, signal });
  }
  /** The caller's exports, newest first; an administrator sees the exports of all persons. */
  async page(
    caller: Caller,
    { limit = 50, cursor }: ExportsQuery,
  ): Promise<{ exports: Export[]; version: string; next_cursor: string | null }> {
    const person = whose(caller);
    // Read before the rows, so that a change in between is in the next answer.
    const version = this.#changes.version(person);
    let query = this.#db
      .selectFrom('exports')
      .selectAll()
      .orderBy('id', 'desc')
      .limit(limit + 1);
    if (person !== null) query = query.where('person_id', '=', person);
    if (cursor !== undefined) query = query.where('id', '<', Number(cursor));
    const { page, next_cursor } = pageOf(await query.execute(), limit, (row) => row.id);
    return { exports: page.map((row) => this.#view(row)), version, next_cursor };
  }
  /** Answers all waiting requests; the service stops. */
  endWaiting(): void {
    this.#changes.close();
  }
  /** Throws `not_found`. */
  async one(caller: Caller, id: number): Promise<Export> {
    return this.#view(await this.#mine(caller, id));
  }
  /** Stops the export or deletes its file. Throws `not_found`. */
  async remove({ caller, ip }: Actor, id: number): Promise<Export> {
    const row = await this.#mine(caller, id);
    const by = caller.extension || caller.username;
    const waits = isUnfinished(row);
    if (waits || row.state === 'done') {
      const line = { action: 'exports.remove', actor: by, object: String(id), ip };
      await audited(this.#deps.audit, line, () => this.#drop([row], waits ? 'cancelled' : 'expired'));
    }
    return this.#view(await this.#mine(caller, id));
  }
  /** Throws `not_found`, `file_not_ready`, `file_gone`, and `forbidden` if the caller may no longer see its content. */
  async file({ caller, ip }: Actor, id: number): Promise<ExportFile> {
    const row = await this.#mine(caller, id);
    if (isUnfinished(row)) {
      throw new ServiceError('file_not_ready', 'the file is not ready yet', { retry_after_seconds: 2 });
    }
    if (row.state !== 'done') throw new ServiceError('file_gone', say`the export is ${row.state}`);
    const reader = JSON.parse(row.reader) as Principal;
    const older = historySince(reader) < historySince(caller);
    if (older || !covers(historyOf(caller), historyOf(reader))) {
      throw new ServiceError('forbidden', 'you no longer have access to the data in this file');
    }
    const at = this.#folder.pathOf(row.id, row.format);
    await access(at).catch(() => {
      throw new ServiceError('file_gone', 'the file was deleted');
    });
    await this.#downloads.record(caller, String(id), {
      action: 'exports.download',
      actor: caller.extension || caller.username,
      object: String(id),
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
  }
  async close(): Promise<void> {
    this.#stop.abort();
    this.#changes.close();
    await Promise.all([this.#sweeping, this.#runner.close()]);
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #view(row: ExportRow): Export {
    const at = (ms: number | null): string | null => (ms === null ? null : rfc3339(Number(ms)));
    const { id, state, by, bytes, sha256, error } = row;
    return {
      id,
      state,
      format: row.format as Export['format'],
      filter: JSON.parse(row.filter) as ConversationFilter,
      columns: row.columns.split(',') as ExportColumn[],
      by,
      rows: { done: this.#runner.done(id) ?? row.rows_done, estimated: row.rows_estimated },
      bytes: bytes === null ? null : Number(bytes),
      sha256,
      error,
      created_at: rfc3339(Number(row.created_ms)),
      started_at: at(row.started_ms),
      finished_at: at(row.finished_ms),
      expires_at: at(row.expires_ms),
    };
  }
  async #mine(caller: Caller, id: number): Promise<ExportRow> {
    const row = await readExport(this.#db, id);
    if (row === undefined || !(seesAll(caller) || row.person_id === caller.person_id)) {
      throw new ServiceError('not_found', 'there is no such export');
    }
    return row;
  }
  async #checkLimits(person_id: number): Promise<void> {
    if ((await countIn(this.#db, ['queued', 'running'])) >= MAX_WAITING) {
      throw new ServiceError('overloaded', 'too many exports are waiting', { retry_after_seconds: 60 });
    }
    if ((await countIn(this.#db, ['queued', 'running'], person_id)) >= MAX_OWN_WAITING) {
      throw new ServiceError('limit_reached', say`${MAX_OWN_WAITING} of your exports are waiting or running`);
    }
    if ((await countIn(this.#db, ['done'], person_id)) >= MAX_OWN_FILES) {
      throw new ServiceError('limit_reached', say`you have ${MAX_OWN_FILES} files; delete one of them`);
    }
  }
  /** Sets `state` and deletes the files of these exports. */
  async #drop(some: readonly ExportRow[], state: 'cancelled' | 'expired'): Promise<void> {
    for (const row of some) {
      await this.#db
        .updateTable('exports')
        .set({ state, finished_ms: this.#deps.clock.now() })
        .where('id', '=', row.id)
        .execute();
      this.#changes.changed(row.person_id);
      await this.#runner.stop(row.id);
      await this.#folder.remove(row.id, row.format);
    }
  }
  async #recover(): Promise<void> {
    await this.#folder.tidy(await keptFiles(this.#db));
  }
  /** Runs once before the first file: the database may be unavailable when the service starts. */
  #begun(): Promise<void> {
    return (this.#recovered ??= this.#recover().catch((error: unknown) => {
      this.#recovered = undefined;
      throw error;
    }));
  }
  async #sweep(): Promise<void> {
    await this.#begun();
    const now = this.#deps.clock.now();
    const over = this.#db
      .selectFrom('exports')
      .selectAll()
      .where('state', '=', 'done')
      .where('expires_ms', '<=', now);
    await this.#drop(await over.execute(), 'expired');
    await this.#db
      .deleteFrom('exports')
      .where('created_ms', '<', now - KEEP_ROWS_MS)
      .where('state', 'not in', ['queued', 'running', 'done'])
      .execute();
    this.#runner.wake();
  }
  #keepSweeping(): Promise<void> {
    const failure = 'old exports could not be deleted; trying again in a minute';
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    return repeat(() => this.#sweep(), { every_ms: SWEEP_MS, failure, clock, log: this.#log, signal });
  }
  async #narrowedTo(subject: Subject): Promise<readonly ExportRow[]> {
    const all = await this.#db.selectFrom('exports').selectAll().execute();
    const values = (row: ExportRow): unknown[] => Object.values(JSON.parse(row.filter) as object);
    return all.filter((row) => values(row).some((value) => subject.isIn(String(value))));
  }
}
