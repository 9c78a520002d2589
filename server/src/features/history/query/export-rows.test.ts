import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { ConversationFilter } from '@offhook/contract/conversations.ts';
import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import type { Principal } from '../../../rights/rights.ts';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import { temporaryStore } from '../../../../test/conformance/store-temp.ts';
import { STARTED, recordOf } from '../../../../test/support/conversation-record.ts';
import { writeConversations } from '../ingest/conversation-rows.ts';
import { migrations } from '../store/migrations.ts';
import type { Tables } from '../store/tables.ts';
import { createConversationRows } from './export-rows.ts';

const supervisor: Principal = { extension: '1002', level: 'supervisor', key: null };
const person = (extension: string): Principal => ({ extension, level: 'user', key: null });
const at = (column: (typeof EXPORT_COLUMNS)[number]) => EXPORT_COLUMNS.indexOf(column);

async function rig(t: TestContext) {
  const temp = await temporaryStore();
  t.after(() => temp[Symbol.asyncDispose]());
  const { store } = temp;
  await store.migrate('history', migrations);
  const rows = createConversationRows({ store, recordings: {} as RecordingIndex, country: 'DE' });
  return {
    store,
    rows,
    write: (...stories: Parameters<typeof recordOf>[0][]) =>
      store.transaction<Tables, void>(async (db) => {
        const stored = stories.map((s) => ({ root: s.id, record: recordOf(s), over: true }));
        await writeConversations(db, stored, []);
      }),
    async read(
      reader: Principal,
      filter: ConversationFilter,
      limit = 3,
      between?: (n: number) => Promise<void>,
    ) {
      const { bound } = await rows.begin(reader, filter);
      const found: unknown[][] = [];
      for (let after = null as { started_ms: number; id: number } | null, n = 0; ; n += 1) {
        const page = await rows.page(reader, filter, { bound, after, limit });
        found.push(...page.lines.map((line) => JSON.parse(line) as unknown[]));
        await between?.(n);
        if (page.next === null) return found;
        after = page.next;
      }
    },
  };
}
const ids = (rows: readonly unknown[][]): unknown[] => rows.map((row) => row[0]);

test('export rows - newest first, each once, in the columns of the contract, without later conversations', async (t) => {
  const r = await rig(t);
  const story = (n: number) => ({ id: `ast1:1.${n}`, started: STARTED + (n % 4) * 1_000, queue: 'support' });
  await r.write(...Array.from({ length: 10 }, (_, n) => story(n)));
  const found = await r.read(supervisor, {}, 3, (n) => r.write({ ...story(100 + n), id: `ast1:9.${n}` }));
  assert.equal(new Set(ids(found)).size, 10);
  assert.equal(found.length, 10);
  assert.deepEqual(
    found.map((row) => row[at('started_at')]),
    found.map((row) => row[at('started_at')] as string).toSorted((a, b) => (a < b ? 1 : -1)),
  );
  const [row] = found;
  assert.equal(row!.length, EXPORT_COLUMNS.length);
  assert.deepEqual(
    [row![at('state')], row![at('revision')], row![at('erased')], row![at('queues')]],
    ['final', 1, 0, 'support'],
  );
});

test('export rows - limited to what the reader may see and to every filter at once', async (t) => {
  const r = await rig(t);
  const caller = { number: '030 123456', number_e164: '+4930123456', name: '100% "=cmd" O\'Neil' };
  await r.write(
    { id: 'ast1:1.1', caller, queue: 'support', direction: 'in' },
    { id: 'ast1:1.2', caller, called: { extension: '1003' }, direction: 'in' },
    { id: 'ast1:1.3', caller: { extension: '1001' }, called: { extension: '1003' }, disposition: 'missed' },
  );
  const cases: readonly (readonly [Principal, ConversationFilter, readonly string[]])[] = [
    [person('1001'), {}, ['ast1:1.3']],
    [person('1001'), { person: '1002' }, []],
    [person('1004'), {}, []],
    [supervisor, { number: '+4930123456' }, ['ast1:1.2', 'ast1:1.1']],
    [supervisor, { number: '0049 30 123456' }, ['ast1:1.2', 'ast1:1.1']],
    [supervisor, { q: '% "=cmd" o\'n', person: '1003' }, ['ast1:1.2']],
    [supervisor, { q: '%', queue: 'support' }, ['ast1:1.1']],
    [supervisor, { q: "'; drop table conversations; --" }, []],
    [supervisor, { disposition: 'missed' }, ['ast1:1.3']],
    [supervisor, { from: '2026-11-21T10:00:00Z' }, []],
    [
      {
        extension: '',
        level: 'supervisor',
        key: { id: 1, name: 'k', scopes: ['history:read'], queues: null, extensions: ['1003'] },
      },
      {},
      ['ast1:1.3', 'ast1:1.2'],
    ],
  ];
  for (const [reader, filter, expected] of cases) {
    const what = JSON.stringify([reader.extension, filter]);
    assert.deepEqual(ids(await r.read(reader, filter)), expected, what);
    assert.equal((await r.rows.begin(reader, filter)).estimated, expected.length, what);
  }
  await assert.rejects(
    r.rows.begin(supervisor, { from: '2026-11-21T10:00:00Z', to: '2026-11-21T09:00:00Z' }),
    { code: 'invalid_request' },
  );
});
