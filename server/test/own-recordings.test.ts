import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Tables as HistoryTables } from '../src/features/history/store/tables.ts';
import { createKnownConversations } from '../src/features/history/query/read.ts';
import { newRecordingId } from '../src/features/recordings/ids.ts';
import { createRecordingService } from '../src/features/recordings/service.ts';
import type { ServiceDeps } from '../src/features/recordings/service.ts';
import { createRecordingStore } from '../src/features/recordings/store.ts';
import type { RecordingRow } from '../src/features/recordings/tables.ts';
import type { Caller } from '../src/ports/http.ts';
import { historyScene, recorded } from './support/history-scene.ts';

const BEGIN = Date.parse('2026-11-01T08:00:00Z');
const MINUTE = 60_000;
const CONVERSATIONS = 700;
/** Minutes of a conversation: most are short, some much longer than an hour. */
const LENGTHS = [1, 2, 3, 5, 8, 20, 61, 300, 3_000];

/**
 * Conversations of two minutes' distance with up to two recordings each. 1001 and 1004 talked in those they took part in, 1003
 * and 2001 only rang; 1004 took part in all, 1001 in every hundredth.
 */
async function manyRecordings(t: TestContext) {
  const scene = await historyScene();
  t.after(async () => await scene[Symbol.asyncDispose]());
  await scene.feed(...recorded('queue-answered'));
  const { store } = scene;
  const db = store.db<HistoryTables>();
  const sample = await db.selectFrom('conversations').selectAll().executeTakeFirstOrThrow();
  const recordings = await createRecordingStore(store);
  const all: { row: RecordingRow; people: readonly string[] }[] = [];
  const conversations: object[] = [];
  const keys: object[] = [];
  const calls: { call: string; root: string }[] = [];
  for (let n = 0; n < CONVERSATIONS; n += 1) {
    const started_ms = BEGIN + n * 2 * MINUTE;
    const length = LENGTHS[(n * 7) % LENGTHS.length]! * MINUTE;
    const root = `ast1:9.${n}`;
    const id = 1_000 + n;
    const open = n % 97 === 5;
    const ended_ms = started_ms + (open ? 0 : length);
    const state = open ? ('open' as const) : ('final' as const);
    conversations.push({ ...sample, id, root, change: id, state, started_ms, ended_ms });
    const people = ['1004', ...(n % 100 === 3 ? ['1001'] : []), n % 2 === 0 ? '1003' : '2001'];
    for (const value of people) keys.push({ kind: 'person', value, started_ms, conversation: id });
    calls.push({ call: root, root }, { call: `ast1:7.${n}`, root });
    for (let part = 0; part < n % 3; part += 1) {
      const at = started_ms + Math.floor(length * (part === 0 ? 0.01 : 0.9));
      const extension = n % 5 === 0 ? '2001' : n % 7 === 0 ? '1003' : null;
      const row: RecordingRow = {
        id: newRecordingId(at),
        call: part === 0 ? root : `ast1:7.${n}`,
        channel: `ast1:8.${n}.${part}`,
        file: `f-${n}-${part}.wav`,
        by: 'queue',
        extension,
        queue: n % 4 === 0 ? 'sales' : 'support',
        started_ms: at,
        ended_ms: at + 1_000,
        paused: '[]',
        state: 'stored',
        bytes: 1,
        sha256: 'x',
      };
      all.push({ row, people });
      await recordings.add(row);
    }
  }
  await store.transaction<HistoryTables, void>(async (trx) => {
    for (let i = 0; i < CONVERSATIONS; i += 100)
      await trx
        .insertInto('conversations')
        .values(conversations.slice(i, i + 100) as never)
        .execute();
    for (let i = 0; i < keys.length; i += 500)
      await trx
        .insertInto('conversation_keys')
        .values(keys.slice(i, i + 500) as never)
        .execute();
    for (let i = 0; i < calls.length; i += 500)
      await trx
        .insertInto('history_calls')
        .values(calls.slice(i, i + 500))
        .execute();
  });
  let read = 0;
  const counted = {
    ...recordings,
    async page(filter: Parameters<typeof recordings.page>[0]) {
      const rows = await recordings.page(filter);
      read += rows.length;
      return rows;
    },
  };
  const service = createRecordingService({
    store: counted,
    own: true,
    clock: { now: () => BEGIN },
    conversations: createKnownConversations(store, () => {}),
  } as unknown as ServiceDeps);
  return { all, service, read: () => read };
}
type Query = Parameters<ReturnType<typeof createRecordingService>['page']>[1];
const limitedTo = (...extensions: string[]): Caller =>
  ({ key: { scopes: ['recordings:read'], extensions, queues: null }, extension: '', level: 'user' }) as never;

test('own recordings - every page has exactly those of the own extension and of own talks, newest first', async (t) => {
  const { all, service } = await manyRecordings(t);
  const talked = ['1001', '1004'];
  const wanted = (extensions: readonly string[], keep: (row: RecordingRow) => boolean): string[] =>
    all
      .filter(
        ({ row, people }) =>
          // The record of every conversation is the sample, so one of them may be a key and another one the talker.
          extensions.some((one) => row.extension === one) ||
          (extensions.some((one) => people.includes(one)) && extensions.some((one) => talked.includes(one))),
      )
      .filter(({ row }) => keep(row))
      .map(({ row }) => row.id)
      .sort()
      .reverse();
  const listed = async (extensions: readonly string[], query: Query): Promise<string[]> => {
    const ids: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await service.page(limitedTo(...extensions), { ...query, cursor });
      ids.push(...page.recordings.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    return ids;
  };
  const from = new Date(BEGIN + 300 * MINUTE).toISOString();
  const to = new Date(BEGIN + 900 * MINUTE).toISOString();
  const within = ({ started_ms }: RecordingRow): boolean =>
    started_ms >= Date.parse(from) && started_ms < Date.parse(to);
  for (const extensions of [['1001'], ['1003'], ['1004'], ['2001'], ['1005'], ['1001', '1003', '1005']]) {
    const name = extensions.join();
    for (const limit of [23, 100])
      assert.deepEqual(
        await listed(extensions, { limit }),
        wanted(extensions, () => true),
        name,
      );
    assert.deepEqual(await listed(extensions, { limit: 50, from, to }), wanted(extensions, within), name);
    assert.deepEqual(
      await listed(extensions, { limit: 50, queue: 'sales' }),
      wanted(extensions, ({ queue }) => queue === 'sales'),
      name,
    );
    assert.deepEqual(
      await listed(extensions, { limit: 50, extension: '2001' }),
      wanted(extensions, ({ extension }) => extension === '2001'),
      name,
    );
  }
});

test('own recordings - a page reads the recordings of own conversations, not those of others', async (t) => {
  const { all, service, read } = await manyRecordings(t);
  const page = await service.page(limitedTo('1001'), { limit: 50 });
  assert.equal(page.recordings.length, all.filter(({ people }) => people.includes('1001')).length);
  assert.ok(read() <= 4 * page.recordings.length, `${read()} rows for ${page.recordings.length}`);
});
