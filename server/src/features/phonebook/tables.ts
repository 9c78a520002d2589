import { sql } from 'kysely';
import type { Generated } from 'kysely';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { createTextIndex } from '../../core/text-index.ts';
import type { Migration } from '../../ports/store.ts';

/** The person id of a shared customer. */
export const EVERYONE = 0;

export interface CustomersTable {
  id: Generated<number>;
  /** Whose personal customer it is, because an extension gets another owner one day; 0: shared. */
  person_id: number;
  kind: Customer['kind'];
  name: string;
  company: string | null;
  /** JSON, as on the wire. */
  numbers: string;
  /** JSON. */
  emails: string;
  note: string | null;
  owner: string | null;
  language: string | null;
  vip: number;
  blocked: number;
  source: string;
  /** Id at its source; null for one that has none. */
  external_id: string | null;
  url: string | null;
  updated_at: number;
  version: number;
}
export interface Tables {
  customers: CustomersTable;
  /** `key`: the number in E.164, else its digits. */
  customer_numbers: { key: string; customer_id: number };
  /** Searched by core/text-index.ts. */
  customer_texts: { id: number; text: string };
}
export const migrations: readonly Migration[] = [
  {
    id: '0110-phonebook',
    async up(db) {
      await db.schema
        .createTable('customers')
        // Never given out twice: a program may still ask for one that is gone.
        .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('person_id', 'integer', (c) => c.notNull())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('company', 'text')
        .addColumn('numbers', 'text', (c) => c.notNull())
        .addColumn('emails', 'text', (c) => c.notNull())
        .addColumn('note', 'text')
        .addColumn('owner', 'text')
        .addColumn('vip', 'integer', (c) => c.notNull())
        .addColumn('blocked', 'integer', (c) => c.notNull())
        .addColumn('source', 'text', (c) => c.notNull())
        .addColumn('updated_at', 'integer', (c) => c.notNull())
        .addColumn('version', 'integer', (c) => c.notNull())
        .execute();
      await db.schema.createIndex('customers_person').on('customers').columns(['person_id', 'id']).execute();
      await db.schema
        .createTable('customer_numbers')
        .addColumn('key', 'text', (c) => c.notNull())
        .addColumn('customer_id', 'integer', (c) => c.notNull())
        .addPrimaryKeyConstraint('customer_numbers_key', ['key', 'customer_id'])
        .execute();
      await db.schema
        .createIndex('customer_numbers_customer')
        .on('customer_numbers')
        .column('customer_id')
        .execute();
      await db.schema
        .createTable('customer_texts')
        .addColumn('id', 'integer', (c) => c.primaryKey())
        .addColumn('text', 'text', (c) => c.notNull())
        .execute();
      await createTextIndex(db, 'customer_texts');
    },
  },
  {
    id: '0130-phonebook-sources',
    async up(db) {
      await db.schema.alterTable('customers').addColumn('external_id', 'text').execute();
      await db.schema
        .createIndex('customers_external')
        .on('customers')
        .columns(['external_id', 'person_id'])
        .execute();
    },
  },
  {
    id: '0190-phonebook-pages',
    async up(db) {
      await db.schema.alterTable('customers').addColumn('url', 'text').execute();
    },
  },
  {
    id: '0200-phonebook-blocked',
    async up(db) {
      await db.schema
        .createIndex('customers_blocked')
        .on('customers')
        .columns(['person_id', 'id'])
        .where(sql<boolean>`blocked = 1`)
        .execute();
    },
  },
  {
    id: '0250-phonebook-language',
    async up(db) {
      await db.schema.alterTable('customers').addColumn('language', 'text').execute();
    },
  },
];
