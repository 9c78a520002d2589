import { seedHolders } from './holders.ts';
import { purgeSecrets } from './purge-secrets.ts';
import { journalMigrations } from './apply/journal.ts';
import type { Migration } from '../../ports/store.ts';
import { moveToObjects } from './move-to-objects.ts';

export const migrations: readonly Migration[] = [
  {
    id: '0001-site',
    async up(db) {
      const { schema } = db;
      await schema
        .createTable('people')
        .addColumn('id', 'integer', (c) => c.primaryKey())
        .addColumn('extension', 'text', (c) => c.notNull().unique())
        .addColumn('username', 'text', (c) => c.notNull().unique())
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('email', 'text')
        .addColumn('mobile', 'text')
        .addColumn('department', 'text')
        .addColumn('level', 'text', (c) => c.notNull())
        .addColumn('active', 'integer', (c) => c.notNull())
        .addColumn('sip_password', 'text', (c) => c.notNull())
        .addColumn('voicemail', 'integer', (c) => c.notNull())
        .addColumn('voicemail_pin', 'text', (c) => c.notNull())
        .execute();
      await schema
        .createTable('endpoints')
        .addColumn('name', 'text', (c) => c.primaryKey())
        .addColumn('person_id', 'integer', (c) => c.notNull().references('people.id').onDelete('cascade'))
        .addColumn('kind', 'text', (c) => c.notNull())
        .addUniqueConstraint('endpoints_one_of_each_kind', ['person_id', 'kind'])
        .execute();
      await schema
        .createTable('queues')
        .addColumn('id', 'integer', (c) => c.primaryKey())
        .addColumn('name', 'text', (c) => c.notNull().unique())
        .addColumn('number', 'text', (c) => c.notNull().unique())
        .addColumn('title', 'text', (c) => c.notNull())
        .addColumn('strategy', 'text', (c) => c.notNull())
        .addColumn('ring_seconds', 'integer', (c) => c.notNull())
        .addColumn('wrap_up_seconds', 'integer', (c) => c.notNull())
        .addColumn('max_wait_seconds', 'integer', (c) => c.notNull())
        .execute();
      await schema
        .createTable('queue_agents')
        .addColumn('queue_id', 'integer', (c) => c.notNull().references('queues.id').onDelete('cascade'))
        .addColumn('person_id', 'integer', (c) => c.notNull().references('people.id').onDelete('cascade'))
        .addColumn('static', 'integer', (c) => c.notNull())
        .addPrimaryKeyConstraint('queue_agents_key', ['queue_id', 'person_id'])
        .execute();
      await schema
        .createTable('pause_reasons')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('position', 'integer', (c) => c.notNull())
        .execute();
      await schema
        .createTable('services')
        .addColumn('number', 'text', (c) => c.primaryKey())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('title', 'text', (c) => c.notNull())
        .execute();
      await schema
        .createTable('pbx_settings')
        .addColumn('key', 'text', (c) => c.primaryKey())
        .addColumn('value', 'text', (c) => c.notNull())
        .execute();
    },
  },
  {
    id: '0002-reasons',
    async up(db) {
      const { schema } = db;
      await schema
        .alterTable('pause_reasons')
        .addColumn('paid', 'integer', (c) => c.notNull().defaultTo(1))
        .execute();
      await schema.alterTable('pause_reasons').addColumn('longest_seconds', 'integer').execute();
      await schema
        .alterTable('pause_reasons')
        .addColumn('supervisor_only', 'integer', (c) => c.notNull().defaultTo(0))
        .execute();
    },
  },
  {
    id: '0003-trunks',
    async up(db) {
      const { schema } = db;
      await schema
        .createTable('trunks')
        .addColumn('id', 'integer', (c) => c.primaryKey())
        .addColumn('name', 'text', (c) => c.notNull().unique())
        .addColumn('title', 'text', (c) => c.notNull())
        .addColumn('host', 'text', (c) => c.notNull())
        .addColumn('port', 'integer', (c) => c.notNull())
        .addColumn('transport', 'text', (c) => c.notNull())
        .addColumn('username', 'text')
        .addColumn('password', 'text')
        .addColumn('register', 'integer', (c) => c.notNull())
        .addColumn('codecs', 'text', (c) => c.notNull())
        .addColumn('outbound_number', 'text')
        .execute();
      await schema
        .createTable('inbound_routes')
        .addColumn('trunk_id', 'integer', (c) => c.notNull().references('trunks.id').onDelete('cascade'))
        .addColumn('number', 'text', (c) => c.notNull())
        .addColumn('prefix', 'integer', (c) => c.notNull())
        .addColumn('to_number', 'text')
        .addColumn('to_trunk_id', 'integer', (c) => c.references('trunks.id').onDelete('cascade'))
        .addColumn('strip', 'integer', (c) => c.notNull())
        .addColumn('prepend', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint('inbound_routes_key', ['trunk_id', 'number', 'prefix'])
        .execute();
      await schema
        .createTable('outbound_routes')
        .addColumn('prefix', 'text', (c) => c.notNull())
        .addColumn('position', 'integer', (c) => c.notNull())
        .addColumn('trunk_id', 'integer', (c) => c.notNull().references('trunks.id').onDelete('cascade'))
        .addColumn('strip', 'integer', (c) => c.notNull())
        .addColumn('prepend', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint('outbound_routes_key', ['prefix', 'position'])
        .execute();
    },
  },
  {
    id: '0004-forward',
    async up(db) {
      await db.schema
        .alterTable('people')
        .addColumn('forward_outside', 'integer', (c) => c.notNull().defaultTo(0))
        .execute();
    },
  },
  {
    id: '0005-queue-ends',
    async up(db) {
      const { schema } = db;
      for (const [column, value] of [
        ['max_callers', 0],
        ['join_when_empty', 1],
        ['leave_when_empty', 0],
      ] as const) {
        await schema
          .alterTable('queues')
          .addColumn(column, 'integer', (c) => c.notNull().defaultTo(value))
          .execute();
      }
      for (const column of ['exit_key', 'exit_number'])
        await schema.alterTable('queues').addColumn(column, 'text').execute();
      for (const table of ['queues', 'people']) {
        await schema
          .alterTable(table)
          .addColumn('recording', 'text', (c) => c.notNull().defaultTo('never'))
          .execute();
      }
    },
  },
  {
    id: '0006-objects',
    async up(db) {
      const { schema } = db;
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
      await moveToObjects(db);
    },
  },
  ...journalMigrations,
  {
    id: '0009-no-secrets-in-versions',
    up: purgeSecrets,
  },
  {
    id: '0010-holders',
    up: seedHolders,
  },
];
