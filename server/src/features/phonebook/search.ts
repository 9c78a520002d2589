import type { Kysely } from 'kysely';
import { digitsOf, fold } from '@offhook/contract/search.ts';
import { isSqlite, newestWith } from '../../core/text-index.ts';
import type { Block } from '../../core/text-index.ts';
import type { Page } from './reads.ts';
import { NEWEST, rowOf, seenBy } from './rows.ts';
import type { CustomerRow } from './rows.ts';
import type { Tables } from './tables.ts';

/** Ids per read after the first block; some belong to personal customers of others and are left out. */
const AT_ONCE = 256;
/** The beginning of a number in E.164. */
const BEGINNING = /^\+\d{3,32}$/;
/** Limit of numbers with a prefix that a page sorts; with more of them the text index finds the newest quickly. */
const FEW = 8_192;
/** Limit of reads per page of a search. */
const MOST_READS = 8;

/** Words of a search; a number is one word without its separators. */
function wordsOf(q: string): readonly string[] {
  const digits = digitsOf(q);
  if (digits !== null) return [digits.replace(/^00(?=[1-9])/, '+')];
  return fold(q)
    .split(' ')
    .filter((word) => word !== '');
}
/** Search in the texts of customers. */
export function searchIn(db: Kysely<Tables>) {
  async function read(ids: readonly number[], person: number): Promise<CustomerRow[]> {
    if (ids.length === 0) return [];
    const rows = await db
      .selectFrom('customers')
      .selectAll()
      .where('id', 'in', ids)
      .where('person_id', 'in', seenBy(person))
      .orderBy('id', 'desc')
      .execute();
    return rows.map(rowOf);
  }
  const begins = (digits: string) =>
    db
      .selectFrom('customer_numbers')
      .where('key', '>=', digits)
      // The character after the digits.
      .where('key', '<', `${digits}:`);
  /**
   * Whether few enough numbers begin with `digits` to sort all of them for a page. The text index would scan the
   * numbers of the country, newest first, until a page is full, because all share the first three characters.
   */
  async function isRare(digits: string): Promise<boolean> {
    if (!isSqlite(db)) return false;
    const beyond = begins(digits).select('customer_id').orderBy('key').limit(1).offset(FEW);
    return (await beyond.executeTakeFirst()) === undefined;
  }
  /** Ids below `before` of customers with a number that begins so, newest first, at most `most`. */
  async function beginningWith(digits: string, before: number, most: number): Promise<Block> {
    const rows = await begins(digits)
      .select('customer_id')
      .distinct()
      .where('customer_id', '<', before)
      .orderBy('customer_id', 'desc')
      .limit(most)
      .execute();
    const ids = rows.map(({ customer_id }) => customer_id);
    return { ids, next: ids.length < most ? null : ids.at(-1)! };
  }
  return {
    /** Customers that this person sees with every word of `q`, newest first. A page may be short before the end. */
    async search(person: number, q: string, before: number | null, limit: number): Promise<Page> {
      const words = wordsOf(q);
      const [first = ''] = words;
      const isNumber = words.length === 1 && BEGINNING.test(first) && (await isRare(first));
      const rows: CustomerRow[] = [];
      let next: number | null = before ?? NEWEST;
      for (let reads = 0; next !== null && reads < MOST_READS && rows.length <= limit; reads += 1) {
        const most = reads === 0 ? limit + 1 : AT_ONCE;
        const block: Block = isNumber
          ? await beginningWith(first, next, most)
          : await newestWith(db, 'customer_texts', words, next, most);
        rows.push(...(await read(block.ids, person)));
        next = block.next;
      }
      const page = rows.slice(0, limit);
      return { rows: page, next: rows.length > limit ? page.at(-1)!.id : next };
    },
  };
}
