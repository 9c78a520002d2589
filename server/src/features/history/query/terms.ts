/** Distinct names and numbers of all parties: a search scans these instead of every conversation. */
import type { Kysely } from 'kysely';
import { fold } from '@offhook/contract/search.ts';
import { textsWith } from '../../../core/text-index.ts';
import { inChunks, insertAll } from '../store/store.ts';
import type { ConversationRecord, RecordedParticipant } from '../record/record.ts';
import type { Tables } from '../store/tables.ts';
import type { Key, Place, Range, Source } from './sources.ts';
import { padded, within } from './sources.ts';

/** Length limit of a key: a caller's number may have any length, database indexes accept less. */
export const KEY_LIMIT = 64;
const NAME_LIMIT = 256;

type Term = Omit<Tables['conversation_terms'], 'id'>;
/** Filter key of a party; null for a party without number and name. */
export function keyOf({ extension, number, name }: RecordedParticipant): Key | null {
  if (extension !== null) return { kind: 'person', value: extension };
  if (number !== '') return { kind: 'number', value: number.slice(0, KEY_LIMIT) };
  const value = fold(name).slice(0, KEY_LIMIT);
  return value === '' ? null : { kind: 'name', value };
}
function termsOf({ caller, parties, dialled, dialled_e164 }: ConversationRecord): readonly Term[] {
  const nobody = { extension: null, name: '', trunk: null };
  const everybody = [
    ...(caller ? [caller] : []),
    ...parties,
    { ...nobody, number: dialled, number_e164: dialled_e164 },
  ];
  return everybody.flatMap((p): Term[] => {
    const key = keyOf(p);
    // Limited separately: a long name must not displace the number.
    const name = fold(p.name).slice(0, NAME_LIMIT);
    const numbers = [p.number, p.number_e164 ?? ''].map((number) => fold(number).slice(0, KEY_LIMIT));
    const text = [name, ...numbers].filter((part) => part !== '').join(' ');
    return key === null ? [] : [{ ...key, text }];
  });
}

export async function writeTerms(db: Kysely<Tables>, records: readonly ConversationRecord[]): Promise<void> {
  const terms = new Map(records.flatMap(termsOf).map((t) => [`${t.kind} ${t.value} ${t.text}`, t]));
  await insertAll([...terms.values()], (some) =>
    db
      .insertInto('conversation_terms')
      .values([...some])
      .onConflict((c) => c.columns(['kind', 'value', 'text']).doNothing())
      .execute(),
  );
}

/** Keys whose names or numbers contain the text; null where they are more than `most` (core/text-index.ts). */
export async function keysWith(
  db: Kysely<Tables>,
  text: string,
  most: number,
): Promise<readonly Key[] | null> {
  const found = await textsWith(db, 'conversation_terms', text, most);
  if (found === null) return null;
  const rows = await inChunks(found, (some) =>
    db.selectFrom('conversation_terms').select(['kind', 'value']).where('id', 'in', some).execute(),
  );
  return [...new Map(rows.map((key) => [`${key.kind} ${key.value}`, key])).values()];
}

/** Limit of matching names and numbers; for more, reading conversations in order is faster. */
const MOST_KEYS = 4_000;
/** Limit of conversations read and sorted at once; beyond it, the keys are merged in order of time. */
const MOST_PLACES = 10_000;
const SIDE_BY_SIDE = 128;
const CHUNK = 512;

/** Conversations with a party whose name or number contains the text; null for too many. */
export async function searchSource(
  db: Kysely<Tables>,
  text: string,
  range: Range,
): Promise<Exclude<Source, 'all'> | null> {
  const keys = await keysWith(db, text, MOST_KEYS);
  if (keys === null) return null;
  if (keys.length === 0) return { keys };
  const places = await placesOf(db, keys, range);
  if (places !== null) return { places };
  return keys.length <= SIDE_BY_SIDE ? { keys } : null;
}

/** Newest first; null above the limit. */
async function placesOf(
  db: Kysely<Tables>,
  keys: readonly Key[],
  range: Range,
): Promise<readonly Place[] | null> {
  const places = new Map<number, Place>();
  for (const [kind, some] of Map.groupBy(keys, (key) => key.kind)) {
    for (let i = 0; i < some.length; i += CHUNK) {
      let rows = db
        .selectFrom('conversation_keys')
        .select(['started_ms', 'conversation'])
        .where('kind', '=', kind)
        .where(
          'value',
          'in',
          padded(some.slice(i, i + CHUNK)).map((key) => key.value),
        );
      for (const condition of within(range)) rows = rows.where(condition);
      for (const row of await rows.limit(MOST_PLACES + 1).execute()) {
        const id = Number(row.conversation);
        places.set(id, { started_ms: Number(row.started_ms), id });
      }
      if (places.size > MOST_PLACES) return null;
    }
  }
  return [...places.values()].sort((a, b) => b.started_ms - a.started_ms || b.id - a.id);
}
