import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { temporaryStore } from '../../test/conformance/store-temp.ts';
import { createTextIndex, textsWith } from './text-index.ts';

interface Tables {
  readonly word: { readonly id: number; readonly text: string };
}
/** A word of every text, a word of old texts only, and rare words; the last has the signs that FTS5 and LIKE escape. */
const COMMON = 'company';
const OLD = 'mueller';
const SOME = ['271', '3141', 'a"b%_'];
const textOf = (n: number): string => `${COMMON} ${n < 20_000 ? OLD : SOME[n % 3]} ${n}`;

test('textsWith - finds the texts that contain the whole text, whichever of its words is rare', async () => {
  await using temp = await temporaryStore();
  const { store } = temp;
  const texts = Array.from({ length: 21_000 }, (_, n) => textOf(n));
  await store.migrate('text-index', [
    {
      id: '0101',
      async up(trx) {
        await trx.schema
          .createTable('word')
          .addColumn('id', 'integer', (c) => c.primaryKey())
          .addColumn('text', 'text', (c) => c.notNull())
          .execute();
        await createTextIndex(trx, 'word');
      },
    },
  ]);
  const db = store.db<Tables>();
  for (let id = 0; id < texts.length; id += 1_000) {
    const some = texts.slice(id, id + 1_000).map((text, n) => ({ id: id + n, text }));
    await db.insertInto('word').values(some).execute();
  }
  const whole = fc.constantFrom(...texts.filter((_, n) => n % 97 === 0 || n > 20_900));
  const cut = fc.record({ text: whole, from: fc.nat(20), length: fc.integer({ min: 3, max: 30 }) });
  await fc.assert(
    fc.asyncProperty(cut, async ({ text, from, length }) => {
      const part = text.slice(from, from + length);
      if (part.length < 3) return;
      const expected = texts.flatMap((one, id) => (one.includes(part) ? [id] : []));
      const found = await textsWith(db, 'word', part, texts.length);
      assert.deepEqual(
        found?.toSorted((a, b) => a - b),
        expected,
        part,
      );
    }),
    {
      numRuns: 200,
      examples: [[{ text: textOf(20_100), from: 0, length: 11 }], [{ text: textOf(5), from: 0, length: 18 }]],
    },
  );
  assert.equal(await textsWith(db, 'word', `${COMMON} ${OLD}`, 19_999), null, 'more than the limit');
});
