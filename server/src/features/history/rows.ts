import type { Insertable, Kysely, Selectable } from 'kysely';
import type { Directory } from '../../ports/directory.ts';
import type { Conversation, ConversationParty } from './conversation.ts';
import { fold } from '../../core/fold.ts';
import type { HistoryRow, Tables } from './tables.ts';
import type { Totals } from './totals.ts';

type StoredRow = Selectable<HistoryRow>;
type NewRow = Insertable<HistoryRow>;

/** What people call this number: the person's name, the queue's title, else what the engine showed. */
function nameOf(party: ConversationParty, directory: Directory): string {
  return (
    directory.byExtension(party.party)?.name ??
    directory.queues().find((q) => q.number === party.party)?.title ??
    party.party_name
  );
}
function toRow(root: string, party: ConversationParty, directory: Directory): Omit<NewRow, 'id' | 'hidden'> {
  const party_name = nameOf(party, directory);
  return { ...party, root, party_name, search: fold(`${party.party}\n${party_name}`) };
}

/** Writes the rows of a conversation: those that are there keep their id and stay hidden, others come and go. */
export async function writeRows(
  db: Kysely<Tables>,
  conversation: Conversation,
  root: string,
  directory: Directory,
  totals: Totals,
): Promise<void> {
  const before = new Map(
    (await db.selectFrom('history_rows').selectAll().where('root', '=', root).execute()).map((row) => [
      row.extension,
      row,
    ]),
  );
  for (const party of conversation.parties) {
    const row = toRow(root, party, directory);
    const old = before.get(party.extension);
    before.delete(party.extension);
    if (old) {
      totals.remove(old);
      await db.updateTable('history_rows').set(row).where('id', '=', old.id).execute();
    } else
      await db
        .insertInto('history_rows')
        .values({ ...row, hidden: 0 })
        .execute();
    totals.add({ ...row, hidden: old?.hidden ?? 0 });
  }
  await removeRows(db, [...before.values()], totals);
}

export async function removeRows(
  db: Kysely<Tables>,
  rows: readonly StoredRow[],
  totals: Totals,
): Promise<void> {
  for (const row of rows) {
    totals.remove(row);
    await db.deleteFrom('history_rows').where('id', '=', row.id).execute();
  }
}
