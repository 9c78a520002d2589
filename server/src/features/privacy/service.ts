import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type {
  Erasure,
  NewErasure,
  NewPrivacyExport,
  PrivacyExport,
  PrivacyQuery,
} from '@offhook/contract/privacy.ts';
import { audited } from '../../commands/audited.ts';
import { rfc3339 } from '../../core/clock.ts';
import { pageOf } from '../../core/page.ts';
import { ServiceError } from '../../core/errors.ts';
import { createFileFolder } from '../../core/file-folder.ts';
import type { FileFolder } from '../../core/file-folder.ts';
import { extensionSubject, numberSubject } from '../../numbers/subject.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { PersonalData, Places } from '../../ports/privacy.ts';
import { JobRunner, placeholderOf } from './job-runner.ts';
import { hashOf, isIntact, newSalt } from './ledger.ts';
import { keptFiles, migrations } from './store.ts';
import type { JobRow, Tables } from './store.ts';
import type { Kysely } from 'kysely';

/** Limit of queued and running jobs. */
const MAX_WAITING = 20;

/** Data that is not erased, with reason and end of storage. */
export type Remains = Erasure['remains'];
/** Data that is not exported, with the reason. */
export type Missing = PrivacyExport['missing'];
export interface Gone {
  /** The engine's own call records. */
  readonly files: boolean;
  /** Former bytes in the files of the databases. */
  readonly traces: boolean;
  /** Nodes of the engines whose voicemail was not searched. */
  readonly unreached: readonly string[];
  /** Nodes that keep the recordings of their engines for themselves. */
  readonly recordings: readonly string[];
}
export interface PrivacyDeps extends Common<'audit' | 'clock' | 'directory' | 'log' | 'store'> {
  /** Owners of personal data, erased in this order, so that files derived from others come last. */
  readonly holders: readonly PersonalData[];
  readonly folder: string;
  readonly diskFloor: number;
  /** Hours for which a file is kept. */
  readonly hours: number;
  readonly country: string;
  /** Deletes the engine's own call records up to the read position. */
  readonly forget?: (signal: AbortSignal) => Promise<void>;
  /** Nodes of the engines whose voicemail the last search did not reach. */
  unreached(): readonly string[];
  /** Number of voicemail items of the last export without their audio. */
  lackingAudio(): number;
  /** Nodes other than this one on whose machines recordings lie that cannot be deleted from here. Throws `store_unavailable`. */
  recordingNodes(): Promise<readonly string[]>;
  /** True if the former bytes of erased data are gone from the database files. */
  forgetRows(): Promise<boolean>;
  remains(subject: Subject, at_ms: number, gone: Gone): Remains;
}
export interface PrivacyFile {
  readonly name: string;
  readonly bytes: number;
  readonly stream: Readable;
}
const places = (text: string | null): Places | null => (text === null ? null : (JSON.parse(text) as Places));
const at = (ms: number | null): string | null => (ms === null ? null : rfc3339(Number(ms)));

const sharedView = (row: JobRow) => ({
  id: row.id,
  state: row.state,
  subject: { kind: row.subject_kind, salt: row.salt, hash: row.subject_hash },
  by: row.by,
  error: row.error,
  created_at: rfc3339(Number(row.created_ms)),
  started_at: at(row.started_ms),
  finished_at: at(row.finished_ms),
});
const erasureView = (row: JobRow): Erasure => ({
  ...sharedView(row),
  reason: row.reason,
  placeholder: placeholderOf(row.id),
  before: places(row.before_places),
  erased: places(row.erased_places) ?? {},
  after: places(row.after_places),
  verified: row.verified === 1,
  remains: JSON.parse(row.remains) as Remains,
  place: row.place,
  previous_hash: row.previous_hash,
  hash: row.hash,
});
const exportView = (row: JobRow): PrivacyExport => ({
  ...sharedView(row),
  items: row.items,
  bytes: row.bytes === null ? null : Number(row.bytes),
  sha256: row.sha256,
  missing: JSON.parse(row.remains) as Missing,
  expires_at: at(row.expires_ms),
});
function subjectOf(
  country: string,
  who: {
    readonly number?: string | undefined;
    readonly extension?: string | undefined;
  },
): Subject {
  if (who.extension !== undefined) {
    // A single digit occurs in many texts.
    if (who.extension.length < 2) {
      throw new ServiceError('invalid_request', 'extension: it must have at least two digits');
    }
    return extensionSubject(who.extension);
  }
  const subject = numberSubject(who.number!, country);
  if (subject === null) throw new ServiceError('invalid_request', 'number: must be a telephone number');
  return subject;
}

/** Exports and erases personal data. `open` runs the migrations and resumes the jobs that a stop interrupted. */
export class Privacy implements AsyncDisposable {
  readonly #deps: PrivacyDeps;
  readonly #db: Kysely<Tables>;
  readonly #folder: FileFolder;
  readonly #runner: JobRunner;

  static async open(deps: PrivacyDeps): Promise<Privacy> {
    await deps.store.migrate('privacy', migrations);
    const db = deps.store.db<Tables>();
    const folder = createFileFolder(deps.folder, deps.diskFloor);
    await folder.tidy(await keptFiles(db));
    return new Privacy(deps, db, folder);
  }
  private constructor(deps: PrivacyDeps, db: Kysely<Tables>, folder: FileFolder) {
    this.#deps = deps;
    this.#db = db;
    this.#folder = folder;
    this.#runner = new JobRunner(deps, db, folder);
  }
  /** Throws `invalid_request` and `overloaded`. */
  async erase(actor: Actor, wanted: NewErasure): Promise<Erasure> {
    const subject = subjectOf(this.#deps.country, wanted);
    if (subject.isIn(wanted.reason)) {
      throw new ServiceError(
        'invalid_request',
        'reason: must not contain the data to erase, because the reason is kept',
      );
    }
    return erasureView(await this.#add(actor, 'erasure', subject, wanted.reason));
  }
  async erasures({
    limit = 50,
    cursor,
  }: PrivacyQuery): Promise<{ erasures: Erasure[]; next_cursor: string | null }> {
    let query = this.#db
      .selectFrom('privacy_jobs')
      .selectAll()
      .where('kind', '=', 'erasure')
      .orderBy('id', 'desc')
      .limit(limit + 1);
    if (cursor !== undefined) query = query.where('id', '<', Number(cursor));
    const { page, next_cursor } = pageOf(await query.execute(), limit, (row) => row.id);
    return { erasures: page.map(erasureView), next_cursor };
  }
  async erasure(id: number): Promise<{ erasure: Erasure; ledger_intact: boolean }> {
    return {
      erasure: erasureView(await this.#job('erasure', id)),
      ledger_intact: await isIntact(this.#db),
    };
  }
  /** Throws `invalid_request` and `overloaded`. */
  async export(actor: Actor, wanted: NewPrivacyExport): Promise<PrivacyExport> {
    return exportView(await this.#add(actor, 'export', subjectOf(this.#deps.country, wanted), ''));
  }
  async exported(id: number): Promise<PrivacyExport> {
    return exportView(await this.#job('export', id));
  }
  /** Throws `file_not_ready` and `file_gone`. */
  async file({ caller, ip }: Actor, id: number): Promise<PrivacyFile> {
    const row = await this.#job('export', id);
    if (row.state === 'queued' || row.state === 'running') {
      throw new ServiceError('file_not_ready', 'the file is not ready yet', { retry_after_seconds: 2 });
    }
    if (row.bytes === null) throw new ServiceError('file_gone', 'the file was deleted');
    const detail = { salt: row.salt, items: row.items, made_by: row.by };
    const object = row.subject_hash;
    await this.#deps.audit.record({
      action: 'privacy.download',
      actor: caller.extension,
      object,
      outcome: 'ok',
      ip,
      detail,
    });
    return {
      name: `about-${row.id}.json`,
      bytes: Number(row.bytes),
      stream: createReadStream(this.#folder.pathOf(row.id, 'json')),
    };
  }
  async close(): Promise<void> {
    await this.#runner.close();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #job(kind: JobRow['kind'], id: number): Promise<JobRow> {
    const row = await this.#db
      .selectFrom('privacy_jobs')
      .selectAll()
      .where('id', '=', id)
      .where('kind', '=', kind)
      .executeTakeFirst();
    if (row === undefined)
      throw new ServiceError(
        'not_found',
        kind === 'export' ? 'there is no such export' : 'there is no such erasure',
      );
    return row;
  }
  async #add(actor: Actor, kind: JobRow['kind'], subject: Subject, reason: string): Promise<JobRow> {
    const { n } = await this.#db
      .selectFrom('privacy_jobs')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('state', 'in', ['queued', 'running'])
      .executeTakeFirstOrThrow();
    if (Number(n) >= MAX_WAITING) {
      throw new ServiceError('overloaded', 'too many erasures and exports are waiting; try again later', {
        retry_after_seconds: 60,
      });
    }
    const salt = newSalt();
    const subject_hash = await hashOf(subject, salt);
    const by = actor.caller.extension;
    const line = {
      action: `privacy.${kind}`,
      actor: by,
      object: subject_hash,
      ip: actor.ip,
      detail: { kind: subject.kind, salt, reason },
    };
    const { id } = await audited(this.#deps.audit, line, () =>
      this.#db
        .insertInto('privacy_jobs')
        .values({
          kind,
          state: 'queued',
          subject_kind: subject.kind,
          subject: subject.value,
          salt,
          subject_hash,
          by,
          reason,
          erased_places: '{}',
          verified: 0,
          remains: '[]',
          items: 0,
          created_ms: this.#deps.clock.now(),
        })
        .returning('id')
        .executeTakeFirstOrThrow(),
    );
    this.#runner.wake();
    return await this.#job(kind, id);
  }
}
