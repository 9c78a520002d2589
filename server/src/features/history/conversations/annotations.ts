import type { Kysely } from 'kysely';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import { inChunks } from '../chunks.ts';
import type { ConversationRecord } from '../record.ts';
import type { Tables } from '../tables.ts';
import { callsOfRecord } from './view.ts';
import type { Annotations } from './view.ts';

/** What people and agents added to these conversations, by their id; a few queries, however many they are. */
export async function readAnnotations(
  db: Kysely<Tables>,
  recordings: RecordingIndex,
  records: readonly ConversationRecord[],
): Promise<ReadonlyMap<string, Annotations>> {
  const calls = records.flatMap(callsOfRecord);
  const notes = await inChunks(calls, (some) =>
    db
      .selectFrom('conversation_notes')
      .select('call')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('call', 'in', some)
      .groupBy('call')
      .execute(),
  );
  const outcomes = await inChunks(calls, (some) =>
    db.selectFrom('conversation_outcomes').selectAll().where('call', 'in', some).execute(),
  );
  const wrapUps = await inChunks(calls, (some) =>
    db.selectFrom('conversation_wrap_ups').selectAll().where('call', 'in', some).execute(),
  );
  const recorded = await recordings.withRecording(calls);
  return new Map(
    records.map((record) => {
      const own = new Set(callsOfRecord(record));
      const newest = outcomes
        .filter((o) => own.has(o.call))
        .toSorted((a, b) => Number(b.at_ms) - Number(a.at_ms))[0];
      return [
        record.id,
        {
          wrap_ups: wrapUps.filter((w) => own.has(w.call)),
          notes: notes.filter((n) => own.has(n.call)).reduce((total, { n }) => total + Number(n), 0),
          outcome: newest ?? null,
          has_recording: [...own].some((call) => recorded.has(call)),
        },
      ];
    }),
  );
}

/** Notes of a conversation, oldest first. */
export const readNotes = (db: Kysely<Tables>, calls: readonly string[]) =>
  inChunks(calls, (some) =>
    db.selectFrom('conversation_notes').selectAll().where('call', 'in', some).execute(),
  ).then((notes) => notes.toSorted((a, b) => Number(a.at_ms) - Number(b.at_ms) || a.id - b.id));
