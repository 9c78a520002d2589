import { sql } from 'kysely';
import type { Transaction } from 'kysely';
import { createIndex, createTable } from '../../../core/schema.ts';
import { createTextIndex } from '../../../core/text-index.ts';
import type { Migration } from '../../../ports/store.ts';

type Schema = Transaction<unknown>['schema'];

/** Call records, and the conversation each belongs to. */
async function createRecords(schema: Schema): Promise<void> {
  await createTable(schema)`history_loose (
    id integer primary key autoincrement, call text not null, records blob not null)`;
  await createIndex(schema)`history_loose_call on history_loose (call)`;
  await createTable(schema)`history_packs (root text not null, records blob not null)`;
  await createIndex(schema)`history_packs_root on history_packs (root)`;
  await createTable(schema)`history_channels (
    channel text not null, call text not null, constraint history_channels_key primary key (channel, call))`;
  await createTable(schema)`history_calls (call text primary key, root text not null)`;
  await createIndex(schema)`history_calls_root on history_calls (root)`;
  await createTable(schema)`history_conversations (
    root text primary key, last_us bigint not null, closing integer not null, built integer not null,
    built_by integer not null)`;
  await createIndex(schema)`history_conversations_open on history_conversations (built, last_us)`;
  await createTable(schema)`history_malformed (
    id integer primary key autoincrement, seen_at bigint not null, line text not null)`;
  await createTable(schema)`history_facts (key text primary key, value text not null)`;
  // A rebuild reads by time, whatever the state.
  await createIndex(schema)`history_conversations_last on history_conversations (last_us, root)`;
  await createTable(schema)`history_tombstones (
    call text not null, placeholder text not null, tokens text not null,
    constraint history_tombstones_key primary key (call, placeholder))`;
  await createTable(schema)`history_test_channels (channel text primary key, at_ms bigint not null)`;
}
/** One extension's part in a conversation. */
async function createRows(schema: Schema): Promise<void> {
  await createTable(schema)`history_rows (
    id integer primary key autoincrement, root text not null, extension text not null, direction text not null,
    started_us bigint not null, answered_us bigint, ended_us bigint not null, party text not null,
    party_name text not null, search text not null, ring_sec integer not null, wait_seconds integer not null,
    talk_seconds integer not null, hold_seconds integer not null, duration integer not null,
    disposition text not null, channel text not null, dstchannel text not null, device text, queue text,
    hidden integer not null, constraint history_rows_party unique (root, extension))`;
  // One index for each kind of page (own view or all, one direction or all); those by direction also cover the stats.
  await createIndex(schema)`history_rows_own on history_rows (extension, hidden, started_us, id)`;
  await createIndex(schema)`
    history_rows_own_direction on history_rows (extension, hidden, direction, started_us, id, talk_seconds)`;
  await createIndex(schema)`history_rows_all on history_rows (extension, started_us, id)`;
  await createIndex(schema)`
    history_rows_all_direction on history_rows (extension, direction, started_us, id, talk_seconds)`;
  await createTable(schema)`history_terms (id integer primary key autoincrement, text text not null unique)`;
  // Covers all columns that a search and its stats read.
  await createIndex(schema)`
    history_rows_search on history_rows (search, extension, started_us, id, hidden, direction, talk_seconds)`;
}
/** Conversations, their search keys, and the feed of their changes. */
async function createConversations(schema: Schema): Promise<void> {
  await createTable(schema)`conversations (
    id integer primary key autoincrement, root text not null unique, change bigint not null unique,
    revision integer not null, state text not null, built_by integer not null, direction text not null,
    disposition text not null, started_ms bigint not null, answered_ms bigint, ended_ms bigint not null,
    talk_ms bigint not null, wait_ms bigint not null, search text not null, record blob not null,
    cells text not null, fingerprint text not null, erased integer not null)`;
  await createTable(schema)`conversation_outbox (
    change bigint primary key, root text not null, kind text not null, revision integer not null)`;
  await createTable(schema)`conversation_merged (root text primary key, change bigint not null unique)`;
  await createTable(schema)`history_counters (name text primary key, value bigint not null)`;
  await createIndex(schema)`conversations_started on conversations (started_ms, id)`;
  await createIndex(schema)`conversations_direction on conversations (direction, started_ms, id)`;
  await createIndex(schema)`conversations_disposition on conversations (disposition, started_ms, id)`;
  await createIndex(schema)`conversations_state on conversations (state, started_ms, id)`;
  await createTable(schema)`conversation_keys (
    kind text not null, value text not null, started_ms bigint not null, conversation integer not null,
    constraint conversation_keys_key primary key (kind, value, started_ms, conversation))`;
  await createIndex(schema)`conversation_keys_conversation on conversation_keys (conversation)`;
  await createTable(schema)`conversation_terms (
    id integer primary key autoincrement, kind text not null, value text not null, text text not null,
    constraint conversation_terms_once unique (kind, value, text))`;
}
/** Annotations of people and phones, and findings of the proof. */
async function createAdditions(schema: Schema): Promise<void> {
  await createTable(schema)`conversation_notes (
    id integer primary key autoincrement, call text not null, at_ms bigint not null, by text not null,
    text text not null)`;
  await createIndex(schema)`conversation_notes_call on conversation_notes (call)`;
  await createTable(schema)`conversation_outcomes (
    call text primary key, code text not null, text text not null, at_ms bigint not null, by text not null)`;
  await createTable(schema)`conversation_wrap_ups (
    call text not null, extension text not null, queue text not null, from_ms bigint not null, to_ms bigint not null,
    constraint conversation_wrap_ups_key primary key (call, extension, queue, from_ms))`;
  await createTable(schema)`conversation_quality (
    call text not null, extension text not null, leg_id text not null, at_ms bigint not null, device text not null,
    figures text not null, constraint conversation_quality_key primary key (call, extension, leg_id))`;
  await createTable(schema)`history_findings (
    id integer primary key autoincrement, kind text not null, key text not null unique, at_ms bigint not null,
    data text not null, published integer not null)`;
  await createIndex(schema)`history_findings_at on history_findings (at_ms)`;
}
/** A conversation is found by the time of its start and looked up by that of its parts, so long ones have an index of their own. */
export const LONG_MS = 3_600_000;
/** The text of the index: a planner uses it for no other text. */
export const isLong = sql<boolean>`(ended_ms - started_ms > ${sql.lit(LONG_MS)} or state = 'open')`;

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
  {
    id: '0210-history-long',
    up: ({ schema }) =>
      schema
        .createIndex('conversations_long')
        .on('conversations')
        .columns(['started_ms', 'ended_ms', 'state', 'root', 'id'])
        .where(isLong)
        .execute(),
  },
  {
    id: '0220-history-sip-serials',
    async up(db) {
      await db.schema.alterTable('history_channels').addColumn('sip_serial', 'bigint').execute();
      // Most of its channels have no SIP.
      await sql`delete from history_test_channels`.execute(db);
    },
  },
  {
    // Packing and the search for lost calls go from conversations to their channels.
    id: '0230-history-channels-by-call',
    up: ({ schema }) =>
      schema.createIndex('history_channels_call').on('history_channels').column('call').execute(),
  },
];
