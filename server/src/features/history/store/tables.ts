import type { Generated } from 'kysely';

/** Characters of a text that is searched; an index takes less than a caller may send. */
export const TEXT_LIMIT = 256;

/** Call records of one call that came together: KnownRecords as a JSON array, compressed (`packs.ts`). */
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
  /** ConversationRecord as JSON, compressed (`packs.ts`). */
  record: Uint8Array;
  /** What an export shows of it, so that a million rows are read without opening the record: JSON of `cellsOf` (record/figures.ts). */
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
  /** Channels of the service's test calls (proof/gaps.ts). */
  history_test_channels: { channel: string; at_ms: number };
  history_loose: LooseRow;
  /** Records of conversations that have been quiet for a while: a JSON array, compressed. */
  history_packs: { root: string; records: Uint8Array };
  history_channels: ChannelRow;
  history_calls: CallRow;
  history_conversations: ConversationRow;
  history_rows: HistoryRow;
  history_terms: PartyTermRow;
  /** Calls of which something was erased; `tokens` know it again without holding it (`eraser.ts`). */
  history_tombstones: { call: string; placeholder: string; tokens: string };
  history_malformed: { id: Generated<number>; seen_at: number; line: string };
  /** `FactKey` (store.ts). */
  history_facts: { key: string; value: string };
  /** `change`: the newest place in the feed of changes. */
  history_counters: { name: 'change'; value: number };
}
