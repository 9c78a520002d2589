import { sql } from 'kysely';
import type { Generated } from 'kysely';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { createIndex, createTable } from '../../core/schema.ts';
import { createTextIndex } from '../../core/text-index.ts';
import type { Migration } from '../../ports/store.ts';

/** The person id of a shared customer. */
export const EVERYONE = 0;

export interface CustomersTable {
  id: Generated<number>;
  /** Person of a personal customer, since an extension may get another owner; 0: shared. */
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
      // Ids are never reused, because a program may still have the id of a deleted customer.
      await createTable(db.schema)`customers (
        id integer primary key autoincrement, person_id integer not null, kind text not null, name text not null,
        company text, numbers text not null, emails text not null, note text, owner text, vip integer not null,
        blocked integer not null, source text not null, updated_at integer not null, version integer not null)`;
      await createIndex(db.schema)`customers_person on customers (person_id, id)`;
      await createTable(db.schema)`customer_numbers (
        key text not null, customer_id integer not null,
        constraint customer_numbers_key primary key (key, customer_id))`;
      await createIndex(db.schema)`customer_numbers_customer on customer_numbers (customer_id)`;
      await createTable(db.schema)`customer_texts (id integer primary key, text text not null)`;
      await createTextIndex(db, 'customer_texts');
    },
  },
  {
    id: '0130-phonebook-sources',
    async up(db) {
      await db.schema.alterTable('customers').addColumn('external_id', 'text').execute();
      await createIndex(db.schema)`customers_external on customers (external_id, person_id)`;
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
