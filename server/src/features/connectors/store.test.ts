import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import * as ledger from './ledger.ts';
import { createConnectorStore } from './store.ts';
import { migrations } from './tables.ts';
import type { Tables } from './tables.ts';

test('connectors - rows of the ledger from before recordings were attached are kept, and one more of each recording fits', async () => {
  await using temp = await temporaryStore();
  await temp.store.migrate(
    'connectors',
    migrations.filter(({ id }) => id < '0143'),
  );
  const before = {
    id: 7,
    connector: 1,
    conversation: 'a:1',
    state: 'uncertain',
    task: 'create',
    wanted: 1,
    remote_id: null,
    customer_id: 'c1',
    wanted_change: 9,
    sent_change: 3,
    sent_hash: 'h',
    attempts: 2,
    first_at: 4,
    last_at: 5,
    next_at: 6,
    status: 500,
    words: 'who knows',
  } as const;
  // The column `recording` does not exist yet.
  const old = temp.store.db<{ connector_entries: Omit<Tables['connector_entries'], 'recording'> }>();
  await old.insertInto('connector_entries').values(before).execute();
  const store = await createConnectorStore(temp.store);
  const row = await store.one(1, 7);
  assert.deepEqual(row, { ...before, recording: '' });
  const { id: _id, ...copy } = { ...row!, recording: 'r1', state: 'waiting' as const };
  await store.recordings(1, 'a:1', () => [copy]);
  await assert.rejects(
    store.recordings(1, 'a:1', () => [copy]),
    'a second row of the same recording',
  );
  const rows = await store.entries(1, { limit: 9, before: null, state: null, conversation: null });
  assert.deepEqual(
    rows.map(({ id, recording }) => [id, recording]),
    [
      [8, 'r1'],
      [7, ''],
    ],
  );
  const none = { rows: [], next_at: null };
  assert.deepEqual(await store.due(1, 'recording', 1_000, 9), none, 'the entry has no id yet');
  await store.decide(7, (entry) => ({ ...entry, remote_id: 'e1' }));
  assert.deepEqual((await store.due(1, 'recording', 1_000, 9)).rows, [rows[0]!]);
});

test('connectors - due rows after another one are read in the order of their time and id', async () => {
  await using temp = await temporaryStore();
  const store = await createConnectorStore(temp.store);
  const opened = (conversation: string, now: number) =>
    ledger.opened(
      { connector: 1, conversation, recording: '', change: 1, wants: 'entry', words: null, doubtful: false },
      now,
    )!;
  const noted = [opened('a', 20), opened('b', 10), opened('c', 10), opened('d', 2_000)];
  await store.advance(1, { cursor: 'x', doubt_ms: 0 }, ['a', 'b', 'c', 'd'], () => noted);
  const names = async (after: { readonly next_at: number; readonly id: number } | null, most: number) =>
    (await store.due(1, 'entry', 1_000, most, after)).rows.map(({ conversation }) => conversation);
  assert.deepEqual(await names(null, 9), ['b', 'c', 'a']);
  const [first] = (await store.due(1, 'entry', 1_000, 1)).rows;
  assert.deepEqual(await names(first!, 1), ['c']);
  assert.deepEqual(await names(first!, 9), ['c', 'a']);
});
