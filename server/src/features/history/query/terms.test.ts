import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { historyScene } from '../../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../../test/support/history-scene.ts';
import { STARTED, recordOf } from '../../../../test/support/conversation-record.ts';
import { conversationsRig } from '../../../../test/support/conversations-rig.ts';
import type { Tables } from '../store/tables.ts';
import { keysWith, writeTerms } from './terms.ts';

type Row = { kind: 'number'; value: string; text: string };
async function fill(scene: HistoryScene, rows: readonly Row[]): Promise<void> {
  await scene.store.transaction<Tables, void>(async (db) => {
    for (let i = 0; i < rows.length; i += 1_000)
      await db
        .insertInto('conversation_terms')
        .values(rows.slice(i, i + 1_000))
        .execute();
  });
}

test('conversation terms - conversations with a text are found, at any length and after later conversations', async () => {
  await using scene = await historyScene();
  const find = (text: string, most: number) => keysWith(scene.store.db<Tables>(), text, most);
  assert.deepEqual(await find('anna', 10), []);
  const row = (i: number, text: string): Row => ({ kind: 'number', value: String(i), text });
  const rows = Array.from({ length: 25_000 }, (_, i) => row(i, `name ${i} \u00e9 ${i % 7}`));
  await fill(scene, rows);
  const expected = (text: string): readonly string[] =>
    rows.filter((r) => r.text.includes(text)).map((r) => r.value);
  const found = async (text: string): Promise<readonly string[]> =>
    (await find(text, 30_000))!.map((key) => key.value);
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.integer({ min: 0, max: 26_000 }).map(String),
        fc.constantFrom('name 9999', 'e 10000', '4 \u00e9', '\u00e9 6', 'name', 'x', '0', '24999', 'name 0 '),
      ),
      async (text) => assert.deepEqual(await found(text), expected(text)),
    ),
    { numRuns: 60 },
  );
  assert.equal(await find('name', 1_000), null, 'more than asked for');
  rows.push(row(90_000, 'late'));
  await fill(scene, rows.slice(-1));
  assert.deepEqual(await found('late'), ['90000']);
});

test('conversation terms - an erased party is not found', async () => {
  await using scene = await historyScene();
  const find = (text: string, most: number) => keysWith(scene.store.db<Tables>(), text, most);
  const anna = { number: '030901820', number_e164: '+4930901820', name: 'Anna' };
  const records = [recordOf({ id: 'ast1:1.1', called: anna }), recordOf({ id: 'ast1:2.1', called: anna })];
  const { store } = scene;
  for (const record of records) await store.transaction<Tables, void>((db) => writeTerms(db, [record]));
  assert.deepEqual(await find('anna', 9), [{ kind: 'number', value: '030901820' }]);
  await store.transaction<Tables, void>(async (db) => {
    await db.deleteFrom('conversation_terms').where('value', '=', '030901820').execute();
  });
  assert.deepEqual(await find('anna', 9), []);
  assert.deepEqual(await find('ada', 9), [{ kind: 'person', value: '1001' }], 'others still are');
});

test('conversation terms - a party with a name and no number is found by the name', async () => {
  await using rig = await conversationsRig();
  await rig.put([
    recordOf({ id: 'ast1:1.1', caller: { number: '', name: 'Praxis Dr. Öz' } }),
    recordOf({ id: 'ast1:2.1' }),
  ]);
  const { body } = await rig.get('/api/v1/conversations?q=dr.+oz');
  assert.deepEqual(
    body.conversations.map((c: { id: string }) => c.id),
    ['ast1:1.1'],
  );
});

test('conversation terms - a party with a very long name is found by its number', async () => {
  await using rig = await conversationsRig();
  const number = '030901820';
  await rig.put([recordOf({ id: 'ast1:1.1', caller: { number, name: `Nil ${'n'.repeat(1_000)}` } })]);
  for (const q of ['0901820', 'nil nn', 'n'.repeat(64)]) {
    const { body } = await rig.get(`/api/v1/conversations?q=${q}`);
    assert.equal(body.conversations.length, 1, q);
  }
});

test('conversation terms - a text shared by hundreds of people finds the same as one shared by few', async () => {
  await using rig = await conversationsRig();
  const records = Array.from({ length: 600 }, (_, i) =>
    recordOf({
      id: `ast1:${i}.1`,
      started: STARTED + ((i * 7) % 600),
      called: { number: `0555${i}`, name: i % 2 === 0 ? `Acme ${i % 300}` : 'Other' },
    }),
  );
  await rig.put(records);
  const expected = records
    .filter((r) => r.parties[1]!.name.startsWith('Acme'))
    .toSorted((a, b) => b.started - a.started)
    .map((r) => r.id);
  const seen: string[] = [];
  let cursor = '';
  do {
    const { body } = await rig.get(`/api/v1/conversations?q=ACME&limit=70&person=1001${cursor}`);
    seen.push(...body.conversations.map((c: { id: string }) => c.id));
    cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
  } while (cursor !== '');
  assert.deepEqual(seen, expected);
});
