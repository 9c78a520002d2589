import { sql } from 'kysely';
import type { Generated } from 'kysely';
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
      for (const table of ['config_objects', 'config_draft'])
        await sql`update ${sql.table(table)} set body = json_set(body, '$.srtp', 'off')
          where kind in ('extension', 'trunk') and body is not null`.execute(db);
    },
  },
  {
    id: '0200-pbx-config-languages',
    async up(db) {
      for (const table of ['config_objects', 'config_draft']) {
        await sql`update ${sql.table(table)} set body = json_insert(body, '$.language', null)
          where kind in ('extension', 'trunk', 'inbound_route') and body is not null`.execute(db);
        await sql`update ${sql.table(table)} set body = json_insert(body, '$.owner_seconds', null)
          where kind = 'inbound_route' and body is not null`.execute(db);
        await sql`update ${sql.table(table)} set body = json_insert(body, '$.language', 'en')
          where kind = 'settings' and body is not null`.execute(db);
      }
    },
  },
];
