/** Names and numbers of everybody, each once: a search looks through these few instead of through every conversation. */
import { setImmediate } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { fold } from '../../../core/fold.ts';
import type { Store } from '../../../ports/store.ts';
import { inChunks, insertAll } from '../chunks.ts';
import type { ConversationRecord, RecordedParticipant } from '../record.ts';
import type { Tables } from '../tables.ts';
import type { Key } from './sources.ts';

/** A key is cut to this: what a caller sends as its number may be any length, and an index takes less. */
export const KEY_LIMIT = 64;
const NAME_LIMIT = 256;
/** Terms of one block, which is searched in about 0.3 ms. */
const BLOCK = 10_000;
/** After these, others get their turn. */
const BLOCKS_AT_ONCE = 10;
/** So many are read while a search waits; more in the background. */
const AT_ONCE = 50_000;
/** Beyond this many bytes the terms are not kept in memory, and a search reads conversations instead. */
const MAX_BYTES = 256 * 1_048_576;

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
/** For an erasure: nobody is found by these keys' names and numbers any more. */
export async function forgetTerms(db: Kysely<Tables>, keys: readonly Key[]): Promise<void> {
  for (const { kind, value } of keys)
    await db.deleteFrom('conversation_terms').where('kind', '=', kind).where('value', '=', value).execute();
}

interface Block {
  readonly ids: number[];
  /** The texts, each after a line break; joined once the block is full. */
  texts: string[] | Buffer;
  starts: Uint32Array;
}
export interface Terms {
  /**
   * Keys whose names or numbers hold the text; null where they are more than `most`, or are not known yet. O(bytes of all
   * terms), about 0.3 ms for 100,000.
   */
  find(text: string, most: number): Promise<readonly Key[] | null>;
}

export function createTerms(store: Store): Terms {
  let blocks: Block[] = [];
  let newest = 0;
  let bytes = 0;
  let loading: Promise<void> | null = null;

  async function load(): Promise<void> {
    for (;;) {
      const rows = await store
        .db<Tables>()
        .selectFrom('conversation_terms')
        .select(['id', 'text'])
        .where('id', '>', newest)
        .orderBy('id')
        .limit(BLOCK)
        .execute();
      for (const { id, text } of rows) {
        let last = blocks.at(-1);
        if (last === undefined || last.ids.length >= BLOCK) {
          last = { ids: [], texts: [], starts: new Uint32Array() };
          blocks.push(last);
        }
        last.ids.push(Number(id));
        (last.texts as string[]).push(text);
        newest = Number(id);
        bytes += text.length;
        if (last.ids.length === BLOCK) seal(last);
      }
      if (rows.length < BLOCK || bytes > MAX_BYTES) return;
      // Reading is done at once on SQLite: others get their turn between two blocks.
      await setImmediate();
    }
  }
  /** Brings what is in memory up to date; false while there is too much of it to wait for. */
  async function current(): Promise<boolean> {
    if (bytes > MAX_BYTES) return false;
    const last = await store
      .db<Tables>()
      .selectFrom('conversation_terms')
      .select((e) => e.fn.max('id').as('id'))
      .executeTakeFirst();
    const behind = Number(last?.id ?? 0) - newest;
    if (behind <= 0) return true;
    loading ??= load().finally(() => {
      loading = null;
    });
    // What fails in the background fails again for the next who waits.
    loading.catch(() => {});
    if (behind > AT_ONCE) return false;
    await loading;
    return bytes <= MAX_BYTES;
  }
  return {
    async find(text, most) {
      if (!(await current())) return null;
      const found: number[] = [];
      const needle = Buffer.from(text);
      for (const [n, block] of blocks.entries()) {
        if (n % BLOCKS_AT_ONCE === BLOCKS_AT_ONCE - 1) await setImmediate();
        if (Array.isArray(block.texts)) {
          const { ids, texts } = block;
          found.push(...ids.filter((_id, at) => (texts as string[])[at]!.includes(text)));
        } else search(block, block.texts, needle, most - found.length, found);
        if (found.length > most) return null;
      }
      const rows = await inChunks(found, (some) =>
        store
          .db<Tables>()
          .selectFrom('conversation_terms')
          .select(['kind', 'value'])
          .where('id', 'in', some)
          .execute(),
      );
      // Some were erased: what is in memory is read anew.
      if (rows.length < found.length) [blocks, newest, bytes] = [[], 0, 0];
      return [...new Map(rows.map((key) => [`${key.kind} ${key.value}`, key])).values()];
    },
  };
}

function seal(block: Block): void {
  const texts = (block.texts as string[]).map((text) => Buffer.from(`\n${text}`));
  let at = 0;
  block.starts = Uint32Array.from(texts, (text) => (at += text.length) - text.length);
  block.texts = Buffer.concat(texts);
}
/** Adds the ids of the terms that hold the needle, one more than `most` at most. */
function search(block: Block, texts: Buffer, needle: Buffer, most: number, found: number[]): void {
  const { ids, starts } = block;
  let n = 0;
  for (let at = texts.indexOf(needle), hits = 0; at >= 0 && hits <= most; hits += 1) {
    let [low, high] = [n, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (starts[middle]! <= at) low = middle;
      else high = middle;
    }
    found.push(ids[low]!);
    n = low + 1;
    at = n < starts.length ? texts.indexOf(needle, starts[n]!) : -1;
  }
}
