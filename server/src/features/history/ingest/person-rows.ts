import type { Insertable, Kysely, Selectable } from 'kysely';
import type { Directory } from '../../../ports/directory.ts';
import type { PersonRow } from '../record/people.ts';
import { inChunks, insertAll } from '../store/store.ts';
import { fold } from '@offhook/contract/search.ts';
import { TEXT_LIMIT } from '../store/tables.ts';
import type { HistoryRow, Tables } from '../store/tables.ts';

type StoredRow = Selectable<HistoryRow>;
type NewRow = Insertable<HistoryRow>;

/** Display name of a number: the person's name, else the queue's title, else the name given by the engine. */
function nameOf(party: PersonRow, directory: Directory): string {
  return (
    directory.byExtension(party.party)?.name ??
    directory.queues().find((q) => q.number === party.party)?.title ??
    party.party_name
  );
}
function toRow(root: string, party: PersonRow, directory: Directory): Omit<NewRow, 'id' | 'hidden'> {
  const party_name = nameOf(party, directory);
  const search = fold(`${party.party}\n${party_name}`).slice(0, TEXT_LIMIT);
  return { ...party, root, party_name, search };
}

/**
 * Writes one row per person and conversation. Existing rows keep their id, and hidden ones stay hidden; missing rows
 * are added, obsolete ones deleted.
 */
export async function writeRows(
  db: Kysely<Tables>,
  conversations: ReadonlyMap<string, readonly PersonRow[]>,
  directory: Directory,
): Promise<void> {
  const stored = await inChunks([...conversations.keys()], (some) =>
    db.selectFrom('history_rows').selectAll().where('root', 'in', some).execute(),
  );
  const before = new Map(stored.map((row) => [`${row.root} ${row.extension}`, row]));
  const fresh: NewRow[] = [];
  const texts = { old: new Set<string>(), now: new Set<string>() };
  for (const [root, parties] of conversations) {
    for (const party of parties) {
      const row = toRow(root, party, directory);
      const old = before.get(`${root} ${party.extension}`);
      before.delete(`${root} ${party.extension}`);
      if (old === undefined) fresh.push({ ...row, hidden: 0 });
      else if (!isSame(old, row))
        await db.updateTable('history_rows').set(row).where('id', '=', old.id).execute();
      else continue;
      if (old?.search !== row.search) texts.now.add(row.search);
      if (old !== undefined && old.search !== row.search) texts.old.add(old.search);
    }
  }
  await insertAll(fresh, (some) => db.insertInto('history_rows').values(some).execute());
  await keepTexts(db, texts.now);
  await dropTexts(db, texts.old);
  await removeRows(db, [...before.values()]);
}
const isSame = (old: StoredRow, row: Omit<NewRow, 'id' | 'hidden'>): boolean =>
  (Object.keys(row) as (keyof typeof row)[]).every((column) => old[column] === row[column]);

export async function removeRows(db: Kysely<Tables>, rows: readonly StoredRow[]): Promise<void> {
  for (const row of rows) await db.deleteFrom('history_rows').where('id', '=', row.id).execute();
  await dropTexts(db, new Set(rows.map((row) => row.search)));
}

/** Adds search texts; call it in the transaction that writes their rows. */
const keepTexts = (db: Kysely<Tables>, texts: ReadonlySet<string>): Promise<void> =>
  insertAll(
    [...texts].map((text) => ({ text })),
    (some) =>
      db
        .insertInto('history_terms')
        .values([...some])
        .onConflict((c) => c.column('text').doNothing())
        .execute(),
  );
/**
 * Deletes search texts that no row uses any more, so that an erased person cannot be found. Call it in the transaction
 * that changes the rows.
 */
async function dropTexts(db: Kysely<Tables>, texts: ReadonlySet<string>): Promise<void> {
  await insertAll([...texts], (some) =>
    db
      .deleteFrom('history_terms')
      .where('text', 'in', some)
      .where((e) =>
        e.not(
          e.exists(
            e.selectFrom('history_rows as r').select('r.id').whereRef('r.search', '=', 'history_terms.text'),
          ),
        ),
      )
      .execute(),
  );
}
