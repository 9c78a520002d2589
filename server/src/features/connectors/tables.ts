import { sql } from 'kysely';
import type { Generated } from 'kysely';
import type { EntryState, EntryTask } from '@offhook/contract/connectors.ts';
import { createIndex, createTable } from '../../core/schema.ts';
import type { Migration } from '../../ports/store.ts';

export interface ConnectorsTable {
  id: Generated<number>;
  title: string;
  /** Key of its file; null for an uploaded one. */
  file: string | null;
  /** The uploaded YAML; null where `file` names one. */
  source: string | null;
  /** Values of the settings as JSON: those without secrets, and the secrets. */
  settings: string;
  secrets: string;
  enabled: number;
  created_at: number;
  created_by: string;
  /** Conversations that began before this moment get no entry; ms since 1970. */
  from_ms: number;
  /** Position in the feed of changes; null: its beginning. */
  cursor: string | null;
  /** Conversations before this time may have an entry that the ledger lacks, after a loss of feed or ledger; ms. */
  doubt_ms: number;
}
/** The ledger: a row for each conversation that has, had or should have an entry, and for each of its recordings. */
export interface EntriesTable {
  id: Generated<number>;
  connector: number;
  conversation: string;
  /** Id of the recording that is attached to the entry; empty for the entry itself. */
  recording: string;
  state: EntryState;
  /** Task in progress or waiting; null if there is none. */
  task: EntryTask | null;
  /** 0: the conversation should have no entry, because it was merged or erased, or the file does not want it. */
  wanted: number;
  /** Id of the entry in their system. */
  remote_id: string | null;
  /** Id of the customer in their system. */
  customer_id: string | null;
  /** Newest change of the feed, and the change whose state the entry holds. */
  wanted_change: number;
  sent_change: number;
  /** Digest of the content of the entry: a change with the same digest is not sent. */
  sent_hash: string | null;
  attempts: number;
  first_at: number | null;
  last_at: number | null;
  next_at: number;
  status: number | null;
  words: string | null;
}
/** The last sync of a connector that reached its last page. */
export interface SyncsTable {
  connector: number;
  cursor: string | null;
  /** Its start; null if there was none. */
  at: number | null;
  customers: number;
  /** Why the last sync that read all customers failed; null after one that succeeded. */
  whole_words: string | null;
  /** Number of stored customers that the last refused list lacked; null after a list that was taken over. */
  whole_missing: number | null;
}
export interface Tables {
  connectors: ConnectorsTable;
  connector_syncs: SyncsTable;
  /** Newest refresh token of a connector, if its system replaces the token at each use. */
  connector_tokens: { connector: number; refresh_token: string };
  connector_entries: EntriesTable;
  /** Messages of the systems whose actions were performed. `message`: their id. */
  connector_inbox: { connector: number; message: string; at: number };
}
export const migrations: readonly Migration[] = [
  {
    id: '0120-connectors',
    async up(db) {
      await createTable(db.schema)`connectors (
        id integer primary key autoincrement, title text not null, file text, source text, settings text not null,
        secrets text not null, enabled integer not null, created_at integer not null, created_by text not null,
        from_ms integer not null, cursor text, doubt_ms integer not null)`;
      await createTable(db.schema)`connector_entries (
        id integer primary key autoincrement, connector integer not null, conversation text not null,
        state text not null, task text, wanted integer not null, remote_id text, customer_id text,
        wanted_change integer not null, sent_change integer not null, sent_hash text, attempts integer not null,
        first_at integer, last_at integer, next_at integer not null, status integer, words text,
        constraint connector_entries_conversation unique (connector, conversation))`;
      await createIndex(db.schema)`connector_entries_due on connector_entries (connector, state, next_at)`;
    },
  },
  {
    id: '0140-connector-tokens',
    async up(db) {
      await createTable(db.schema)`connector_tokens (
        connector integer primary key, refresh_token text not null)`;
    },
  },
  {
    id: '0141-connector-syncs',
    async up(db) {
      await createTable(db.schema)`connector_syncs (
        connector integer primary key, cursor text, at integer, customers integer not null)`;
    },
  },
  {
    id: '0142-connector-inbox',
    async up(db) {
      await createTable(db.schema)`connector_inbox (
        connector integer not null, message text not null, at integer not null,
        constraint connector_inbox_message primary key (connector, message))`;
    },
  },
  {
    // SQLite cannot change a constraint, so the rows are copied into a new table.
    id: '0143-connector-recordings',
    async up(db) {
      await db.schema.alterTable('connector_entries').renameTo('connector_entries_before').execute();
      await db.schema.dropIndex('connector_entries_due').execute();
      await createTable(db.schema)`connector_entries (
        id integer primary key autoincrement, connector integer not null, conversation text not null,
        recording text not null default '', state text not null, task text, wanted integer not null, remote_id text,
        customer_id text, wanted_change integer not null, sent_change integer not null, sent_hash text,
        attempts integer not null, first_at integer, last_at integer, next_at integer not null, status integer,
        words text, constraint connector_entries_recording unique (connector, conversation, recording))`;
      await sql`insert into connector_entries (id, connector, conversation, state, task, wanted, remote_id, customer_id,
          wanted_change, sent_change, sent_hash, attempts, first_at, last_at, next_at, status, words)
        select id, connector, conversation, state, task, wanted, remote_id, customer_id, wanted_change, sent_change,
          sent_hash, attempts, first_at, last_at, next_at, status, words from connector_entries_before`.execute(
        db,
      );
      await db.schema.dropTable('connector_entries_before').execute();
      await createIndex(db.schema)`connector_entries_due on connector_entries (connector, state, next_at)`;
    },
  },
  {
    id: '0144-connector-whole-lists',
    async up(db) {
      await db.schema.alterTable('connector_syncs').addColumn('whole_words', 'text').execute();
      await db.schema.alterTable('connector_syncs').addColumn('whole_missing', 'integer').execute();
    },
  },
];
