import type { Generated } from 'kysely';

/** Limit of characters of a search text: database indexes accept less than a caller may send. */
export const TEXT_LIMIT = 256;

/** Call records of one call from one batch: KnownRecords as a JSON array, compressed (`packs.ts`). */
interface LooseRow {
  id: Generated<number>;
  call: string;
  records: Uint8Array;
}
/** `sip_serial` of a channel without SIP. */
export const NO_SIP = -1;
/** One channel in one call; a channel in two calls joins them into one conversation. */
export interface ChannelRow {
  channel: string;
  call: string;
  /** Its number as of the call record; null if no record of this call has its start. */
  sip_serial: number | null;
}
interface CallRow {
  call: string;
  /** Root of the conversation: its first call. */
  root: string;
}
export interface ConversationRow {
  root: string;
  /** Time of its newest record in microseconds since 1970. */
  last_us: number;
  /** 1 after the first record of the end of one of its calls. */
  closing: number;
  /** One of `BUILT`; later records build the conversation again. */
  built: number;
  built_by: number;
}
/** One extension's part in one conversation. */
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
  /** Party and name, folded for search. */
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
  /** 1 after its person hid it. */
  hidden: number;
}
/** Each distinct `search` of the rows. */
interface PartyTermRow {
  id: Generated<number>;
  text: string;
}
/** Listed fields of one conversation; `record` has all of them. Times in milliseconds since 1970. */
export interface ConversationIndexRow {
  id: Generated<number>;
  root: string;
  /** Position in the feed of changes; unique, and greater after every change. */
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
  /** Names and numbers of all parties, folded for search. */
  search: string;
  /** ConversationRecord as JSON, compressed (`packs.ts`). */
  record: Uint8Array;
  /** Cells of an export as JSON of `cellsOf` (record/figures.ts), so that an export need not open a million records. */
  cells: string;
  /** Hash of the record's JSON: an unchanged record is not written again. */
  fingerprint: string;
  /** 1 if personal data was erased on request, from this row and from the call records. */
  erased: number;
}
/** An event to publish; deleted after it is in the journal. */
export interface OutboxRow {
  change: number;
  root: string;
  kind: 'opened' | 'updated' | 'finalised';
  revision: number;
}
/** A conversation that became part of another one, for the feed of changes; `history_calls` has its new root. */
interface MergedRow {
  root: string;
  change: number;
}
/** Filter key of a list: one row for each person, queue, agent and number of a conversation. */
export interface ConversationKeyRow {
  kind: 'person' | 'queue' | 'agent' | 'number' | 'name';
  value: string;
  started_ms: number;
  conversation: number;
}
/** Folded names and numbers with which a search finds this key; stored once. */
interface TermRow {
  id: Generated<number>;
  kind: ConversationKeyRow['kind'];
  value: string;
  text: string;
}
/** Notes by people; never changed by a rebuild. `call` is the id of any call of the conversation. */
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
/** Wrap-ups of agents; the engine writes no record of them. */
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
/** Call quality reported by one phone of a call. */
interface QualityRow {
  call: string;
  extension: string;
  /** Empty if the phone did not report it. */
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
  /** SIP channels of the service's test calls (proof/gaps.ts). */
  history_test_channels: { channel: string; at_ms: number };
  history_loose: LooseRow;
  /** Call records of conversations without a new one for 48 hours: a JSON array, compressed. */
  history_packs: { root: string; records: Uint8Array };
  history_channels: ChannelRow;
  history_calls: CallRow;
  history_conversations: ConversationRow;
  history_rows: HistoryRow;
  history_terms: PartyTermRow;
  /** Calls with erased data; `tokens` are hashes that recognise the data (`eraser.ts`). */
  history_tombstones: { call: string; placeholder: string; tokens: string };
  history_malformed: { id: Generated<number>; seen_at: number; line: string };
  /** `FactKey` (store.ts). */
  history_facts: { key: string; value: string };
  /** `change`: the newest position in the feed of changes. */
  history_counters: { name: 'change'; value: number };
}
