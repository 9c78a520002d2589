import type { Generated, Transaction } from 'kysely';
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

export const migrations: readonly Migration[] = [
  {
    id: '0100-pbx-config',
    async up({ schema }) {
      await schema
        .createTable('config_identities')
        .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('key', 'text', (c) => c.notNull())
        .execute();
      await schema
        .createTable('config_versions')
        .addColumn('version', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('author', 'text', (c) => c.notNull())
        .addColumn('comment', 'text')
        .addColumn('at', 'bigint', (c) => c.notNull())
        .addColumn('objects', 'integer', (c) => c.notNull())
        .execute();
      await schema
        .createTable('config_objects')
        .addColumn('id', 'integer', (c) => c.notNull())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('key', 'text', (c) => c.notNull())
        .addColumn('body', 'text', (c) => c.notNull())
        .addColumn('since_version', 'integer', (c) => c.notNull())
        .addColumn('until_version', 'integer')
        .addPrimaryKeyConstraint('config_objects_key', ['kind', 'key', 'since_version'])
        .execute();
      await schema
        .createTable('config_draft')
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('key', 'text', (c) => c.notNull())
        .addColumn('id', 'integer')
        .addColumn('body', 'text')
        .addColumn('author', 'text', (c) => c.notNull())
        .addColumn('at', 'bigint', (c) => c.notNull())
        .addPrimaryKeyConstraint('config_draft_key', ['kind', 'key'])
        .execute();
      await schema
        .createTable('config_holders')
        .addColumn('extension', 'text', (c) => c.notNull())
        .addColumn('person', 'integer', (c) => c.notNull())
        .addColumn('since_ms', 'bigint', (c) => c.notNull())
        .addPrimaryKeyConstraint('config_holders_key', ['extension', 'since_ms'])
        .execute();
      await schema
        .createTable('config_applies')
        .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('state', 'text', (c) => c.notNull())
        .addColumn('open', 'integer', (c) => c.notNull())
        .addColumn('files', 'text', (c) => c.notNull())
        .addColumn('body', 'text', (c) => c.notNull())
        .addColumn('at', 'bigint', (c) => c.notNull())
        .execute();
      await schema
        .createTable('config_files')
        .addColumn('name', 'text', (c) => c.primaryKey())
        .addColumn('hash', 'text')
        .addColumn('pending', 'text')
        .addColumn('noticed_at', 'bigint')
        .addColumn('hand_written', 'integer', (c) => c.notNull())
        .execute();
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
];
