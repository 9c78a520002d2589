import type { Generated, Transaction } from 'kysely';
import { createTable } from '../../core/schema.ts';
import type { Migration } from '../../ports/store.ts';

export interface ObjectTables {
  /** Never assigned to another object. */
  config_identities: { id: Generated<number>; kind: string; key: string };
  /** `body` is JSON with secrets; `until_version` is null while the row is valid. */
  config_objects: {
    id: number;
    kind: string;
    key: string;
    body: string;
    since_version: number;
    until_version: number | null;
  };
  config_holders: { extension: string; person: number; since_ms: number };
  config_versions: {
    version: Generated<number>;
    author: string;
    comment: string | null;
    at: number;
    /** Number of objects changed by the version. */
    objects: number;
  };
  /** Differences from the newest version; a null body deletes the object. */
  config_draft: {
    kind: string;
    key: string;
    id: number | null;
    body: string | null;
    author: string;
    at: number;
  };
}

type Body = Readonly<Record<string, unknown>>;
const absent = (body: Body, member: string, value: unknown): Body =>
  member in body ? body : { ...body, [member]: value };
/** Changes the bodies of all objects of these kinds, in every version and in the draft. */
async function fill(
  db: Transaction<unknown>,
  kinds: readonly string[],
  change: (body: Body) => Body,
): Promise<void> {
  const trx = db as unknown as Transaction<
    Record<'config_objects' | 'config_draft', { kind: string; body: string | null }>
  >;
  for (const table of ['config_objects', 'config_draft'] as const) {
    const bodies = await trx
      .selectFrom(table)
      .select(['kind', 'body'])
      .distinct()
      .where('kind', 'in', kinds)
      .where('body', 'is not', null)
      .execute();
    for (const { kind, body } of bodies) {
      const changed = JSON.stringify(change(JSON.parse(body!) as Body));
      if (changed === body) continue;
      await trx
        .updateTable(table)
        .set({ body: changed })
        .where('kind', '=', kind)
        .where('body', '=', body)
        .execute();
    }
  }
}

/**
 * The objects of a first start had no holders, so the next person of such an extension counted as its first holder and saw the
 * data of the one before. Adds the first holders, and moves the start of a next one to its first version.
 */
async function addFirstHolders(db: Transaction<unknown>): Promise<void> {
  const trx = db as unknown as Transaction<ObjectTables>;
  const people = await trx
    .selectFrom('config_objects')
    // The oldest versions are deleted, their objects stay.
    .leftJoin('config_versions', 'config_versions.version', 'config_objects.since_version')
    .select((e) => ['key', 'id', e.fn.min('since_version').as('version'), e.fn.min('at').as('at')])
    .where('kind', '=', 'extension')
    .groupBy(['key', 'id'])
    .orderBy('version')
    .execute();
  const firsts = await trx.selectFrom('config_holders').selectAll().where('since_ms', '=', 0).execute();
  const known = new Map(firsts.map(({ extension, person }) => [extension, person]));
  for (const [key, [first, ...later]] of Map.groupBy(people, (row) => row.key)) {
    const wrong = later.find(({ id }) => id === known.get(key));
    if (wrong !== undefined) {
      const next = await trx
        .selectFrom('config_holders')
        .select((e) => e.fn.min('since_ms').as('since_ms'))
        .where('extension', '=', key)
        .where('since_ms', '>', 0)
        .executeTakeFirst();
      // Two versions of one millisecond, or of a clock that was set back, keep their order.
      const before = Number(next?.since_ms ?? Infinity) - 1;
      await trx
        .updateTable('config_holders')
        .set({ since_ms: Math.max(1, Math.min(Number(wrong.at ?? 0), before)) })
        .where('extension', '=', key)
        .where('since_ms', '=', 0)
        .execute();
    }
    if (wrong === undefined && known.has(key)) continue;
    await trx
      .insertInto('config_holders')
      .values({ extension: key, person: first!.id, since_ms: 0 })
      .execute();
  }
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-pbx-config',
    async up({ schema }) {
      await createTable(schema)`config_identities (
        id integer primary key autoincrement, kind text not null, key text not null)`;
      await createTable(schema)`config_versions (
        version integer primary key autoincrement, author text not null, comment text, at bigint not null,
        objects integer not null)`;
      await createTable(schema)`config_objects (
        id integer not null, kind text not null, key text not null, body text not null,
        since_version integer not null, until_version integer,
        constraint config_objects_key primary key (kind, key, since_version))`;
      await createTable(schema)`config_draft (
        kind text not null, key text not null, id integer, body text, author text not null, at bigint not null,
        constraint config_draft_key primary key (kind, key))`;
      await createTable(schema)`config_holders (
        extension text not null, person integer not null, since_ms bigint not null,
        constraint config_holders_key primary key (extension, since_ms))`;
      await createTable(schema)`config_applies (
        id integer primary key autoincrement, state text not null, open integer not null, files text not null,
        body text not null, at bigint not null)`;
      await createTable(schema)`config_files (
        name text primary key, hash text, pending text, noticed_at bigint, hand_written integer not null)`;
    },
  },
  {
    id: '0101-pbx-config-srtp',
    async up(db) {
      await fill(db, ['extension', 'trunk'], (body) => ({ ...body, srtp: 'off' }));
    },
  },
  {
    id: '0200-pbx-config-languages',
    async up(db) {
      await fill(db, ['extension', 'trunk', 'inbound_route'], (body) => absent(body, 'language', null));
      await fill(db, ['inbound_route'], (body) => absent(body, 'owner_seconds', null));
      await fill(db, ['settings'], (body) => absent(body, 'language', 'en'));
    },
  },
  {
    id: '0210-pbx-config-trunk-servers',
    async up(db) {
      await fill(db, ['trunk'], (body) => absent(body, 'srv', false));
      await fill(db, ['extension', 'trunk'], (body) => absent(body, 'media_address', null));
    },
  },
  {
    id: '0220-pbx-config-engines',
    async up(db) {
      await fill(db, ['extension', 'queue'], (body) => absent(body, 'engine', null));
    },
  },
  { id: '0230-pbx-config-holders', up: addFirstHolders },
  {
    id: '0240-pbx-config-fields',
    async up(db) {
      await fill(db, ['settings'], (body) =>
        absent(absent(body, 'customer_languages', []), 'sign_out_hours', 12),
      );
      await fill(db, ['time_condition'], (body) => absent(body, 'switched_by', []));
      await fill(db, ['extension'], (body) => absent(body, 'location', null));
    },
  },
];
