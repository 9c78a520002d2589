/** Reads stored conversations with their annotations. */
import type { Kysely, Selectable } from 'kysely';
import type { Conversation, ConversationSummary } from '@offhook/contract/conversations.ts';
import { reaches } from '../../../rights/rights.ts';
import type { Objects } from '../../../rights/rights.ts';
import { readRecord } from '../store/packs.ts';
import type { ConversationRecord } from '../record/record.ts';
import type { ConversationIndexRow, Tables } from '../store/tables.ts';
import { timelineEntries } from '../record/entries.ts';
import { talkersOf } from '../record/figures.ts';
import { readAnnotations, readNotes, readQuality } from './annotations.ts';
import type { Owners } from './annotations.ts';
import { padded } from './sources.ts';
import { callsOfRecord, conversationOf, summaryOf } from './view.ts';
import type { ShownRow } from './view.ts';
import type { Conversations } from '../../../ports/conversations.ts';
import { callsWithPart } from './parts.ts';
import type { Store } from '../../../ports/store.ts';
import { inChunks, rootsOf, touchConversations } from '../store/store.ts';

export const SHOWN = ['id', 'root', 'change', 'revision', 'state', 'erased', 'record'] as const;
export type StoredConversation = Pick<Selectable<ConversationIndexRow>, (typeof SHOWN)[number]>;
interface Opened {
  readonly row: ShownRow;
  readonly record: ConversationRecord;
}
const open = (row: StoredConversation): Opened => ({ row, record: readRecord(row.record) });

/** True if one of these extensions took part. */
export const concerns = (record: ConversationRecord, within: Objects): boolean =>
  within === null || record.extensions.some((extension) => reaches(within, extension));

export async function rowsOf(db: Kysely<Tables>, ids: readonly number[]) {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('conversations').select(SHOWN).where('id', 'in', padded(ids)).execute();
  const byId = new Map(rows.map((row) => [Number(row.id), row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** In the order of the rows. */
export async function summariesOf(
  db: Kysely<Tables>,
  owners: Owners,
  rows: readonly StoredConversation[],
): Promise<ConversationSummary[]> {
  const opened = rows.map(open);
  const added = await readAnnotations(
    db,
    owners,
    opened.map((o) => o.record),
  );
  return opened.map(({ row, record }) => summaryOf(row, record, added.get(record.id)));
}

export async function detailsOf(
  db: Kysely<Tables>,
  owners: Owners,
  rows: readonly StoredConversation[],
): Promise<Conversation[]> {
  const opened = rows.map(open);
  const records = opened.map((o) => o.record);
  const calls = records.flatMap(callsOfRecord);
  const added = await readAnnotations(db, owners, records);
  const notes = await readNotes(db, calls);
  const quality = await readQuality(db, calls);
  const recorded = await owners.recordings.ofCalls(calls);
  return opened.map(({ row, record }) => {
    const own = callsOfRecord(record);
    return conversationOf(row, record, added.get(record.id)!, {
      notes: notes.filter((note) => own.includes(note.call)),
      quality: quality.filter((report) => own.includes(report.call)),
      recordings: own.flatMap((call) => recorded.get(call) ?? []),
      timeline: timelineEntries(record),
    });
  });
}

/** By the id of any of its calls; null if it began before `since` (ms) or none of these extensions took part. */
export async function conversationByCall(
  db: Kysely<Tables>,
  call: string,
  within: Objects,
  since: number,
): Promise<{ readonly row: StoredConversation; readonly record: ConversationRecord } | null> {
  const row = await db
    .selectFrom('conversations')
    .innerJoin('history_calls', 'history_calls.root', 'conversations.root')
    .select(SHOWN.map((column) => `conversations.${column}` as const))
    .where('history_calls.call', '=', call)
    .where('conversations.started_ms', '>=', since)
    .executeTakeFirst();
  if (row === undefined) return null;
  const record = readRecord(row.record);
  return concerns(record, within) ? { row, record } : null;
}

/** Conversations for other features; `onTouched` is called after each change. */
export function createKnownConversations(store: Store, onTouched: () => void): Conversations {
  const db = store.db<Tables>();
  return {
    async byCall(call) {
      const [root] = await rootsOf(db, [call]);
      if (root === undefined) return null;
      const row = await db
        .selectFrom('conversations')
        .select(['state', 'started_ms', 'ended_ms', 'record'])
        .where('root', '=', root)
        .executeTakeFirst();
      if (row === undefined) return null;
      const calls = await db
        .selectFrom('history_calls')
        .select('call')
        .where('root', '=', root)
        .orderBy('call')
        .execute();
      const record = readRecord(row.record);
      return {
        id: root,
        calls: calls.map((c) => c.call),
        extensions: record.extensions,
        talkers: talkersOf(record),
        queues: record.queues,
        started_ms: row.started_ms,
        ended_ms: row.ended_ms,
        open: row.state === 'open',
      };
    },
    async talkedIn(calls, extensions) {
      const taking = await inChunks([...new Set(calls)], (some) =>
        db
          .selectFrom('history_calls')
          .innerJoin('conversations', 'conversations.root', 'history_calls.root')
          .innerJoin('conversation_keys', 'conversation_keys.conversation', 'conversations.id')
          .select([
            'history_calls.call',
            'conversations.id',
            'conversation_keys.kind',
            'conversation_keys.value',
          ])
          .where('history_calls.call', 'in', some)
          .execute(),
      );
      // Not in the query: SQLite would read the keys of all persons of the site.
      const tookPart = taking.filter(({ kind, value }) => kind === 'person' && reaches(extensions, value));
      const rows = await inChunks([...new Set(tookPart.map((row) => row.id))], (some) =>
        db.selectFrom('conversations').select(['id', 'record']).where('id', 'in', some).execute(),
      );
      const talked = new Set(
        rows
          .filter(({ record }) => talkersOf(readRecord(record)).some((one) => reaches(extensions, one)))
          .map((row) => row.id),
      );
      return new Set(tookPart.filter(({ id }) => talked.has(id)).map((row) => row.call));
    },
    withPart: (extensions, before_ms, most) => callsWithPart(db, extensions, before_ms, most),
    async touch(calls) {
      await store.transaction<Tables, void>(async (trx) =>
        touchConversations(trx, await rootsOf(trx, calls)),
      );
      onTouched();
    },
  };
}
