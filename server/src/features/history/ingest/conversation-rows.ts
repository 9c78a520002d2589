import type { Insertable, Kysely, Selectable } from 'kysely';
import { fold } from '@offhook/contract/search.ts';
import { cellsOf } from '../record/figures.ts';
import { inChunks, insertAll, remember, takeChanges } from '../store/store.ts';
import { KEY_LIMIT, keyOf, writeTerms } from '../query/terms.ts';
import { rootsWithTombstones } from '../store/eraser.ts';
import { fingerprintOf, writeRecord } from '../store/packs.ts';
import type { ConversationRecord, RecordedParticipant } from '../record/record.ts';
import type { ConversationIndexRow, ConversationKeyRow, OutboxRow, Tables } from '../store/tables.ts';

/** The record of a conversation, as built from its call records so far; `over`: no more records are expected. */
export interface Built {
  readonly root: string;
  readonly record: ConversationRecord;
  readonly over: boolean;
}
type Stored = Pick<
  Selectable<ConversationIndexRow>,
  'id' | 'root' | 'revision' | 'state' | 'built_by' | 'fingerprint'
>;
type Revision = Pick<Stored, 'revision' | 'state'>;
type Key = Pick<ConversationKeyRow, 'kind' | 'value'>;

/** Index keys by which a list filters conversations. */
function keysOf(record: ConversationRecord): readonly Key[] {
  const everybody = [record.caller, ...record.parties].filter((p) => p !== null);
  const numbers = [
    ...everybody.flatMap((p) => [p.number, p.number_e164]),
    record.dialled,
    record.dialled_e164,
  ].flatMap((number) => (number ? [number.slice(0, KEY_LIMIT)] : []));
  const keys: readonly (readonly [Key['kind'], readonly string[]])[] = [
    ['person', record.extensions],
    ['queue', record.queues],
    ['agent', record.agents],
    ['number', numbers],
    [
      'name',
      everybody.flatMap((p) => keyOf(p) ?? []).flatMap((key) => (key.kind === 'name' ? [key.value] : [])),
    ],
  ];
  return keys.flatMap(([kind, values]) => [...new Set(values)].map((value) => ({ kind, value })));
}
function searchOf({ caller, parties, dialled }: ConversationRecord): string {
  const words = (p: RecordedParticipant): string[] => [p.name, p.number, p.number_e164 ?? ''];
  const all = [...(caller ? words(caller) : []), ...parties.flatMap(words), dialled];
  return fold([...new Set(all.filter((word) => word !== ''))].join('\n'));
}
/** The next revision; null if the record is unchanged. */
function revisionAfter(old: Stored | undefined, over: boolean, changed: boolean): Revision | null {
  if (old === undefined) return over ? { revision: 1, state: 'final' } : { revision: 0, state: 'open' };
  if (old.state === 'open' && over) return { revision: 1, state: 'final' };
  if (!changed) return null;
  return old.state === 'open'
    ? { revision: 0, state: 'open' }
    : { revision: old.revision + 1, state: 'amended' };
}
const shown = (record: ConversationRecord) => ({
  built_by: record.built_by,
  direction: record.direction,
  disposition: record.disposition,
  started_ms: record.started,
  answered_ms: record.answered,
  ended_ms: record.ended,
  talk_ms: record.talk_ms,
  wait_ms: record.wait_ms,
  search: searchOf(record),
  cells: JSON.stringify(cellsOf(record)),
});

/** A pending write of one conversation; `place` in the feed is 0 if only the version of the build rules changed. */
interface Plan {
  readonly old: Stored | undefined;
  readonly record: ConversationRecord;
  readonly place: number;
  readonly row: Omit<Insertable<ConversationIndexRow>, 'change'>;
}

/**
 * Writes the records of conversations, each change with its place in the feed; an unchanged record is not written.
 * Conversations in `merged` became part of others and are deleted.
 */
export async function writeConversations(
  db: Kysely<Tables>,
  built: readonly Built[],
  merged: readonly string[],
): Promise<void> {
  const gone = await removeConversations(db, merged);
  const before = await storedOf(db, built);
  const stones = await rootsWithTombstones(
    db,
    built.map((t) => t.root),
  );
  const changed = built.flatMap(({ root, record, over }) => {
    const old = before.get(root);
    const fingerprint = fingerprintOf(record);
    const next = revisionAfter(old, over, old?.fingerprint !== fingerprint);
    if (next === null && old?.built_by === record.built_by) return [];
    const { revision, state } = next ?? old!;
    const erased = stones.has(root) ? 1 : 0;
    const row = { root, ...shown(record), revision, state, record: writeRecord(record), fingerprint, erased };
    return [{ old, record, row, built: next !== null }];
  });
  const count = gone.length + changed.filter((c) => c.built).length;
  let place = count === 0 ? 0 : await takeChanges(db, count);
  await insertAll(gone, (some) =>
    db
      .insertInto('conversation_merged')
      .values(some.map((root) => ({ root, change: place++ })))
      .execute(),
  );
  const plans = changed.map((c): Plan => ({ ...c, place: c.built ? place++ : 0 }));
  await remember(db, plans.filter((p) => p.place !== 0).map(eventOf));
  await writeKeys(db, [...(await insertNew(db, plans)), ...(await updateOld(db, plans))]);
  await writeTerms(
    db,
    plans.map((plan) => plan.record),
  );
}

function eventOf({ old, row, place }: Plan): OutboxRow {
  const { root, state, revision } = row;
  const kind = state !== 'open' ? 'finalised' : old === undefined ? 'opened' : 'updated';
  return { change: place, root, kind, revision };
}
async function storedOf(db: Kysely<Tables>, built: readonly Built[]): Promise<ReadonlyMap<string, Stored>> {
  const roots = built.map((t) => t.root);
  const rows = await inChunks(roots, (some) =>
    db
      .selectFrom('conversations')
      .select(['id', 'root', 'revision', 'state', 'built_by', 'fingerprint'])
      .where('root', 'in', some)
      .execute(),
  );
  return new Map(rows.map((row) => [row.root, row]));
}
/** Deletes conversations; returns the ids of those that were stored. */
async function removeConversations(
  db: Kysely<Tables>,
  merged: readonly string[],
): Promise<readonly string[]> {
  const rows = await inChunks(merged, (some) =>
    db.selectFrom('conversations').select(['id', 'root']).where('root', 'in', some).execute(),
  );
  for (const { id } of rows) {
    await db.deleteFrom('conversation_keys').where('conversation', '=', id).execute();
    await db.deleteFrom('conversations').where('id', '=', id).execute();
  }
  return rows.map((row) => row.root);
}

interface Keyed {
  readonly id: number;
  readonly record: ConversationRecord;
  /** True if some of its keys may be stored already. */
  readonly old: boolean;
}
async function insertNew(db: Kysely<Tables>, plans: readonly Plan[]): Promise<readonly Keyed[]> {
  const fresh = plans.filter((p) => p.old === undefined);
  const ids = await inChunks(fresh, (some) =>
    db
      .insertInto('conversations')
      .values(some.map(({ row, place }) => ({ ...row, change: place })))
      .returning(['id', 'root'])
      .execute(),
  );
  const idOf = new Map(ids.map(({ id, root }) => [root, id]));
  return fresh.map(({ row, record }) => ({ id: idOf.get(row.root)!, record, old: false }));
}
async function updateOld(db: Kysely<Tables>, plans: readonly Plan[]): Promise<readonly Keyed[]> {
  const known: Keyed[] = [];
  for (const { old, row, record, place } of plans) {
    if (old === undefined) continue;
    const change = place === 0 ? {} : { change: place };
    await db
      .updateTable('conversations')
      .set({ ...row, ...change })
      .where('id', '=', old.id)
      .execute();
    known.push({ id: old.id, record, old: true });
  }
  return known;
}
async function writeKeys(db: Kysely<Tables>, conversations: readonly Keyed[]): Promise<void> {
  const old = conversations.filter((c) => c.old).map((c) => c.id);
  const stored = await inChunks(old, (some) =>
    db.selectFrom('conversation_keys').selectAll().where('conversation', 'in', some).execute(),
  );
  const before = Map.groupBy(stored, (row) => row.conversation);
  const text = (rows: readonly ConversationKeyRow[]): string =>
    rows
      .map((r) => JSON.stringify([r.kind, r.value, r.started_ms]))
      .sort()
      .join();
  const rows: ConversationKeyRow[] = [];
  for (const { id, record } of conversations) {
    const now = keysOf(record).map((key) => ({ ...key, started_ms: record.started, conversation: id }));
    const then = before.get(id) ?? [];
    if (then.length > 0 && text(now) === text(then)) continue;
    if (then.length > 0) await db.deleteFrom('conversation_keys').where('conversation', '=', id).execute();
    rows.push(...now);
  }
  await insertAll(rows, (some) => db.insertInto('conversation_keys').values(some).execute());
}
