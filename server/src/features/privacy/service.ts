import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type {
  Erasure,
  NewErasure,
  NewPrivacyExport,
  PrivacyExport,
  PrivacyQuery,
} from '@offhook/contract/privacy.ts';
import { rfc3339 } from '../../core/clock.ts';
import { pageOf } from '../../core/page.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { createFileFolder } from '../../core/file-folder.ts';
import type { Log } from '../../core/log.ts';
import { extensionSubject, numberSubject } from '../../numbers/subject.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Actor } from '../../ports/operations.ts';
import type { KnownAbout, PersonalData, Places } from '../../ports/privacy.ts';
import type { Store } from '../../ports/store.ts';
import { enter, hashOf, isIntact, newSalt } from './ledger.ts';
import { migrations } from './store.ts';
import type { JobRow, Tables } from './store.ts';
import { countAll, eraseAll, fileOf } from './work.ts';

/** Jobs that wait or run. */
const MAX_WAITING = 20;
const HOUR_MS = 3_600_000;
/** How often a job that the database did not let go on is tried again, and expired files are looked for. */
const SWEEP_MS = 30_000;

/** What is not erased: why, and when it goes. */
export type Remains = Erasure['remains'];
export interface Gone {
  /** The engine's own call records. */
  readonly files: boolean;
  /** Former bytes in the files of the databases. */
  readonly traces: boolean;
}
export interface PrivacyDeps {
  readonly store: Store;
  /** Who keeps what about people; erased in this order, so files made of the others come last. */
  readonly holders: readonly PersonalData[];
  readonly directory: Directory;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
  readonly folder: string;
  readonly diskFloor: number;
  /** How long a file is kept. */
  readonly hours: number;
  readonly country: string;
  /** Deletes the engine's own call records as far as they were read. */
  readonly forget?: (signal: AbortSignal) => Promise<void>;
  /** Whether former bytes of what is erased are gone from the files of the databases. */
  forgetRows(): Promise<boolean>;
  remains(subject: Subject, at_ms: number, gone: Gone): Remains;
}
export interface PrivacyFile {
  readonly name: string;
  readonly bytes: number;
  readonly stream: Readable;
}
/** All throw `store_unavailable`, and `not_found` for an id. */
export interface Privacy extends AsyncDisposable {
  /** Throws `invalid_request` and `overloaded`. */
  erase(actor: Actor, wanted: NewErasure): Promise<Erasure>;
  erasures(query: PrivacyQuery): Promise<{ erasures: Erasure[]; next_cursor: string | null }>;
  erasure(id: number): Promise<{ erasure: Erasure; ledger_intact: boolean }>;
  /** Throws `invalid_request` and `overloaded`. */
  export(actor: Actor, wanted: NewPrivacyExport): Promise<PrivacyExport>;
  exported(id: number): Promise<PrivacyExport>;
  /** Throws `file_not_ready` and `file_gone`. */
  file(actor: Actor, id: number): Promise<PrivacyFile>;
  close(): Promise<void>;
}
const placeholderOf = (id: number): string => `erased-${id}`;
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
  expires_at: at(row.expires_ms),
});

/** Runs the migrations, and goes on with what was not over when the service ended. */
export async function createPrivacy(deps: PrivacyDeps): Promise<Privacy> {
  const { store, holders, audit, clock, country } = deps;
  const log = deps.log.child({ part: 'privacy' });
  await store.migrate('privacy', migrations);
  const db = store.db<Tables>();
  const folder = createFileFolder(deps.folder, deps.diskFloor);
  const stop = new AbortController();
  const { signal } = stop;

  function subjectOf(who: {
    readonly number?: string | undefined;
    readonly extension?: string | undefined;
  }): Subject {
    if (who.extension !== undefined) {
      // A single digit stands in many texts and is nobody's.
      if (who.extension.length < 2) {
        throw new ServiceError('invalid_request', 'extension: it has at least two digits');
      }
      return extensionSubject(who.extension);
    }
    const subject = numberSubject(who.number!, country);
    if (subject === null)
      throw new ServiceError('invalid_request', 'number: this cannot be read as a number');
    return subject;
  }
  const change = (id: number, values: Partial<JobRow>): Promise<unknown> =>
    db.updateTable('privacy_jobs').set(values).where('id', '=', id).execute();
  async function job(kind: JobRow['kind'], id: number): Promise<JobRow> {
    const row = await db
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
  async function add(actor: Actor, kind: JobRow['kind'], subject: Subject, reason: string): Promise<JobRow> {
    const { n } = await db
      .selectFrom('privacy_jobs')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('state', 'in', ['queued', 'running'])
      .executeTakeFirstOrThrow();
    if (Number(n) >= MAX_WAITING) {
      throw new ServiceError('overloaded', 'too many of these are waiting', { retry_after_seconds: 60 });
    }
    const salt = newSalt();
    const subject_hash = await hashOf(subject, salt);
    const by = actor.caller.extension;
    await audit.record({
      action: `privacy.${kind}`,
      actor: by,
      object: subject_hash,
      outcome: 'ok',
      ip: actor.ip,
      detail: { kind: subject.kind, salt, reason },
    });
    const { id } = await db
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
        created_ms: clock.now(),
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    wake();
    return await job(kind, id);
  }
  async function runErasure(row: JobRow, subject: Subject): Promise<void> {
    if (row.before_places === null) {
      const before = await countAll(holders, subject, signal);
      await change(row.id, { before_places: JSON.stringify(before) });
    }
    // Files about others may hold the subject too.
    await dropFiles();
    const done = await eraseAll(holders, subject, placeholderOf(row.id), deps.forget, signal);
    const gone = { files: done.files_gone, traces: await deps.forgetRows() };
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
          remains: JSON.stringify(deps.remains(subject, finished_ms, gone)),
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
    log.info({ erasure: row.id, erased: done.erased }, 'an erasure is done');
  }
  function known(subject: Subject): { items: readonly KnownAbout[]; usernames: readonly string[] } {
    const people = deps.directory.people();
    const found = people.filter((p) =>
      subject.kind === 'extension' ? p.extension === subject.value : subject.isIn(p.mobile ?? ''),
    );
    return {
      items: found.map((value) => ({ kind: 'person', value })),
      usernames: subject.kind === 'extension' ? found.map((p) => p.username) : [],
    };
  }
  async function runExport(row: JobRow, subject: Subject): Promise<void> {
    let items = 0;
    const count = (n: number): void => void (items = n);
    const pieces = fileOf(holders, known(subject), subject, clock.now(), count, signal);
    const { bytes, sha256 } = await folder.write(row.id, 'json', pieces);
    const now = clock.now();
    const expires_ms = now + deps.hours * HOUR_MS;
    await change(row.id, {
      state: 'done',
      subject: null,
      items,
      bytes,
      sha256,
      finished_ms: now,
      expires_ms,
    });
  }
  /** Of these exports the file goes; all of them where none are named. */
  async function dropFiles(before_ms = Number.MAX_SAFE_INTEGER): Promise<void> {
    const rows = await db
      .selectFrom('privacy_jobs')
      .select('id')
      .where('kind', '=', 'export')
      .where('bytes', 'is not', null)
      .where('expires_ms', '<=', before_ms)
      .execute();
    for (const { id } of rows) {
      await folder.remove(id, 'json');
      await change(id, { bytes: null });
    }
  }
  async function runOne(row: JobRow): Promise<void> {
    const subject =
      row.subject_kind === 'extension'
        ? extensionSubject(row.subject!)
        : numberSubject(row.subject!, country)!;
    await change(row.id, { state: 'running', started_ms: row.started_ms ?? clock.now() });
    try {
      await (row.kind === 'erasure' ? runErasure(row, subject) : runExport(row, subject));
    } catch (error) {
      // What the database refused now, and what the end of the service cut off, goes on later from where it is.
      if (signal.aborted || (error instanceof ServiceError && error.code === 'store_unavailable'))
        throw error;
      log.error({ job: row.id, error: messageOf(error) }, `an ${row.kind} failed`);
      const told = { state: 'failed', error: 'the service failed; see its log', subject: null } as const;
      await change(row.id, { ...told, finished_ms: clock.now() });
    }
  }
  /** Jobs that are over leave nothing in the free space of the file of whom they were about. */
  let forgotten = false;
  async function runAll(): Promise<void> {
    await dropFiles(clock.now());
    while (!signal.aborted) {
      const row = await db
        .selectFrom('privacy_jobs')
        .selectAll()
        .where('state', 'in', ['queued', 'running'])
        .orderBy('id')
        .limit(1)
        .executeTakeFirst();
      if (row === undefined) break;
      forgotten = false;
      await runOne(row);
    }
    forgotten ||= await store.forget();
  }
  let woken = Promise.withResolvers<void>();
  const wake = (): void => woken.resolve();
  async function work(): Promise<void> {
    while (!signal.aborted) {
      woken = Promise.withResolvers<void>();
      await runAll().catch((error: unknown) => {
        if (!signal.aborted)
          log.warn({ error: messageOf(error) }, 'an erasure or export waits; it goes on later');
      });
      const rest = new AbortController();
      await Promise.race([
        woken.promise,
        clock.sleep(SWEEP_MS, AbortSignal.any([signal, rest.signal])).catch(() => undefined),
      ]);
      rest.abort();
    }
  }
  const kept = await db.selectFrom('privacy_jobs').select('id').where('bytes', 'is not', null).execute();
  await folder.tidy(new Set(kept.map(({ id }) => `${id}.json`)));
  const working = work();
  const close = async (): Promise<void> => {
    stop.abort();
    await working;
  };
  return {
    async erase(actor, wanted) {
      const subject = subjectOf(wanted);
      if (subject.isIn(wanted.reason)) {
        throw new ServiceError('invalid_request', 'reason: it holds what is to be erased, and it is kept');
      }
      return erasureView(await add(actor, 'erasure', subject, wanted.reason));
    },
    async erasures({ limit = 50, cursor }) {
      let query = db
        .selectFrom('privacy_jobs')
        .selectAll()
        .where('kind', '=', 'erasure')
        .orderBy('id', 'desc')
        .limit(limit + 1);
      if (cursor !== undefined) query = query.where('id', '<', Number(cursor));
      const { page, next_cursor } = pageOf(await query.execute(), limit, (row) => row.id);
      return { erasures: page.map(erasureView), next_cursor };
    },
    erasure: async (id) => ({
      erasure: erasureView(await job('erasure', id)),
      ledger_intact: await isIntact(db),
    }),
    export: async (actor, wanted) => exportView(await add(actor, 'export', subjectOf(wanted), '')),
    exported: async (id) => exportView(await job('export', id)),
    async file({ caller, ip }, id) {
      const row = await job('export', id);
      if (row.state === 'queued' || row.state === 'running') {
        throw new ServiceError('file_not_ready', 'the file is not made yet', { retry_after_seconds: 2 });
      }
      if (row.bytes === null) throw new ServiceError('file_gone', 'the file was deleted');
      const detail = { salt: row.salt, items: row.items, made_by: row.by };
      const object = row.subject_hash;
      await audit.record({
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
        stream: createReadStream(folder.pathOf(row.id, 'json')),
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
