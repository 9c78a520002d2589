import { sql } from 'kysely';
import type { Generated, Transaction } from 'kysely';
import { createTextIndex } from '../../core/text-index.ts';
import type { Migration } from '../../ports/store.ts';
import { pack } from './ingest/packs.ts';

/** Characters of a text that is searched; an index takes less than a caller may send. */
export const TEXT_LIMIT = 256;

/** Call records of one call that came together: KnownRecords as a JSON array, compressed (`ingest/packs.ts`). */
interface LooseRow {
  id: Generated<number>;
  call: string;
  records: Uint8Array;
}
/** One channel seen in one call; in a second call it joins both into one conversation. */
interface ChannelRow {
  channel: string;
  call: string;
}
interface CallRow {
  call: string;
  /** The conversation, by its first call. */
  root: string;
}
export interface ConversationRow {
  root: string;
  /** Microseconds since 1970 of its newest record. */
  last_us: number;
  /** 1 from the first record that says a call of it is over. */
  closing: number;
  /** Whether its rows are written (`BUILT`); they are written again when more comes to light. */
  built: number;
  built_by: number;
}
/** What one extension saw of one conversation. */
export interface HistoryRow {
  id: Generated<number>;
  root: string;
  extension: string;
  direction: 'in' | 'out' | 'missed';
  started_us: number;
  answered_us: number | null;
  ended_us: number;
  party: string;
  party_name: string;
  /** Party and name as a search compares them. */
  search: string;
  ring_sec: number;
  wait_seconds: number;
  talk_seconds: number;
  hold_seconds: number;
  duration: number;
  disposition: string;
  channel: string;
  dstchannel: string;
  device: string | null;
  queue: string | null;
  /** 1 when its own person does not want to see it any more. */
  hidden: number;
}
/** What `search` holds in any row, each once. */
interface PartyTermRow {
  id: Generated<number>;
  text: string;
}
/** Sums of the rows of one extension, day (UTC) and direction, so that a page never counts them. */
interface TotalRow {
  extension: string;
  day: number;
  direction: 'in' | 'out' | 'missed';
  calls: number;
  billsec: number;
  hidden_calls: number;
  hidden_billsec: number;
}
/** One conversation as it is listed; `record` is the whole of it. Times in milliseconds since 1970. */
export interface ConversationIndexRow {
  id: Generated<number>;
  root: string;
  /** Place in the feed of changes; unique, and greater with every change of anything in it. */
  change: number;
  revision: number;
  state: 'open' | 'final' | 'amended';
  built_by: number;
  direction: string;
  disposition: string;
  started_ms: number;
  answered_ms: number | null;
  ended_ms: number;
  talk_ms: number;
  wait_ms: number;
  /** Names and numbers of everybody in it as a search compares them. */
  search: string;
  /** ConversationRecord as JSON, compressed (`ingest/packs.ts`). */
  record: Uint8Array;
  /** What an export shows of it, so that a million rows are read without opening the record: JSON of `cellsOf` (record/cells.ts). */
  cells: string;
  /** Hash of the record's JSON: telling the same again changes nothing. */
  fingerprint: string;
  /** 1 when something in it was erased on request; its call records no longer hold it. */
  erased: number;
}
/** An event that is to be published; deleted some time after it is in the journal, which knows how far that is. */
export interface OutboxRow {
  change: number;
  root: string;
  kind: 'opened' | 'updated' | 'finalised';
  revision: number;
}
/** An id that was joined into another conversation, as the feed of changes tells it; `history_calls` says into which. */
interface MergedRow {
  root: string;
  change: number;
}
/** By what a list is narrowed: an entry for each person, queue, agent and number of a conversation. */
export interface ConversationKeyRow {
  kind: 'person' | 'queue' | 'agent' | 'number' | 'name';
  value: string;
  started_ms: number;
  conversation: number;
}
/** A name or number, folded, by which somebody with this key is searched; each once, however many conversations they had. */
interface TermRow {
  id: Generated<number>;
  kind: ConversationKeyRow['kind'];
  value: string;
  text: string;
}
/** What people added; never touched by a rebuild. `call` is the id of any call of the conversation. */
interface NoteRow {
  id: Generated<number>;
  call: string;
  at_ms: number;
  by: string;
  text: string;
}
interface OutcomeRow {
  call: string;
  code: string;
  text: string;
  at_ms: number;
  by: string;
}
/** Wrap-ups of agents, which the engine does not write down. */
interface WrapUpRow {
  call: string;
  extension: string;
  queue: string;
  from_ms: number;
  to_ms: number;
}
/** Findings of proof/findings.ts: ids, times and queues, nothing personal that an erasure must change. */
interface FindingRow {
  id: Generated<number>;
  kind: 'gap' | 'difference' | 'visit' | 'settled';
  key: string;
  at_ms: number;
  /** JSON of the event's `data` without the id. */
  data: string;
  /** 1 once its event is in the journal. */
  published: number;
}
/** How a call sounded to one phone of it. */
interface QualityRow {
  call: string;
  extension: string;
  /** Empty where the phone did not know it. */
  leg_id: string;
  at_ms: number;
  device: string;
  /** JSON of `QUALITY_FIGURES` (contract/conversations.ts). */
  figures: string;
}
export interface Tables {
  conversations: ConversationIndexRow;
  conversation_keys: ConversationKeyRow;
  conversation_terms: TermRow;
  conversation_merged: MergedRow;
  conversation_outbox: OutboxRow;
  conversation_notes: NoteRow;
  conversation_outcomes: OutcomeRow;
  conversation_wrap_ups: WrapUpRow;
  conversation_quality: QualityRow;
  history_findings: FindingRow;
  /** Channels of the service's test calls (proof/test-channels.ts). */
  history_test_channels: { channel: string; at_ms: number };
  history_loose: LooseRow;
  /** Records of conversations that have been quiet for a while: a JSON array, compressed. */
  history_packs: { root: string; records: Uint8Array };
  history_channels: ChannelRow;
  history_calls: CallRow;
  history_conversations: ConversationRow;
  history_rows: HistoryRow;
  history_terms: PartyTermRow;
  history_totals: TotalRow;
  /** Calls of which something was erased; `tokens` know it again without holding it (erasure/eraser.ts). */
  history_tombstones: { call: string; placeholder: string; tokens: string };
  history_malformed: { id: Generated<number>; seen_at: number; line: string };
  /** `FactKey` (store.ts). */
  history_facts: { key: string; value: string };
  /** `change`: the newest place in the feed of changes. */
  history_counters: { name: 'change'; value: number };
}

export const migrations: readonly Migration[] = [
  {
    id: '0001-history',
    async up(db) {
      const { schema } = db;
      await schema
        .createTable('history_records')
        .addColumn('key', 'text', (c) => c.primaryKey())
        .addColumn('call', 'text', (c) => c.notNull())
        .addColumn('record', 'text', (c) => c.notNull())
        .execute();
      await schema.createIndex('history_records_call').on('history_records').column('call').execute();
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
      // One index for each way a page is asked for: own view or all, one direction or all.
      for (const [name, ...columns] of [
        ['own', 'extension', 'hidden'],
        ['own_direction', 'extension', 'hidden', 'direction'],
        ['all', 'extension'],
        ['all_direction', 'extension', 'direction'],
      ] as const) {
        await schema
          .createIndex(`history_rows_${name}`)
          .on('history_rows')
          .columns([...columns, 'started_us', 'id'])
          .execute();
      }
      await schema
        .createTable('history_totals')
        .addColumn('extension', 'text', (c) => c.notNull())
        .addColumn('day', 'integer', (c) => c.notNull())
        .addColumn('direction', 'text', (c) => c.notNull())
        .addColumn('calls', 'integer', (c) => c.notNull())
        .addColumn('billsec', 'bigint', (c) => c.notNull())
        .addColumn('hidden_calls', 'integer', (c) => c.notNull())
        .addColumn('hidden_billsec', 'bigint', (c) => c.notNull())
        .addPrimaryKeyConstraint('history_totals_key', ['extension', 'day', 'direction'])
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
    },
  },
  {
    id: '0002-conversations',
    async up(db) {
      const { schema } = db;
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
    },
  },
  {
    id: '0003-loose-records',
    async up(db) {
      const { schema } = db;
      await schema
        .createTable('history_loose')
        .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('call', 'text', (c) => c.notNull())
        .addColumn('records', 'blob', (c) => c.notNull())
        .execute();
      await schema.createIndex('history_loose_call').on('history_loose').column('call').execute();
      // A rebuild goes by time alone.
      await schema
        .createIndex('history_conversations_last')
        .on('history_conversations')
        .columns(['last_us', 'root'])
        .execute();
      await gatherRecords(db as unknown as Transaction<Tables & OldTables>);
      await schema.dropTable('history_records').execute();
    },
  },
  {
    id: '0004-tombstones',
    async up(db) {
      await db.schema
        .createTable('history_tombstones')
        .addColumn('call', 'text', (c) => c.notNull())
        .addColumn('placeholder', 'text', (c) => c.notNull())
        .addColumn('tokens', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint('history_tombstones_key', ['call', 'placeholder'])
        .execute();
    },
  },
  {
    id: '0006-rebuild',
    async up(db) {
      await db.schema
        .createIndex('history_conversations_time')
        .on('history_conversations')
        .columns(['last_us', 'root'])
        .execute();
    },
  },
  {
    id: '0007-terms-of-rows',
    async up(db) {
      const tables = db as unknown as Transaction<Tables>;
      // As rows are written from now on: an index takes no text of any length.
      await tables
        .updateTable('history_rows')
        .set({ search: sql<string>`substr(search, 1, ${TEXT_LIMIT})` })
        .where(sql<boolean>`length(search) > ${TEXT_LIMIT}`)
        .execute();
      await db.schema
        .createTable('history_terms')
        .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('text', 'text', (c) => c.notNull().unique())
        .execute();
      await tables
        .insertInto('history_terms')
        .columns(['text'])
        .expression((e) => e.selectFrom('history_rows').select('search').distinct())
        .execute();
      // Everything that a search and its stats need.
      await db.schema
        .createIndex('history_rows_search')
        .on('history_rows')
        .columns(['search', 'extension', 'started_us', 'id', 'hidden', 'direction', 'talk_seconds'])
        .execute();
    },
  },
  {
    id: '0008-sums',
    async up(db) {
      // The stats of a page add up years of days: from the index alone, a tenth of the time.
      await db.schema
        .createIndex('history_totals_sums')
        .on('history_totals')
        .columns(['extension', 'day', 'direction', 'calls', 'billsec', 'hidden_calls', 'hidden_billsec'])
        .execute();
    },
  },
  {
    id: '0009-quality',
    async up(db) {
      await db.schema
        .createTable('conversation_quality')
        .addColumn('call', 'text', (c) => c.notNull())
        .addColumn('extension', 'text', (c) => c.notNull())
        .addColumn('leg_id', 'text', (c) => c.notNull())
        .addColumn('at_ms', 'bigint', (c) => c.notNull())
        .addColumn('device', 'text', (c) => c.notNull())
        .addColumn('figures', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint('conversation_quality_key', ['call', 'extension', 'leg_id'])
        .execute();
    },
  },
  {
    id: '0010-findings',
    async up(db) {
      await db.schema
        .createTable('history_findings')
        .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('key', 'text', (c) => c.notNull().unique())
        .addColumn('at_ms', 'bigint', (c) => c.notNull())
        .addColumn('data', 'text', (c) => c.notNull())
        .addColumn('published', 'integer', (c) => c.notNull())
        .execute();
      await db.schema.createIndex('history_findings_at').on('history_findings').column('at_ms').execute();
    },
  },
  {
    id: '0011-test-channels',
    async up(db) {
      await db.schema
        .createTable('history_test_channels')
        .addColumn('channel', 'text', (c) => c.primaryKey())
        .addColumn('at_ms', 'bigint', (c) => c.notNull())
        .execute();
    },
  },
  {
    id: '0012-text-indexes',
    async up(db) {
      for (const table of ['conversation_terms', 'history_terms']) await createTextIndex(db, table);
    },
  },
];

/** One record in a row of its own, as JSON. */
interface OldTables {
  history_records: { key: string; call: string; record: string };
}
/** Records that were stored one by one, as those of a call together. */
async function gatherRecords(db: Transaction<Tables & OldTables>): Promise<void> {
  for (let last = ''; ;) {
    const calls = await db
      .selectFrom('history_records')
      .select('call')
      .distinct()
      .where('call', '>', last)
      .orderBy('call')
      .limit(200)
      .execute();
    for (const { call } of calls) {
      const rows = await db.selectFrom('history_records').select('record').where('call', '=', call).execute();
      const records = pack(`[${rows.map((row) => row.record).join(',')}]`);
      await db.insertInto('history_loose').values({ call, records }).execute();
      last = call;
    }
    if (calls.length === 0) return;
  }
}
