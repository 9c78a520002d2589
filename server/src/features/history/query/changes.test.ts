import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KyselyPlugin } from 'kysely';
import { ConversationChangesReply } from '@offhook/contract/conversation-list.ts';
import { STARTED, recordOf } from '../../../../test/support/conversation-record.ts';
import { conversationsRig, noRecordings } from '../../../../test/support/conversations-rig.ts';
import type { ConversationsRig } from '../../../../test/support/conversations-rig.ts';
import { touchConversations } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import { readChanges } from './changes.ts';

const PATH = '/api/v1/conversations/changes';
async function changes(rig: ConversationsRig, query: string, who?: string) {
  const { status, body } = await rig.get(`${PATH}${query}`, who);
  assert.equal(status, 200, JSON.stringify(body));
  return ConversationChangesReply.parse(body);
}
/** Follows the feed in small pages; returns the conversations that a client has at the end. */
async function follow(rig: ConversationsRig, held: Map<string, string>, since: number, who?: string) {
  for (let asked = 0; ; asked += 1) {
    assert.ok(asked < 100, 'the feed does not end');
    const reply = await changes(rig, `?since=${since}&limit=3`, who);
    let last = since;
    for (const { change, id, merged_into, conversation } of reply.changes) {
      assert.ok(change > last, 'ascending');
      last = change;
      if (conversation === null) {
        assert.ok(merged_into !== null);
        held.delete(id);
      } else held.set(id, `${conversation.state} ${conversation.revision}`);
    }
    assert.ok(reply.since >= last);
    since = reply.since;
    if (!reply.more) return since;
  }
}
const call = (n: number, over: Partial<Parameters<typeof recordOf>[0]> = {}) =>
  recordOf({ id: `ast1:${n}.1`, started: STARTED + n, ...over });

test('conversation changes - a position of another epoch, or after the newest change, is refused', async () => {
  await using rig = await conversationsRig();
  await rig.put([call(1), call(2)]);
  const { since, epoch } = await changes(rig, '');
  assert.deepEqual((await changes(rig, `?since=${since}&epoch=${epoch}`)).changes, []);
  for (const [query, detail] of [
    [`?since=${since + 1}`, `since: the newest change is ${since}; read the changes from the beginning`],
    [`?since=${since}&epoch=e0`, 'epoch: must be e1, the current one; read the changes from the beginning'],
  ] as const) {
    const { status, body } = await rig.get(`${PATH}${query}`);
    assert.deepEqual([status, body.code, body.detail], [409, 'position_unknown', detail]);
  }
});

test('conversation changes - a cursor has the epoch and the end of the reply', async () => {
  await using rig = await conversationsRig();
  await rig.put([call(1), call(2), call(3)]);
  const first = await changes(rig, '?limit=2');
  assert.deepEqual([first.changes.length, first.more], [2, true]);
  const rest = await changes(rig, `?limit=2&cursor=${encodeURIComponent(first.cursor)}`);
  assert.deepEqual([rest.changes.map(({ id }) => id), rest.more], [['ast1:3.1'], false]);
  const none = await changes(rig, `?cursor=${encodeURIComponent(rest.cursor)}`);
  assert.deepEqual([none.changes, none.cursor], [[], rest.cursor], 'the end has a cursor too');
  const refusals: [string, number, string][] = [
    [`e0:${rest.since}`, 409, 'cursor: belongs to another epoch; read the changes from the beginning'],
    [
      `e1:${rest.since + 1}`,
      409,
      `cursor: the newest change is ${rest.since}; read the changes from the beginning`,
    ],
    ['e1:x', 400, 'cursor: must be a cursor of this list'],
    [':5', 400, 'cursor: must have at least 3 characters'],
    [`${rest.cursor}&since=1`, 400, 'cursor: cannot be used with since or epoch'],
  ];
  for (const [cursor, status, detail] of refusals) {
    const reply = await rig.get(`${PATH}?cursor=${cursor}`);
    assert.deepEqual([reply.status, reply.body.detail], [status, detail]);
  }
});

test('conversation changes - a client that follows the feed has the stored conversations after any changes', async () => {
  await using rig = await conversationsRig();
  const held = new Map<string, string>();
  await rig.put([call(1, { complete: false }), call(2, { complete: false }), call(3), call(4), call(5)]);
  let since = await follow(rig, held, 0);
  assert.deepEqual(
    [...held.values()],
    ['open 0', 'open 0', 'final 1', 'final 1', 'final 1'],
    'everything there is, from the beginning',
  );
  assert.deepEqual(await changes(rig, `?since=${since}`), {
    success: true,
    changes: [],
    cursor: `e1:${since}`,
    since,
    epoch: 'e1',
    more: false,
  });
  await rig.put([call(1, { merged_from: ['ast1:2.1'] })], ['ast1:2.1']);
  await rig.put([call(3, { talk_ms: 9 })]);
  since = await follow(rig, held, since);
  assert.deepEqual(Object.fromEntries(held), {
    'ast1:1.1': 'final 1',
    'ast1:3.1': 'amended 2',
    'ast1:4.1': 'final 1',
    'ast1:5.1': 'final 1',
  });
  await rig.put([call(3, { talk_ms: 9 })]);
  assert.deepEqual((await changes(rig, `?since=${since}`)).changes, [], 'the same again is no change');
  const db = rig.scene.store.db<Tables>();
  await db.updateTable('conversations').set({ erased: 1 }).where('root', '=', 'ast1:4.1').execute();
  await rig.scene.store.transaction<Tables, void>((trx) => touchConversations(trx, ['ast1:4.1']));
  const [erased] = (await changes(rig, `?since=${since}`)).changes;
  assert.deepEqual([erased!.id, erased!.conversation!.erased], ['ast1:4.1', true]);
});

test('conversation changes - a change committed while the feed is read is not missed', async () => {
  await using rig = await conversationsRig();
  const { store } = rig.scene;
  await rig.put([call(1), call(2), call(9)]);
  // After each statement of the reader, two commits follow: one changes a conversation, the next merges two.
  for (let committedAfter = 1; committedAfter < 6; committedAfter += 1) {
    const since = (await changes(rig, '')).since;
    const [talk_ms, from, to] = [committedAfter, 10 + committedAfter, 20 + committedAfter];
    await rig.put([call(from), call(to)]);
    let statements = 0;
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        statements += 1;
        if (statements === committedAfter) {
          await rig.put([call(9, { talk_ms })]);
          await rig.put([call(from, { merged_from: [`ast1:${to}.1`] })], [`ast1:${to}.1`]);
        }
        return result;
      },
    };
    const query = { since, limit: 500, detail: false };
    const owners = { recordings: noRecordings, directory: rig.scene.directory };
    const first = await readChanges(
      store.db<Tables>().withPlugin(plugin),
      owners,
      { within: null, since_ms: 0 },
      query,
    );
    const second = await readChanges(
      store.db<Tables>(),
      owners,
      { within: null, since_ms: 0 },
      {
        ...query,
        since: first.since,
      },
    );
    const newest = new Map([...first.changes, ...second.changes].map((c) => [c.id, c]));
    assert.equal(
      newest.get('ast1:9.1')?.conversation?.talk_time,
      (2 * talk_ms) / 1000,
      `after ${committedAfter}`,
    );
    assert.equal(newest.get(`ast1:${to}.1`)?.merged_into, `ast1:${from}.1`, `after ${committedAfter}`);
  }
});

test('conversation changes - a note is a change, too; with detail the reply has the whole conversation', async () => {
  await using rig = await conversationsRig();
  await rig.put([call(1), call(2)]);
  const { since } = await changes(rig, '');
  await rig.send('POST', '/api/v1/conversations/ast1:1.1/notes', { text: 'Rang twice' });
  const short = await changes(rig, `?since=${since}`);
  assert.deepEqual(
    short.changes.map((c) => [c.id, c.conversation!.revision, c.conversation!.notes]),
    [['ast1:1.1', 1, 1]],
  );
  const { body } = await rig.get(`${PATH}?since=${since}&detail=true`);
  const one = await rig.get('/api/v1/conversations/ast1:1.1');
  assert.deepEqual(body.changes[0].conversation, one.body.conversation);
  assert.equal(body.changes[0].conversation.notes[0].text, 'Rang twice');
});

test('conversation changes - a reader gets changes of its conversations, also when one of them is merged', async () => {
  await using rig = await conversationsRig({ one: { scopes: ['history:read'], extensions: ['1005'] } });
  const mine = { caller: { extension: '1005' } };
  await rig.put([
    call(1, { complete: false }),
    call(2, { ...mine, complete: false }),
    call(3),
    call(4, mine),
  ]);
  for (const who of ['user', 'key-one']) {
    const { changes: own, more } = await changes(rig, '', who);
    assert.deepEqual([own.map((c) => c.id), more], [['ast1:2.1', 'ast1:4.1'], false], who);
  }
  const { since } = await changes(rig, '', 'user');
  await rig.put([call(1, { ...mine, merged_from: ['ast1:2.1'] })], ['ast1:2.1']);
  await rig.put([call(6, { merged_from: ['ast1:3.1'] })], ['ast1:3.1']);
  const after = (await changes(rig, `?since=${since}`, 'user')).changes;
  assert.deepEqual(
    after.map((c) => [c.id, c.merged_into]),
    [
      ['ast1:2.1', 'ast1:1.1'],
      ['ast1:1.1', null],
    ],
  );
});

test('conversation changes - with few matches, a reply scans a limited number of changes and reports more', async () => {
  await using rig = await conversationsRig();
  const mine = new Set([5, 2_900]);
  for (let i = 0; i < 3_000; i += 1_000)
    await rig.put(
      Array.from({ length: 1_000 }, (_, k) =>
        call(i + k, mine.has(i + k) ? { caller: { extension: '1005' } } : {}),
      ),
    );
  const first = await changes(rig, '?limit=500', 'user');
  assert.deepEqual([first.changes.map((c) => c.id), first.more], [['ast1:5.1'], true]);
  const second = await changes(rig, `?limit=500&since=${first.since}`, 'user');
  assert.deepEqual([second.changes.map((c) => c.id), second.more], [['ast1:2900.1'], false]);
});
