import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Generated } from 'kysely';
import { createTextIndex, textsWith } from '../../src/core/text-index.ts';
import type { Migration, Store } from '../../src/ports/store.ts';

interface Tables {
  word: { id: Generated<number>; text: string };
}
const words: Migration = {
  id: '0101-words',
  async up(db) {
    await db.schema
      .createTable('word')
      .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
      .addColumn('text', 'text', (c) => c.notNull().unique())
      .execute();
    await db
      .insertInto('word' as never)
      .values({ text: 'was there before' } as never)
      .execute();
  },
};
const indexed: Migration = { id: '0102-index', up: (db) => createTextIndex(db, 'word') };

/** Results of a search for a part of a text in every Store. */
export function textConformance(withEmpty: (work: (store: Store) => Promise<void>) => Promise<void>): void {
  const letters = fc.constantFrom(
    'a',
    'b',
    'é',
    'ß',
    '😀',
    '1',
    '+',
    '"',
    "'",
    '%',
    '_',
    '\\',
    '*',
    ' ',
    '\n',
  );
  const text = (most: number) => fc.array(letters, { minLength: 1, maxLength: most }).map((l) => l.join(''));

  it('store - a search finds every text that contains another one, whatever the text, and no deleted one', () =>
    withEmpty(async (store) => {
      await store.migrate('words', [words, indexed]);
      const db = store.db<Tables>();
      const inOrder = (ids: readonly number[]) => ids.toSorted((a, b) => a - b);
      const search = async (part: string) => inOrder((await textsWith(db, 'word', part, 500))!);
      assert.equal((await search('there')).length, 1, 'a text from before the index');
      const texts = fc.sample(text(12), { numRuns: 300, seed: 7 });
      const unique = [...new Set(texts)].map((one) => ({ text: one }));
      await store.transaction<Tables, void>(async (trx) => {
        await trx.insertInto('word').values(unique).execute();
      });
      const check = async (part: string): Promise<void> => {
        const all = await db.selectFrom('word').selectAll().execute();
        const expected = all.filter((row) => row.text.includes(part)).map((row) => Number(row.id));
        assert.deepEqual(await search(part), inOrder(expected), JSON.stringify(part));
      };
      for (const part of fc.sample(text(5), { numRuns: 60, seed: 11 })) await check(part);
      await store.transaction<Tables, void>(async (trx) => {
        await trx.deleteFrom('word').where('id', '>', 100).execute();
      });
      for (const part of fc.sample(text(4), { numRuns: 30, seed: 12 })) await check(part);
      assert.equal(await textsWith(db, 'word', 'a', 3), null, 'more than asked for');
    }));
}
