import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryStore } from '../../test/conformance/store-temp.ts';
import { createIntentStore, migrations as agents } from '../features/agents/store.ts';
import { migrations as objects } from '../features/pbx-config/tables.ts';
import type { ObjectTables } from '../features/pbx-config/tables.ts';
import { membersHere } from './standby.ts';

test('standby - a takeover adds members only to queues that the leading engine has', async () => {
  await using temp = await temporaryStore();
  const { store } = temp;
  await store.migrate('agents', agents);
  await store.migrate('pbx-config', objects);
  const queue = (
    key: string,
    engine: string | null | undefined,
    until_version: number | null,
    since_version = 1,
  ) => ({
    id: 1,
    kind: 'queue',
    key,
    body: JSON.stringify({ name: key, engine }),
    since_version,
    until_version,
  });
  await store
    .db<ObjectTables>()
    .insertInto('config_objects')
    .values([
      queue('sales', null, null),
      queue('support', 'b', null),
      queue('moved', 'b', 2),
      queue('moved', null, null, 2),
      queue('of an earlier version', undefined, null),
    ])
    .execute();
  const state = {
    member: true,
    paused: false,
    reason: '',
    source: 'agent',
    dynamic: true,
    penalty: 0,
  } as const;
  const times = { since: 1, noted_at: 1, version: 1, settled: false };
  await createIntentStore(store, { record: async () => undefined }).save({
    intents: ['sales', 'support', 'moved', 'of an earlier version', 'written by hand'].map((name) => ({
      extension: '1003',
      queue: name,
      ...state,
      ...times,
    })),
    facts: {},
    trail: [],
  });
  assert.deepEqual((await membersHere(store)).map((one) => one.queue).toSorted(), [
    'moved',
    'of an earlier version',
    'sales',
    'written by hand',
  ]);
});
