/** Runs erasures and exports in sequence, and resumes jobs interrupted by a stop. */
import { hasCode, messageOf } from '../../core/errors.ts';
import type { FileFolder } from '../../core/file-folder.ts';
import type { Log } from '../../core/log.ts';
import { extensionSubject, numberSubject } from '../../numbers/subject.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { Directory } from '../../ports/directory.ts';
import type { KnownAbout } from '../../ports/privacy.ts';
import { enter } from './ledger.ts';
import { lackingAudio, unreachedVoicemail } from './remains.ts';
import type { Missing, PrivacyDeps } from './service.ts';
import type { JobRow, Tables } from './store.ts';
import { countAll, eraseAll, fileOf } from './work.ts';
import type { Kysely } from 'kysely';

const HOUR_MS = 3_600_000;
/** Interval between retries of a refused job, and between checks for expired files. */
const SWEEP_MS = 30_000;

export const placeholderOf = (id: number): string => `erased-${id}`;

/** People of the directory who match a subject, and, for an extension, their user names. */
function known(
  directory: Directory,
  subject: Subject,
): { items: readonly KnownAbout[]; usernames: readonly string[] } {
  const people = directory.people();
  const found = people.filter((p) =>
    subject.kind === 'extension' ? p.extension === subject.value : subject.isIn(p.mobile ?? ''),
  );
  return {
    items: found.map((value) => ({ kind: 'person', value })),
    usernames: subject.kind === 'extension' ? found.map((p) => p.username) : [],
  };
}
export class JobRunner {
  readonly #deps: PrivacyDeps;
  readonly #log: Log;
  readonly #db: Kysely<Tables>;
  readonly #folder: FileFolder;
  readonly #stop = new AbortController();
  /** True if the free space of the database file was cleared since the last job. */
  #forgotten = false;
  #woken = Promise.withResolvers<void>();
  readonly #working: Promise<void>;

  constructor(deps: PrivacyDeps, db: Kysely<Tables>, folder: FileFolder) {
    this.#deps = deps;
    this.#db = db;
    this.#folder = folder;
    this.#log = deps.log.child({ part: 'privacy' });
    this.#working = this.#work();
  }
  wake(): void {
    this.#woken.resolve();
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#working;
  }

  async #runErasure(row: JobRow, subject: Subject): Promise<void> {
    const { store, holders, clock } = this.#deps;
    if (row.before_places === null) {
      const before = await countAll(holders, subject, this.#stop.signal);
      await this.#change(row.id, { before_places: JSON.stringify(before) });
    }
    // Exports about other people may contain the subject, too.
    await this.#dropFiles();
    const done = await eraseAll(
      holders,
      subject,
      placeholderOf(row.id),
      this.#deps.forget,
      this.#stop.signal,
    );
    const unreached = this.#deps.unreached();
    const recordings = await this.#deps.recordingNodes();
    const traces = await this.#deps.forgetRows();
    const gone = { files: done.files_gone, traces, unreached, recordings };
    const finished_ms = clock.now();
    await store.transaction<Tables, void>(async (trx) => {
      await trx
        .updateTable('privacy_jobs')
        .set({
          state: 'done',
          subject: null,
          erased_places: JSON.stringify(done.erased),
          after_places: JSON.stringify(done.after),
          verified: Object.keys(done.after).length === 0 ? 1 : 0,
          remains: JSON.stringify(this.#deps.remains(subject, finished_ms, gone)),
          finished_ms,
        })
        .where('id', '=', row.id)
        .execute();
      const now = await trx
        .selectFrom('privacy_jobs')
        .selectAll()
        .where('id', '=', row.id)
        .executeTakeFirstOrThrow();
      await enter(trx, now);
    });
    this.#log.info({ erasure: row.id, erased: done.erased }, 'an erasure is done');
  }
  async #runExport(row: JobRow, subject: Subject): Promise<void> {
    const { holders, clock } = this.#deps;
    let items = 0;
    const count = (n: number): void => void (items = n);
    const missing = (): Missing => [
      ...unreachedVoicemail(this.#deps.unreached()),
      ...lackingAudio(this.#deps.lackingAudio()),
    ];
    const pieces = fileOf(
      holders,
      known(this.#deps.directory, subject),
      subject,
      { now: clock.now(), counted: count, missing },
      this.#stop.signal,
    );
    const { bytes, sha256 } = await this.#folder.write(row.id, 'json', pieces);
    const now = clock.now();
    const expires_ms = now + this.#deps.hours * HOUR_MS;
    await this.#change(row.id, {
      state: 'done',
      subject: null,
      items,
      bytes,
      sha256,
      remains: JSON.stringify(missing()),
      finished_ms: now,
      expires_ms,
    });
  }
  /** Deletes export files that expired by `before_ms`; by default all. */
  async #dropFiles(before_ms = Number.MAX_SAFE_INTEGER): Promise<void> {
    const rows = await this.#db
      .selectFrom('privacy_jobs')
      .select('id')
      .where('kind', '=', 'export')
      .where('bytes', 'is not', null)
      .where('expires_ms', '<=', before_ms)
      .execute();
    for (const { id } of rows) {
      await this.#folder.remove(id, 'json');
      await this.#change(id, { bytes: null });
    }
  }
  async #runOne(row: JobRow): Promise<void> {
    const { clock, country } = this.#deps;
    const subject =
      row.subject_kind === 'extension'
        ? extensionSubject(row.subject!)
        : numberSubject(row.subject!, country)!;
    await this.#change(row.id, { state: 'running', started_ms: row.started_ms ?? clock.now() });
    try {
      await (row.kind === 'erasure' ? this.#runErasure(row, subject) : this.#runExport(row, subject));
    } catch (error) {
      // A job that the database refused or a stop interrupted is continued later.
      if (this.#stop.signal.aborted || hasCode(error, 'store_unavailable')) throw error;
      this.#log.error({ job: row.id, error: messageOf(error) }, `an ${row.kind} failed`);
      const failure = { state: 'failed', error: 'the service failed; see its log', subject: null } as const;
      await this.#change(row.id, { ...failure, finished_ms: clock.now() });
    }
  }
  async #runAll(): Promise<void> {
    await this.#dropFiles(this.#deps.clock.now());
    while (!this.#stop.signal.aborted) {
      const row = await this.#db
        .selectFrom('privacy_jobs')
        .selectAll()
        .where('state', 'in', ['queued', 'running'])
        .orderBy('id')
        .limit(1)
        .executeTakeFirst();
      if (row === undefined) break;
      this.#forgotten = false;
      await this.#runOne(row);
    }
    if (!this.#forgotten) this.#forgotten = await this.#deps.store.forget();
  }
  async #work(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#woken = Promise.withResolvers<void>();
      await this.#runAll().catch((error: unknown) => {
        if (!this.#stop.signal.aborted)
          this.#log.warn({ error: messageOf(error) }, 'an erasure or export waits and continues later');
      });
      const rest = new AbortController();
      await Promise.race([
        this.#woken.promise,
        this.#deps.clock
          .sleep(SWEEP_MS, AbortSignal.any([this.#stop.signal, rest.signal]))
          .catch(() => undefined),
      ]);
      rest.abort();
    }
  }
  async #change(id: number, values: Partial<JobRow>): Promise<void> {
    await this.#db.updateTable('privacy_jobs').set(values).where('id', '=', id).execute();
  }
}
