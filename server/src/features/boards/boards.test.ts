import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import {
  BoardReply,
  BoardsReply,
  DisplayKeyCreated,
  DisplayKeysReply,
  MAX_BOARDS_OF_A_PERSON,
} from '@offhook/contract/boards.ts';
import type { Board } from '@offhook/contract/boards.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { agentsOf, presenceOf, queuesOf } from '../../rights/rights.ts';
import { addOperations } from '../../http/operations.ts';
import type { DisplayKeys } from '../../ports/display-keys.ts';
import type { Store } from '../../ports/store.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { demoQueues, directoryFixture } from '../../../test/support/directory-fixture.ts';
import { fixtureAuthenticator, hostFixture, jsonCaller } from '../../../test/support/host-fixture.ts';
import { apiKeyOperations } from '../api-keys/operations.ts';
import { ApiKeys, isApiKey } from '../api-keys/service.ts';
import { createAudit } from '../audit/service.ts';
import { boardOperations } from './operations.ts';
import { Boards } from './service.ts';

const LAYOUT: Board['layout'] = {
  figures: ['waiting', 'longest_wait_seconds', 'service_level'],
  tiles: [{ queue: 'support', figures: ['waiting', 'answered'] }],
  parts: ['queues', 'callers', 'agents', 'chart'],
  thresholds: [{ metric: 'waiting', direction: 'above', warn: 3, alert: 6 }],
  columns: null,
  density: 'comfortable',
  caller_numbers: 'last_digits',
};
const BOARD = { name: 'Front', queues: ['support'], layout: LAYOUT };

async function rig(t: TestContext) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const directory = directoryFixture();
  const audit = await createAudit(temp.store, clock, silent);
  const open = async (store: Store = temp.store) => {
    const boards = await Boards.open({ store, clock, directory, audit, keys: () => keys.display });
    const keys = await ApiKeys.open({
      store,
      clock,
      directory,
      audit,
      log: silent,
      boardShows: (board) => boards.shows(board),
    });
    return { boards, keys };
  };
  const { boards, keys } = await open();
  const host = await hostFixture({
    authenticator: {
      authenticate: (token) =>
        isApiKey(token) ? keys.authenticate(token) : fixtureAuthenticator.authenticate(token),
    },
  });
  addOperations(host.app, [boardOperations(boards), apiKeyOperations(keys)]);
  await host.app.ready();
  t.after(async () => {
    await host.close();
    await keys.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const call = jsonCaller(host);
  const create = async (fields: object = {}, token?: string): Promise<Board> => {
    const reply = await call('POST', 'boards', { ...BOARD, ...fields }, token);
    assert.equal(reply.status, 201, JSON.stringify(reply.json));
    return BoardReply.parse(reply.json).board;
  };
  const createKey = async (id: number, name = 'lobby', fields: object = {}) => {
    const reply = await call('POST', `boards/${id}/display-keys`, { name, ...fields });
    assert.equal(reply.status, 201, JSON.stringify(reply.json));
    return DisplayKeyCreated.parse(reply.json);
  };
  const names = async (token: string) =>
    BoardsReply.parse((await call('GET', 'boards', undefined, token)).json).boards.map((b) => b.name);
  return { temp, clock, directory, audit, open, boards, keys, call, create, createKey, names };
}
const answer = ({ status, json }: { status: number; json: { code?: string } }) => [status, json.code];

test('boards - a board is stored unchanged, over a restart, and found by its owner and those it is shared with', async (t) => {
  const { create, call, names, open } = await rig(t);
  const mine = await create({ name: 'Mine', queues: null }, 'token-agent');
  const shared = await create({ name: 'Wall', shared: true });
  const hidden = await create({ name: 'Hidden' });
  assert.deepEqual([mine.queues, mine.owner, mine.version, mine.shared], [null, '1003', 1, false]);
  assert.deepEqual(shared.layout, LAYOUT);
  assert.deepEqual(await names('token-agent'), ['Mine', 'Wall']);
  assert.deepEqual(await names('token-supervisor'), ['Wall', 'Hidden']);
  assert.deepEqual(await names('token-admin'), ['Mine', 'Wall', 'Hidden']);
  assert.equal((await call('GET', 'boards', undefined, 'token-user')).status, 403);
  assert.equal((await call('GET', `boards/${hidden.id}`, undefined, 'token-agent')).status, 404);
  const again = await open();
  t.after(() => again.keys.close());
  const read = await call('GET', `boards/${shared.id}`, undefined, 'token-agent');
  const caller = await fixtureAuthenticator.authenticate('token-supervisor');
  assert.deepEqual(again.boards.one(caller!, shared.id), BoardReply.parse(read.json).board);
});

test('boards - an invalid layout is refused with its path, and limits apply', async (t) => {
  const { call, create } = await rig(t);
  const refused = async (fields: object, says: RegExp, token?: string) => {
    const reply = await call('POST', 'boards', { ...BOARD, ...fields }, token);
    assert.deepEqual(answer(reply), [400, 'invalid_request'], JSON.stringify(fields));
    assert.match(reply.json.detail!, says);
  };
  const layout = (fields: object) => ({ layout: { ...LAYOUT, ...fields } });
  await refused({ colour: 'red' }, /colour/);
  await refused(layout({ sound: true }), /sound/);
  await refused({ name: 'a\u202eb' }, /name/);
  await refused({ queues: [] }, /queues/);
  await refused({ queues: Array.from({ length: 501 }, (_, i) => `q${i}`) }, /queues/);
  await refused({ queues: ['attic'] }, /there is no queue attic/);
  await refused({ queues: ['sales'] }, /layout\.tiles\.0\.queue/);
  await refused(layout({ figures: ['waiting', 'waiting'] }), /layout\.figures/);
  await refused(layout({ thresholds: [{ ...LAYOUT.thresholds[0], alert: 1 }] }), /alert is before warn/);
  const below = { metric: 'service_level', direction: 'below', warn: 0.8, alert: 0.6 };
  await create(layout({ thresholds: [below] }));
  // An agent names only queues of its own: 1003 is in both, 1004 would not see sales.
  for (let i = 1; i < MAX_BOARDS_OF_A_PERSON; i += 1) await create({ name: `b${i}` });
  assert.deepEqual(answer(await call('POST', 'boards', BOARD)), [409, 'limit_reached']);
  await create({}, 'token-agent');
});

test('boards - agents name only queues that they see, and only supervisors share', async (t) => {
  const { call, create, directory } = await rig(t);
  directory.setQueues(demoQueues().map((q) => (q.name === 'sales' ? { ...q, agents: ['1004'] } : q)));
  const wide = { ...BOARD, queues: ['support', 'sales'] };
  assert.deepEqual(answer(await call('POST', 'boards', wide, 'token-agent')), [400, 'invalid_request']);
  const share = { ...BOARD, shared: true };
  assert.deepEqual(answer(await call('POST', 'boards', share, 'token-agent')), [403, 'forbidden']);
  const mine = await create({}, 'token-agent');
  assert.equal((await call('PUT', `boards/${mine.id}`, share, 'token-agent')).status, 403);
  assert.equal((await call('PUT', `boards/${mine.id}`, share, 'token-admin')).status, 200);
  assert.equal((await call('PUT', `boards/${mine.id}`, share, 'token-agent')).status, 200, 'it is already');
  assert.deepEqual(
    answer(await call('PUT', `boards/${mine.id}`, share)),
    [403, 'forbidden'],
    'not its owner',
  );
  // A deleted queue does not make the board unchangeable.
  directory.setQueues([]);
  assert.equal((await call('PUT', `boards/${mine.id}`, share, 'token-agent')).status, 200);
});

test('boards - If-Match prevents one change from overwriting another', async (t) => {
  const { call, create } = await rig(t);
  const { id } = await create();
  const read = await call('GET', `boards/${id}`);
  assert.equal(read.etag, '"1"');
  const put = (tag: string, name: string) =>
    call('PUT', `boards/${id}`, { ...BOARD, name }, undefined, { 'if-match': tag });
  const done = await put('"1"', 'First');
  assert.deepEqual([done.status, done.etag], [200, '"2"']);
  const late = await put('"1"', 'Second');
  assert.deepEqual([...answer(late), late.json.etag], [412, 'precondition_failed', '2']);
  assert.equal((await put('W/"2"', 'x')).status, 400);
  assert.equal((await put('*', 'Third')).status, 200);
  const remove = (tag: string) => call('DELETE', `boards/${id}`, undefined, undefined, { 'if-match': tag });
  assert.equal((await remove('"2"')).status, 412);
  assert.equal((await remove('"3"')).status, 200);
  assert.equal((await call('GET', `boards/${id}`)).status, 404);
});

test('boards - a display key opens only its board, its queues and their agents, and follows its changes', async (t) => {
  const { call, create, createKey, keys, directory } = await rig(t);
  const board = await create();
  const other = await create({ name: 'Other', shared: true });
  const { display_key, key } = await createKey(board.id);
  const ended: number[] = [];
  keys.onKeyEnded((id) => void ended.push(id));
  assert.equal((await call('GET', `boards/${board.id}`, undefined, key)).status, 200);
  assert.equal((await call('GET', `boards/${other.id}`, undefined, key)).status, 404);
  for (const [method, url] of [
    ['GET', 'boards'],
    ['PUT', `boards/${board.id}`],
    ['GET', `boards/${board.id}/display-keys`],
    ['DELETE', `boards/${board.id}`],
    ['GET', 'api-keys'],
  ] as const) {
    const reply = await call(method, url, method === 'PUT' ? BOARD : undefined, key);
    assert.equal(reply.status, 403, `${method} ${url}`);
  }
  const reach = async () => {
    const who = keys.authenticate(key)!;
    return [queuesOf(who, []), agentsOf(who), presenceOf(who)];
  };
  assert.deepEqual(await reach(), [['support'], ['1003', '1004'], []]);
  assert.deepEqual(ended, []);

  const put = (queues: string[] | null) => call('PUT', `boards/${board.id}`, { ...BOARD, queues });
  assert.equal((await put(['support'])).status, 200);
  assert.deepEqual(ended, [], 'the same queues: what is open stays open');
  assert.equal(
    (
      await call('PUT', `boards/${board.id}`, {
        ...BOARD,
        queues: ['sales'],
        layout: { ...LAYOUT, tiles: [] },
      })
    ).status,
    200,
  );
  assert.deepEqual(await reach(), [['sales'], ['1003'], []]);
  assert.deepEqual(ended, [display_key.id]);
  directory.setQueues(demoQueues().map((q) => (q.name === 'sales' ? { ...q, agents: ['1003', '1005'] } : q)));
  assert.deepEqual(await reach(), [['sales'], ['1003', '1005'], []]);
  assert.equal(ended.length, 2, 'who works in its queues has changed');
  assert.equal((await put(null)).status, 200);
  assert.deepEqual(await reach(), [null, null, []]);
});

test('boards - display keys are listed without their secret, expire, and end alone or with their board', async (t) => {
  const { call, create, createKey, keys, clock, audit } = await rig(t);
  const board = await create();
  const first = await createKey(board.id, 'lobby');
  const second = await createKey(board.id, 'office', { expires_at: '2026-11-21T09:01:00Z' });
  const taken = await call('POST', `boards/${board.id}/display-keys`, { name: 'lobby' });
  assert.deepEqual(answer(taken), [409, 'name_taken']);
  const list = await call('GET', `boards/${board.id}/display-keys`);
  assert.ok(!JSON.stringify(list.json).includes(first.key.slice(4)));
  assert.deepEqual(
    DisplayKeysReply.parse(list.json).display_keys.map((one) => one.name),
    ['lobby', 'office'],
  );
  await clock.advance(60_000);
  assert.equal((await call('GET', `boards/${board.id}`, undefined, second.key)).status, 401);
  const widened = await call(
    'PATCH',
    `api-keys/${first.display_key.id}`,
    { scopes: ['calls:read'] },
    'token-admin',
  );
  assert.deepEqual(answer(widened), [400, 'invalid_request']);
  const other = await create({ name: 'Other' });
  const elsewhere = await call('DELETE', `boards/${other.id}/display-keys/${first.display_key.id}`);
  assert.deepEqual(answer(elsewhere), [404, 'not_found']);
  assert.equal(
    (await call('DELETE', `boards/${board.id}/display-keys/${second.display_key.id}`)).status,
    200,
  );
  const ended: number[] = [];
  keys.onKeyEnded((id) => void ended.push(id));
  assert.equal((await call('DELETE', `boards/${board.id}`)).status, 200);
  assert.deepEqual(ended, [first.display_key.id]);
  assert.equal((await call('GET', `boards/${board.id}`, undefined, first.key)).status, 401);
  const { entries } = await audit.page({});
  assert.deepEqual(entries.map((line) => line.action).slice(0, 4), [
    'board.deleted',
    'api_key.revoked',
    'api_key.revoked',
    'board.created',
  ]);
});

test('boards - keys are for supervisors; below that level nobody adds queues or numbers of callers to a displayed board', async (t) => {
  const { call, create } = await rig(t);
  const mine = await create({}, 'token-agent');
  const name = { name: 'lobby' };
  const url = `boards/${mine.id}/display-keys`;
  assert.equal((await call('POST', url, name, 'token-agent')).status, 403);
  assert.equal((await call('POST', url, name)).status, 404, 'not shared: a supervisor does not see it');
  assert.equal((await call('POST', url, name, 'token-admin')).status, 201);
  const put = (queues: string[] | null) =>
    call('PUT', `boards/${mine.id}`, { ...BOARD, queues }, 'token-agent');
  assert.deepEqual(answer(await put(null)), [403, 'forbidden']);
  assert.equal((await put(['support'])).status, 200);
  const show = (change: Partial<Board['layout']>, token = 'token-agent') =>
    call('PUT', `boards/${mine.id}`, { ...BOARD, layout: { ...LAYOUT, ...change } }, token);
  assert.deepEqual(answer(await show({ caller_numbers: 'full' })), [403, 'forbidden']);
  assert.equal((await show({ parts: ['queues'] })).status, 200);
  assert.deepEqual(answer(await show({})), [403, 'forbidden'], 'nor the last digits again');
  assert.equal((await show({ caller_numbers: 'full' }, 'token-admin')).status, 200);
  assert.equal((await show({ caller_numbers: 'full' })).status, 200, 'as a supervisor has decided');
});

test('boards - if its keys cannot be revoked, a board stays', async (t) => {
  const temp = await temporaryStore();
  t.after(() => temp[Symbol.asyncDispose]());
  const clock = createVirtualClock();
  const audit = await createAudit(temp.store, clock, silent);
  t.after(() => audit.close());
  const refuses = () => Promise.reject(new Error('no'));
  const keys = {
    list: () => [],
    boardChanged: () => {},
    create: refuses,
    revoke: refuses,
    revokeAll: refuses,
  };
  const directory = directoryFixture();
  const boards = await Boards.open({
    store: temp.store,
    clock,
    directory,
    audit,
    keys: (): DisplayKeys => keys,
  });
  const caller = (await fixtureAuthenticator.authenticate('token-supervisor'))!;
  const actor = { caller, ip: null };
  const { id } = await boards.create(actor, { ...BOARD, shared: false });
  await assert.rejects(boards.remove(actor, id, null), /no/);
  assert.equal(boards.one(caller, id).id, id);
});
