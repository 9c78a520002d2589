/** Texts of a table, each once and in memory: a search looks through these few instead of through every row that has one. */
import { setImmediate } from 'node:timers/promises';
import type { Store } from '../../ports/store.ts';
import { inChunks } from './chunks.ts';
import type { Tables } from './tables.ts';

/** Terms of one block, which is searched in about 0.3 ms. */
const BLOCK = 10_000;
/** After these, others get their turn. */
const BLOCKS_AT_ONCE = 10;
/** So many are read while a search waits; more in the background. */
const AT_ONCE = 50_000;
/** Beyond this many bytes the terms are not kept in memory, and a search reads conversations instead. */
const MAX_BYTES = 256 * 1_048_576;

interface Block {
  readonly ids: number[];
  /** The texts, each after a line break; joined once the block is full. */
  texts: string[] | Buffer;
  starts: Uint32Array;
}
export interface Texts {
  /**
   * Ids of the texts that hold this one; null where they are more than `most`, or are not known yet. O(bytes of all texts),
   * about 0.3 ms for 100,000.
   */
  find(text: string, most: number): Promise<readonly number[] | null>;
}

export function createTexts(store: Store, table: 'conversation_terms' | 'history_terms'): Texts {
  let blocks: Block[] = [];
  let newest = 0;
  let bytes = 0;
  let loading: Promise<void> | null = null;

  async function load(): Promise<void> {
    for (;;) {
      const rows = await store
        .db<Tables>()
        .selectFrom(table)
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
      .selectFrom(table)
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
        store.db<Tables>().selectFrom(table).select('id').where('id', 'in', some).execute(),
      );
      // Some were erased: what is in memory is read anew.
      if (rows.length < found.length) [blocks, newest, bytes] = [[], 0, 0];
      return rows.map((row) => Number(row.id));
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
