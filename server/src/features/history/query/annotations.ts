import type { Kysely, Selectable } from 'kysely';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import type { Directory } from '../../../ports/directory.ts';
import { inChunks } from '../store/store.ts';
import type { ConversationRecord } from '../record/record.ts';
import type { Tables } from '../store/tables.ts';
import type { Wanted } from './find.ts';
import { callsOfRecord } from './view.ts';
import type { Annotations } from './view.ts';

/** Sources of data that is shown with a conversation and is not part of its record. */
export interface Owners {
  readonly recordings: RecordingIndex;
  readonly directory: Pick<Directory, 'queue'>;
}
/** The current title of a queue; null without a queue, for a deleted one, and for one without a title. O(1). */
export const titleOf = (directory: Pick<Directory, 'queue'>, queue: string | null): string | null =>
  queue === null ? null : directory.queue(queue)?.title || null;

type Outcome = Selectable<Tables['conversation_outcomes']>;
const newestOf = (outcomes: readonly Outcome[]): Outcome | undefined =>
  outcomes.toSorted((a, b) => Number(b.at_ms) - Number(a.at_ms))[0];
async function outcomesOf(db: Kysely<Tables>, calls: readonly string[]) {
  const outcomes = await inChunks(calls, (some) =>
    db.selectFrom('conversation_outcomes').selectAll().where('call', 'in', some).execute(),
  );
  return new Map(outcomes.map((outcome) => [outcome.call, outcome]));
}

/** Annotations of these conversations, by their id; a fixed number of queries per chunk. */
export async function readAnnotations(
  db: Kysely<Tables>,
  {
    recordings,
    directory,
  }: { readonly recordings: Pick<RecordingIndex, 'withRecording'> } & Pick<Owners, 'directory'>,
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
  const outcomes = await outcomesOf(db, calls);
  const wrapUps = await inChunks(calls, (some) =>
    db.selectFrom('conversation_wrap_ups').selectAll().where('call', 'in', some).execute(),
  );
  const recorded = await recordings.withRecording(calls);
  return new Map(
    records.map((record) => {
      const own = new Set(callsOfRecord(record));
      return [
        record.id,
        {
          wrap_ups: wrapUps.filter((w) => own.has(w.call)),
          notes: notes.filter((n) => own.has(n.call)).reduce((total, { n }) => total + Number(n), 0),
          outcome: newestOf([...own].flatMap((call) => outcomes.get(call) ?? [])) ?? null,
          has_recording: [...own].some((call) => recorded.has(call)),
          queue_titles: new Map(record.queues.map((queue) => [queue, titleOf(directory, queue)])),
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

/** Call quality reported by phones, oldest first. */
export const readQuality = (db: Kysely<Tables>, calls: readonly string[]) =>
  inChunks(calls, (some) =>
    db.selectFrom('conversation_quality').selectAll().where('call', 'in', some).execute(),
  ).then((reports) => reports.toSorted((a, b) => Number(a.at_ms) - Number(b.at_ms)));

/** Filter by annotations: the outcome, and with or without a recording. */
export function addedFilter(
  db: Kysely<Tables>,
  recordings: RecordingIndex,
  query: { readonly outcome?: string | undefined; readonly has_recording?: 'true' | 'false' | undefined },
): Wanted['fits'] {
  const { outcome, has_recording } = query;
  if (outcome === undefined && has_recording === undefined) return undefined;
  return async (places) => {
    const calls = await inChunks(
      places.map((place) => place.id),
      (some) =>
        db
          .selectFrom('conversations')
          .innerJoin('history_calls', 'history_calls.root', 'conversations.root')
          .select(['conversations.id', 'history_calls.call'])
          .where('conversations.id', 'in', some)
          .execute(),
    );
    const all = calls.map(({ call }) => call);
    const own = Map.groupBy(calls, ({ id }) => Number(id));
    const recorded = has_recording === undefined ? null : await recordings.withRecording(all);
    const outcomes = outcome === undefined ? null : await outcomesOf(db, all);
    return places.filter(({ id }) => {
      const some = (own.get(id) ?? []).map(({ call }) => call);
      const wants =
        recorded === null || some.some((call) => recorded.has(call)) === (has_recording === 'true');
      return (
        wants && (outcomes === null || newestOf(some.flatMap((c) => outcomes.get(c) ?? []))?.code === outcome)
      );
    });
  };
}

/** The conversations with a playable recording. */
export async function rootsWithRecording(
  db: Kysely<Tables>,
  recordings: Pick<RecordingIndex, 'withRecording'>,
  roots: readonly string[],
): Promise<ReadonlySet<string>> {
  const calls = await inChunks(roots, (some) =>
    db.selectFrom('history_calls').selectAll().where('root', 'in', some).execute(),
  );
  const recorded = await recordings.withRecording(calls.map(({ call }) => call));
  return new Set(calls.filter(({ call }) => recorded.has(call)).map(({ root }) => root));
}
