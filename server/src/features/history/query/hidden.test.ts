import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConversationsReply } from '@offhook/contract/conversation-list.ts';
import { STARTED, recordOf } from '../../../../test/support/conversation-record.ts';
import { conversationsRig } from '../../../../test/support/conversations-rig.ts';
import { hideCalls } from './hide.ts';
import type { Tables } from '../store/tables.ts';

const PATH = '/api/v1/conversations';
/** The row of an extension's own list, as ingestion writes it with the conversation. */
const rowOf = (root: string, extension: string) => ({
  root,
  extension,
  direction: 'in' as const,
  started_us: STARTED * 1000,
  answered_us: null,
  ended_us: STARTED * 1000,
  party: '',
  party_name: '',
  search: '',
  ring_sec: 0,
  wait_seconds: 0,
  talk_seconds: 0,
  hold_seconds: 0,
  duration: 0,
  disposition: 'ANSWERED' as const,
  channel: '',
  dstchannel: '',
  device: null,
  queue: null,
  hidden: 0,
});

test('conversations list - the own view leaves out hidden conversations, other views do not', async () => {
  await using rig = await conversationsRig({ shop: { scopes: ['history:read'] } });
  const records = Array.from({ length: 6 }, (_, i) =>
    recordOf({
      id: `ast1:${i}.1`,
      started: STARTED + i * 1000,
      caller: { extension: i < 4 ? '1001' : '1006' },
      called: { extension: '1005' },
    }),
  );
  await rig.put(records);
  const { store } = rig.scene;
  for (const record of records) {
    for (const extension of record.extensions)
      await store.db<Tables>().insertInto('history_rows').values(rowOf(record.id, extension)).execute();
  }
  const ids = async (query: string, who: string): Promise<readonly string[]> => {
    const { status, body } = await rig.get(PATH + query, who);
    assert.equal(status, 200, JSON.stringify(body));
    return ConversationsReply.parse(body).conversations.map((c) => c.id);
  };
  const of = (...numbers: number[]): readonly string[] => numbers.map((i) => `ast1:${i}.1`);
  assert.deepEqual(await ids('?own=true', 'admin'), of(3, 2, 1, 0), 'a supervisor sees its own');
  assert.equal(await hideCalls(store, '1001', of(1, 2)), 2);
  assert.deepEqual(await ids('?own=true', 'admin'), of(3, 0));
  assert.deepEqual(await ids('?own=true&limit=1', 'admin'), of(3));
  assert.deepEqual(await ids('?person=1001', 'admin'), of(3, 2, 1, 0), 'hidden is not deleted');
  assert.deepEqual(await ids('?own=true', 'user'), of(5, 4, 3, 2, 1, 0), 'nor hidden from others');
  const refused = await rig.get(`${PATH}?own=true`, 'key-shop');
  assert.deepEqual([refused.status, refused.body.code], [400, 'invalid_request']);
});
