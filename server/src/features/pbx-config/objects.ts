/**
 * The stored objects. Every kept version is readable: a row names the first version with the object and the first one
 * without it. The draft is the difference from the newest version; there is one draft for the whole site.
 */
import type { Insertable, Kysely, Transaction } from 'kysely';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';
import { hasCode } from '../../core/errors.ts';
import { writeQueue } from '../../core/queue.ts';
import type { Store } from '../../ports/store.ts';
import { difference, storedObject, toModel, withObjects } from './model.ts';
import type { Model, ObjectChange, StoredObject } from './model.ts';
import { holdersOf, noteHolders, readHolders } from './holders.ts';
import type { ObjectTables } from './tables.ts';
import { withoutSecrets } from './secrets.ts';

/** Author, comment and time of a version. */
export interface Authorship {
  readonly author: string;
  readonly comment: string | null;
  /** Milliseconds since 1970. */
  readonly at: number;
}
/** Last author of an object of the draft; time in milliseconds since 1970. */
export interface Changed {
  readonly author: string;
  readonly at: number;
}
export interface ObjectStore {
  /** The newest version; 0 before the first apply. */
  readonly version: number;
  /** The applied configuration. */
  applied(): Model;
  /** Time when the current holder received the extension, ms since 1970; 0 for its first holder. */
  heldSince(extension: string): number;
  /** Time of the first version with the person, ms since 1970; 0 if there is none. */
  knownSince(person: number): number;
  /** Ids of the persons who ever had the extension, the newest first. */
  holdersOf(extension: string): Promise<readonly number[]>;
  /** The same model until the draft changes. */
  draft(): Model;
  /** The model of an earlier version; null for an unknown one. */
  at(version: number): Promise<Model | null>;
  /** Assigns ids to new objects of the draft; an id is never assigned again. */
  identify(objects: readonly StoredObject[]): Promise<StoredObject[]>;
  /** Replaces the draft. All or nothing; `also` runs in the same transaction. */
  setDraft(
    next: Model,
    who: Changed,
    also?: (trx: Transaction<ObjectTables>) => Promise<void>,
  ): Promise<void>;
  /** Calls the listener after each change of the draft with its author and the number of its differences; returns a stop. */
  onDraft(listener: (author: string, total: number) => void): () => void;
  /** Authors of the draft's differences, by `kind key`. */
  changed(): Promise<ReadonlyMap<string, Changed>>;
  /**
   * Makes `model` the newest version; further changes of the draft stay. `also` runs in the same transaction. A store that becomes
   * unavailable meanwhile may have stored the version: it is asked until it answers, with `pause` between two questions.
   */
  commit(
    model: Model,
    by: Authorship,
    also?: (trx: Transaction<ObjectTables>, version: number) => Promise<void>,
    pause?: () => Promise<void>,
  ): Promise<number>;
}
const PATIENCE_MS = 30_000;
const MOST_ROWS = 500;
function* slices<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < rows.length; at += MOST_ROWS) yield rows.slice(at, at + MOST_ROWS);
}
const read = ({ id, kind, body }: { id: number; kind: string; body: string }): StoredObject =>
  storedObject(id, kind as ConfigKind, JSON.parse(body) as ConfigBody<ConfigKind>);

/** Writes a new version with the holders of its extensions; returns its number. */
export async function writeVersion(
  trx: Transaction<ObjectTables>,
  changes: readonly ObjectChange[],
  { author, comment, at }: Authorship,
): Promise<number> {
  const { version } = await trx
    .insertInto('config_versions')
    .values({ author, comment, at, objects: changes.length })
    .returning('version')
    .executeTakeFirstOrThrow();
  for (const { kind, key, object } of changes) {
    const over = await trx
      .selectFrom('config_objects')
      .select('body')
      .where('kind', '=', kind)
      .where('key', '=', key)
      .where('until_version', 'is', null)
      .executeTakeFirst();
    if (over === undefined) continue;
    const body = withoutSecrets(
      kind,
      JSON.parse(over.body) as Record<string, unknown>,
      (object?.body ?? null) as Record<string, unknown> | null,
    );
    await trx
      .updateTable('config_objects')
      .set({ until_version: version, body: JSON.stringify(body) })
      .where('kind', '=', kind)
      .where('key', '=', key)
      .where('until_version', 'is', null)
      .execute();
  }
  const rows = changes.flatMap(({ kind, key, object }): Insertable<ObjectTables['config_objects']>[] =>
    object === null
      ? []
      : [
          {
            id: object.id,
            kind,
            key,
            body: JSON.stringify(object.body),
            since_version: version,
            until_version: null,
          },
        ],
  );
  for (const slice of slices(rows))
    await trx
      .insertInto('config_objects')
      .values([...slice])
      .execute();
  await noteHolders(trx, changes, at);
  return version;
}
export async function newIdentity(
  trx: Transaction<ObjectTables>,
  kind: ConfigKind,
  key: string,
): Promise<number> {
  const { id } = await trx
    .insertInto('config_identities')
    .values({ kind, key })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

async function newestVersion(db: Kysely<ObjectTables>): Promise<number> {
  const newest = await db
    .selectFrom('config_versions')
    .select((e) => e.fn.max('version').as('version'))
    .executeTakeFirst();
  return newest?.version ?? 0;
}
/** The newest version after a commit failed with `failure`, which is thrown if it tells that nothing was stored. */
async function newestAfter(failure: unknown, store: Store, pause?: () => Promise<void>): Promise<number> {
  const isAway = (error: unknown): boolean => hasCode(error, 'store_unavailable');
  for (let error = failure; isAway(error);) {
    try {
      // In a transaction, which begins after the end of the failed one.
      return await store.transaction<ObjectTables, number>(newestVersion);
    } catch (again) {
      error = again;
    }
    if (pause === undefined) break;
    await pause();
  }
  throw failure;
}

async function readDraft(db: Kysely<ObjectTables>, applied: Model): Promise<Model> {
  const pending = await db.selectFrom('config_draft').selectAll().execute();
  return withObjects(
    applied,
    pending.map(({ id, kind, key, body }) => ({
      kind: kind as ConfigKind,
      key,
      object: body === null || id === null ? null : read({ id, kind, body }),
    })),
  );
}
/** Reads all objects; throws `store_unavailable` if the database does not answer. */
export async function openObjects(store: Store): Promise<ObjectStore> {
  const db = store.db<ObjectTables>();
  let version = await newestVersion(db);
  let applied = toModel(
    (
      await db
        .selectFrom('config_objects')
        .select(['id', 'kind', 'body'])
        .where('until_version', 'is', null)
        .execute()
    ).map(read),
  );
  let holders = await readHolders(db);
  let draft = await readDraft(db, applied);
  /** A commit computes the remaining draft, so other changes must wait. */
  const turn = writeQueue(PATIENCE_MS);
  const listeners = new Set<(author: string, total: number) => void>();
  return {
    get version() {
      return version;
    },
    applied: () => applied,
    heldSince: (extension) => holders.since.get(extension) ?? 0,
    knownSince: (person) => holders.known.get(person) ?? 0,
    holdersOf: (extension) => holdersOf(db, extension),
    draft: () => draft,
    async at(wanted) {
      if (wanted === version) return applied;
      if (!Number.isSafeInteger(wanted) || wanted < 1 || wanted > version) return null;
      const rows = await db
        .selectFrom('config_objects')
        .select(['id', 'kind', 'body'])
        .where('since_version', '<=', wanted)
        .where((e) => e.or([e('until_version', 'is', null), e('until_version', '>', wanted)]))
        .execute();
      return toModel(rows.map(read));
    },
    identify: async (objects) =>
      await store.transaction<ObjectTables, StoredObject[]>(async (trx) => {
        const ids = new Map<string, number>();
        for (const slice of slices(objects))
          for (const { id, kind, key } of await trx
            .insertInto('config_identities')
            .values(slice.map(({ kind, key }) => ({ kind, key })))
            .returning(['id', 'kind', 'key'])
            .execute())
            ids.set(`${kind} ${key}`, id);
        return objects.map((o) => ({ ...o, id: ids.get(`${o.kind} ${o.key}`)! }));
      }),
    changed: async () =>
      new Map(
        (await db.selectFrom('config_draft').select(['kind', 'key', 'author', 'at']).execute()).map(
          ({ kind, key, author, at }) => [`${kind} ${key}`, { author, at }],
        ),
      ),
    setDraft: (next, { author, at }, also) =>
      turn.run(async () => {
        const touched = difference(draft, next);
        const pending = new Set(difference(applied, next).map(({ kind, key }) => `${kind} ${key}`));
        const rows = touched
          .filter(({ kind, key }) => pending.has(`${kind} ${key}`))
          .map(({ kind, key, object }) => ({
            kind,
            key,
            id: object?.id ?? null,
            body: object === null ? null : JSON.stringify(object.body),
            author,
            at,
          }));
        await store.transaction<ObjectTables, void>(async (trx) => {
          for (const { kind, key } of touched)
            await trx.deleteFrom('config_draft').where('kind', '=', kind).where('key', '=', key).execute();
          for (const slice of slices(rows))
            await trx
              .insertInto('config_draft')
              .values([...slice])
              .execute();
          await also?.(trx);
        });
        draft = next;
        for (const listener of listeners) listener(author, pending.size);
      }),
    onDraft(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    commit: (model, by, also, pause) =>
      turn.run(async () => {
        const changes = difference(applied, model);
        const left = difference(model, draft);
        let held = holders;
        const storing = store.transaction<ObjectTables, number>(async (trx) => {
          const number = await writeVersion(trx, changes, by);
          // After the commit, an error of this read would roll back the apply of a version that is stored.
          held = await readHolders(trx);
          const keep = new Set(left.map(({ kind, key }) => `${kind} ${key}`));
          for (const { kind, key } of await trx.selectFrom('config_draft').select(['kind', 'key']).execute())
            if (!keep.has(`${kind} ${key}`))
              await trx.deleteFrom('config_draft').where('kind', '=', kind).where('key', '=', key).execute();
          await also?.(trx, number);
          return number;
        });
        const made = await storing.catch(async (failure: unknown) => {
          const newest = await newestAfter(failure, store, pause);
          if (newest === version) throw failure;
          return newest;
        });
        holders = held;
        applied = model;
        version = made;
        draft = withObjects(model, left);
        return made;
      }),
  };
}
