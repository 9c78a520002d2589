/** Names and numbers of everybody, each once: a search looks through these few instead of through every conversation. */
import type { Kysely } from 'kysely';
import { fold } from '@offhook/contract/search.ts';
import type { Store } from '../../../ports/store.ts';
import { inChunks, insertAll } from '../chunks.ts';
import type { ConversationRecord, RecordedParticipant } from '../record.ts';
import type { Tables } from '../tables.ts';
import { createTexts } from '../texts.ts';
import type { Key } from './sources.ts';

/** A key is cut to this: what a caller sends as its number may be any length, and an index takes less. */
export const KEY_LIMIT = 64;
const NAME_LIMIT = 256;

type Term = Omit<Tables['conversation_terms'], 'id'>;
/** By which key a list finds somebody; null for who showed neither a number nor a name. */
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
    // Each cut by itself: what a caller sends as its name may be any length, and its number is searched all the same.
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

export interface Terms {
  /** Keys whose names or numbers hold the text; null where they are more than `most`, or are not known yet (texts.ts). */
  find(text: string, most: number): Promise<readonly Key[] | null>;
}

export function createTerms(store: Store): Terms {
  const texts = createTexts(store, 'conversation_terms');
  return {
    async find(text, most) {
      const found = await texts.find(text, most);
      if (found === null) return null;
      const rows = await inChunks(found, (some) =>
        store
          .db<Tables>()
          .selectFrom('conversation_terms')
          .select(['kind', 'value'])
          .where('id', 'in', some)
          .execute(),
      );
      return [...new Map(rows.map((key) => [`${key.kind} ${key.value}`, key])).values()];
    },
  };
}
