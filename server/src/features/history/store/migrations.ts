import type { Transaction } from 'kysely';
import { createTextIndex } from '../../../core/text-index.ts';
import type { Migration } from '../../../ports/store.ts';

type Schema = Transaction<unknown>['schema'];

/** Call records, and the conversation each belongs to. */
async function createRecords(schema: Schema): Promise<void> {
  await schema
    .createTable('history_loose')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('call', 'text', (c) => c.notNull())
    .addColumn('records', 'blob', (c) => c.notNull())
    .execute();
  await schema.createIndex('history_loose_call').on('history_loose').column('call').execute();
  await schema
    .createTable('history_packs')
    .addColumn('root', 'text', (c) => c.notNull())
    .addColumn('records', 'blob', (c) => c.notNull())
    .execute();
  await schema.createIndex('history_packs_root').on('history_packs').column('root').execute();
  await schema
    .createTable('history_channels')
    .addColumn('channel', 'text', (c) => c.notNull())
    .addColumn('call', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('history_channels_key', ['channel', 'call'])
    .execute();
  await schema
    .createTable('history_calls')
    .addColumn('call', 'text', (c) => c.primaryKey())
    .addColumn('root', 'text', (c) => c.notNull())
    .execute();
  await schema.createIndex('history_calls_root').on('history_calls').column('root').execute();
  await schema
    .createTable('history_conversations')
    .addColumn('root', 'text', (c) => c.primaryKey())
    .addColumn('last_us', 'bigint', (c) => c.notNull())
    .addColumn('closing', 'integer', (c) => c.notNull())
    .addColumn('built', 'integer', (c) => c.notNull())
    .addColumn('built_by', 'integer', (c) => c.notNull())
    .execute();
  await schema
    .createIndex('history_conversations_open')
    .on('history_conversations')
    .columns(['built', 'last_us'])
    .execute();
  await schema
    .createTable('history_malformed')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('seen_at', 'bigint', (c) => c.notNull())
    .addColumn('line', 'text', (c) => c.notNull())
    .execute();
  await schema
    .createTable('history_facts')
    .addColumn('key', 'text', (c) => c.primaryKey())
    .addColumn('value', 'text', (c) => c.notNull())
    .execute();
  // A rebuild goes by time alone.
  await schema
    .createIndex('history_conversations_last')
    .on('history_conversations')
    .columns(['last_us', 'root'])
    .execute();
  await schema
    .createTable('history_tombstones')
    .addColumn('call', 'text', (c) => c.notNull())
    .addColumn('placeholder', 'text', (c) => c.notNull())
    .addColumn('tokens', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('history_tombstones_key', ['call', 'placeholder'])
    .execute();
  await schema
    .createTable('history_test_channels')
    .addColumn('channel', 'text', (c) => c.primaryKey())
    .addColumn('at_ms', 'bigint', (c) => c.notNull())
    .execute();
}
/** One extension's part in a conversation. */
async function createRows(schema: Schema): Promise<void> {
  await schema
    .createTable('history_rows')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('root', 'text', (c) => c.notNull())
    .addColumn('extension', 'text', (c) => c.notNull())
    .addColumn('direction', 'text', (c) => c.notNull())
    .addColumn('started_us', 'bigint', (c) => c.notNull())
    .addColumn('answered_us', 'bigint')
    .addColumn('ended_us', 'bigint', (c) => c.notNull())
    .addColumn('party', 'text', (c) => c.notNull())
    .addColumn('party_name', 'text', (c) => c.notNull())
    .addColumn('search', 'text', (c) => c.notNull())
    .addColumn('ring_sec', 'integer', (c) => c.notNull())
    .addColumn('wait_seconds', 'integer', (c) => c.notNull())
    .addColumn('talk_seconds', 'integer', (c) => c.notNull())
    .addColumn('hold_seconds', 'integer', (c) => c.notNull())
    .addColumn('duration', 'integer', (c) => c.notNull())
    .addColumn('disposition', 'text', (c) => c.notNull())
    .addColumn('channel', 'text', (c) => c.notNull())
    .addColumn('dstchannel', 'text', (c) => c.notNull())
    .addColumn('device', 'text')
    .addColumn('queue', 'text')
    .addColumn('hidden', 'integer', (c) => c.notNull())
    .addUniqueConstraint('history_rows_party', ['root', 'extension'])
    .execute();
  // One index for each way a page is asked for (own view or all, one direction or all); those by direction cover the stats.
  for (const [name, ...columns] of [
    ['own', 'extension', 'hidden', 'started_us', 'id'],
    ['own_direction', 'extension', 'hidden', 'direction', 'started_us', 'id', 'talk_seconds'],
    ['all', 'extension', 'started_us', 'id'],
    ['all_direction', 'extension', 'direction', 'started_us', 'id', 'talk_seconds'],
  ] as const) {
    await schema
      .createIndex(`history_rows_${name}`)
      .on('history_rows')
      .columns([...columns])
      .execute();
  }
  await schema
    .createTable('history_terms')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('text', 'text', (c) => c.notNull().unique())
    .execute();
  // Everything that a search and its stats need.
  await schema
    .createIndex('history_rows_search')
    .on('history_rows')
    .columns(['search', 'extension', 'started_us', 'id', 'hidden', 'direction', 'talk_seconds'])
    .execute();
}
/** Conversations, their search keys, and the feed of their changes. */
async function createConversations(schema: Schema): Promise<void> {
  await schema
    .createTable('conversations')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('root', 'text', (c) => c.notNull().unique())
    .addColumn('change', 'bigint', (c) => c.notNull().unique())
    .addColumn('revision', 'integer', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('built_by', 'integer', (c) => c.notNull())
    .addColumn('direction', 'text', (c) => c.notNull())
    .addColumn('disposition', 'text', (c) => c.notNull())
    .addColumn('started_ms', 'bigint', (c) => c.notNull())
    .addColumn('answered_ms', 'bigint')
    .addColumn('ended_ms', 'bigint', (c) => c.notNull())
    .addColumn('talk_ms', 'bigint', (c) => c.notNull())
    .addColumn('wait_ms', 'bigint', (c) => c.notNull())
    .addColumn('search', 'text', (c) => c.notNull())
    .addColumn('record', 'blob', (c) => c.notNull())
    .addColumn('cells', 'text', (c) => c.notNull())
    .addColumn('fingerprint', 'text', (c) => c.notNull())
    .addColumn('erased', 'integer', (c) => c.notNull())
    .execute();
  await schema
    .createTable('conversation_outbox')
    .addColumn('change', 'bigint', (c) => c.primaryKey())
    .addColumn('root', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('revision', 'integer', (c) => c.notNull())
    .execute();
  await schema
    .createTable('conversation_merged')
    .addColumn('root', 'text', (c) => c.primaryKey())
    .addColumn('change', 'bigint', (c) => c.notNull().unique())
    .execute();
  await schema
    .createTable('history_counters')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('value', 'bigint', (c) => c.notNull())
    .execute();
  for (const [name, ...columns] of [
    ['started'],
    ['direction', 'direction'],
    ['disposition', 'disposition'],
    ['state', 'state'],
  ] as const) {
    await schema
      .createIndex(`conversations_${name}`)
      .on('conversations')
      .columns([...columns, 'started_ms', 'id'])
      .execute();
  }
  await schema
    .createTable('conversation_keys')
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('value', 'text', (c) => c.notNull())
    .addColumn('started_ms', 'bigint', (c) => c.notNull())
    .addColumn('conversation', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('conversation_keys_key', ['kind', 'value', 'started_ms', 'conversation'])
    .execute();
  await schema
    .createIndex('conversation_keys_conversation')
    .on('conversation_keys')
    .column('conversation')
    .execute();
  await schema
    .createTable('conversation_terms')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('value', 'text', (c) => c.notNull())
    .addColumn('text', 'text', (c) => c.notNull())
    .addUniqueConstraint('conversation_terms_once', ['kind', 'value', 'text'])
    .execute();
}
/** Annotations of people and phones, and findings of the proof. */
async function createAdditions(schema: Schema): Promise<void> {
  await schema
    .createTable('conversation_notes')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('call', 'text', (c) => c.notNull())
    .addColumn('at_ms', 'bigint', (c) => c.notNull())
    .addColumn('by', 'text', (c) => c.notNull())
    .addColumn('text', 'text', (c) => c.notNull())
    .execute();
  await schema.createIndex('conversation_notes_call').on('conversation_notes').column('call').execute();
  await schema
    .createTable('conversation_outcomes')
    .addColumn('call', 'text', (c) => c.primaryKey())
    .addColumn('code', 'text', (c) => c.notNull())
    .addColumn('text', 'text', (c) => c.notNull())
    .addColumn('at_ms', 'bigint', (c) => c.notNull())
    .addColumn('by', 'text', (c) => c.notNull())
    .execute();
  await schema
    .createTable('conversation_wrap_ups')
    .addColumn('call', 'text', (c) => c.notNull())
    .addColumn('extension', 'text', (c) => c.notNull())
    .addColumn('queue', 'text', (c) => c.notNull())
    .addColumn('from_ms', 'bigint', (c) => c.notNull())
    .addColumn('to_ms', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('conversation_wrap_ups_key', ['call', 'extension', 'queue', 'from_ms'])
    .execute();
  await schema
    .createTable('conversation_quality')
    .addColumn('call', 'text', (c) => c.notNull())
    .addColumn('extension', 'text', (c) => c.notNull())
    .addColumn('leg_id', 'text', (c) => c.notNull())
    .addColumn('at_ms', 'bigint', (c) => c.notNull())
    .addColumn('device', 'text', (c) => c.notNull())
    .addColumn('figures', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('conversation_quality_key', ['call', 'extension', 'leg_id'])
    .execute();
  await schema
    .createTable('history_findings')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull().unique())
    .addColumn('at_ms', 'bigint', (c) => c.notNull())
    .addColumn('data', 'text', (c) => c.notNull())
    .addColumn('published', 'integer', (c) => c.notNull())
    .execute();
  await schema.createIndex('history_findings_at').on('history_findings').column('at_ms').execute();
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-history',
    async up(db) {
      await createRecords(db.schema);
      await createRows(db.schema);
      await createConversations(db.schema);
      await createAdditions(db.schema);
      for (const table of ['conversation_terms', 'history_terms']) await createTextIndex(db, table);
    },
  },
];
