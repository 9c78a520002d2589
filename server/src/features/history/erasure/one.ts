/** Erases a subject from one conversation. */
import type { Kysely } from 'kysely';
import type { Subject } from '../../../numbers/subject.ts';
import { remember, takeChanges } from '../store/store.ts';
import { BUILT, recordsOf, pack, unpack } from '../store/packs.ts';
import type { KnownRecord } from '../record/records.ts';
import type { ConversationIndexRow, Tables } from '../store/tables.ts';
import { beginTelling } from '../ingest/tell.ts';
import type { TellDeps } from '../ingest/tell.ts';
import { eraserOf, mapTexts, namesOf } from '../store/eraser.ts';
import { setTombstones } from '../store/eraser.ts';

type Count = (place: string, rows: number) => void;
/** Notes may mention anyone in any words: their whole text is erased. */
const NOTHING = '';

export async function callsOf(db: Kysely<Tables>, root: string): Promise<readonly string[]> {
  const rows = await db.selectFrom('history_calls').select('call').where('root', '=', root).execute();
  return rows.map((row) => row.call);
}
/** Rewrites the stored call records; returns the names erased with the subject. */
async function eraseRecords(
  db: Kysely<Tables>,
  root: string,
  calls: readonly string[],
  subject: Subject,
  placeholder: string,
  count: Count,
): Promise<readonly string[]> {
  const packs = await db.selectFrom('history_packs').select('records').where('root', '=', root).execute();
  const packed = packs.flatMap((p) => unpack<KnownRecord[]>(p.records));
  const rows = await db.selectFrom('history_loose').selectAll().where('call', 'in', calls).execute();
  const loose = rows.map((row) => unpack<KnownRecord[]>(row.records));
  const names = namesOf([...packed, ...loose.flat()], subject);
  const erase = eraserOf(subject, names, placeholder);
  for (const [i, old] of loose.entries()) {
    const text = JSON.stringify(mapTexts(old, erase));
    if (text === JSON.stringify(old)) continue;
    const values = { records: pack(text) };
    await db.updateTable('history_loose').set(values).where('id', '=', rows[i]!.id).execute();
    count('history_loose', 1);
  }
  if (packed.length > 0) {
    const records = pack(JSON.stringify(mapTexts(packed, erase)));
    await db.deleteFrom('history_packs').where('root', '=', root).execute();
    await db.insertInto('history_packs').values({ root, records }).execute();
    count('history_packs', packs.length);
  }
  return names;
}
async function eraseAdded(
  db: Kysely<Tables>,
  calls: readonly string[],
  subject: Subject,
  placeholder: string,
  count: Count,
): Promise<void> {
  for (const table of ['conversation_notes', 'conversation_outcomes'] as const) {
    const { numUpdatedRows } = await db
      .updateTable(table)
      .set({ text: NOTHING })
      .where('call', 'in', calls)
      .executeTakeFirstOrThrow();
    count(table, Number(numUpdatedRows));
    if (subject.kind === 'extension') {
      await db
        .updateTable(table)
        .set({ by: placeholder })
        .where('call', 'in', calls)
        .where('by', '=', subject.value)
        .execute();
    }
  }
  if (subject.kind !== 'extension') return;
  const { numUpdatedRows } = await db
    .updateTable('conversation_wrap_ups')
    .set({ extension: placeholder })
    .where('call', 'in', calls)
    .where('extension', '=', subject.value)
    .executeTakeFirstOrThrow();
  count('conversation_wrap_ups', Number(numUpdatedRows));
  const reports = await db
    .updateTable('conversation_quality')
    .set({ extension: placeholder, device: NOTHING })
    .where('call', 'in', calls)
    .where('extension', '=', subject.value)
    .executeTakeFirstOrThrow();
  count('conversation_quality', Number(reports.numUpdatedRows));
}

/** Runs in the caller's transaction. Idempotent. */
export async function eraseConversation(
  db: Kysely<Tables>,
  root: string,
  subject: Subject,
  placeholder: string,
  deps: TellDeps,
  count: Count,
): Promise<void> {
  const calls = await callsOf(db, root);
  const names = await eraseRecords(db, root, calls, subject, placeholder, count);
  await setTombstones(db, calls, subject, names, placeholder);
  await eraseAdded(db, calls, subject, placeholder, count);
  const row = await db
    .selectFrom('history_conversations')
    .selectAll()
    .where('root', '=', root)
    .executeTakeFirst();
  if (row === undefined) return;
  const before = await shownOf(db, root);
  const telling = beginTelling(db, deps);
  const records = (await recordsOf(db, [root])).get(root)!;
  if (row.built === BUILT.no) telling.soFar(row, records);
  else telling.end(row, records, true);
  await telling.write();
  if (before === undefined) return;
  const after = await shownOf(db, root);
  // The erased data may not be part of the record: publish the change nevertheless.
  const news = after?.change === before.change ? await newsOf(db, before) : {};
  await db
    .updateTable('conversations')
    .set({ erased: 1, ...news })
    .where('root', '=', root)
    .execute();
  count('conversations', 1);
}
const shownOf = (db: Kysely<Tables>, root: string) =>
  db
    .selectFrom('conversations')
    .select(['root', 'state', 'revision', 'change'])
    .where('root', '=', root)
    .executeTakeFirst();
async function newsOf(db: Kysely<Tables>, shown: Pick<ConversationIndexRow, 'root' | 'state' | 'revision'>) {
  const { root, state } = shown;
  const change = await takeChanges(db, 1);
  const revision = state === 'open' ? shown.revision : shown.revision + 1;
  await remember(db, [{ change, root, kind: state === 'open' ? 'updated' : 'finalised', revision }]);
  return { change, revision, ...(state === 'open' ? {} : { state: 'amended' as const }) };
}
