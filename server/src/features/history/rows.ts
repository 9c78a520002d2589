import type { Insertable, Kysely, Selectable } from 'kysely';
import type { Directory } from '../../ports/directory.ts';
import type { Conversation, ConversationParty } from './conversation.ts';
import { inChunks, insertAll } from './chunks.ts';
import { fold } from '@offhook/contract/search.ts';
import { dropTexts, keepTexts } from './party-search.ts';
import { TEXT_LIMIT } from './tables.ts';
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
  const search = fold(`${party.party}\n${party_name}`).slice(0, TEXT_LIMIT);
  return { ...party, root, party_name, search };
}

/** Writes the rows of conversations: those that are there keep their id and stay hidden, others come and go. */
export async function writeRows(
  db: Kysely<Tables>,
  conversations: ReadonlyMap<string, Conversation>,
  directory: Directory,
  totals: Totals,
): Promise<void> {
  const stored = await inChunks([...conversations.keys()], (some) =>
    db.selectFrom('history_rows').selectAll().where('root', 'in', some).execute(),
  );
  const before = new Map(stored.map((row) => [`${row.root} ${row.extension}`, row]));
  const fresh: NewRow[] = [];
  const texts = { old: new Set<string>(), now: new Set<string>() };
  for (const [root, { parties }] of conversations) {
    for (const party of parties) {
      const row = toRow(root, party, directory);
      const old = before.get(`${root} ${party.extension}`);
      before.delete(`${root} ${party.extension}`);
      if (old === undefined) fresh.push({ ...row, hidden: 0 });
      else if (!isSame(old, row)) {
        totals.remove(old);
        await db.updateTable('history_rows').set(row).where('id', '=', old.id).execute();
      } else continue;
      if (old?.search !== row.search) texts.now.add(row.search);
      if (old !== undefined && old.search !== row.search) texts.old.add(old.search);
      totals.add({ ...row, hidden: old?.hidden ?? 0 });
    }
  }
  await insertAll(fresh, (some) => db.insertInto('history_rows').values(some).execute());
  await keepTexts(db, texts.now);
  await dropTexts(db, texts.old);
  await removeRows(db, [...before.values()], totals);
}
const isSame = (old: StoredRow, row: Omit<NewRow, 'id' | 'hidden'>): boolean =>
  (Object.keys(row) as (keyof typeof row)[]).every((column) => old[column] === row[column]);

export async function removeRows(
  db: Kysely<Tables>,
  rows: readonly StoredRow[],
  totals: Totals,
): Promise<void> {
  for (const row of rows) {
    totals.remove(row);
    await db.deleteFrom('history_rows').where('id', '=', row.id).execute();
  }
  await dropTexts(db, new Set(rows.map((row) => row.search)));
}
