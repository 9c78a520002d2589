import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConversationReply, QualityReply } from '@offhook/contract/conversation-list.ts';
import { recordOf } from '../../../../test/support/conversation-record.ts';
import { conversationsRig } from '../../../../test/support/conversations-rig.ts';
import { fixtureAuthenticator } from '../../../../test/support/host-fixture.ts';
import type { ConversationsRig } from '../../../../test/support/conversations-rig.ts';

const PATH = '/api/v1/calls/ast1:1.1/quality';
const GOOD = {
  codec: 'opus',
  mos: 4.37,
  worst_mos: 3.9,
  loss: 0.0125,
  jitter_ms: 3.25,
  round_trip_ms: 41,
  packets_received: 3_000,
  packets_lost: 38,
  duration_seconds: 60,
};
const mine = { caller: { extension: '1005' }, called: { extension: '1003' } };
const rig = async (): Promise<ConversationsRig> => {
  const opened = await conversationsRig({ writer: { scopes: ['history:write', 'calls:control'] } });
  await opened.put([recordOf({ id: 'ast1:1.1', ...mine }), recordOf({ id: 'ast1:8.1' })]);
  return opened;
};
const shown = async (r: ConversationsRig, id = 'ast1:1.1') =>
  ConversationReply.parse((await r.get(`/api/v1/conversations/${id}`)).body).conversation;

test('call quality - a party of the call reports its quality, a new report replaces the previous one; others may not', async () => {
  await using r = await rig();
  const sent = { ...GOOD, leg_id: 'ast1:1.1-a', device: 'Firefox 145, Linux' };
  const { status, body } = await r.send('POST', PATH, sent, 'user');
  assert.equal(status, 200);
  const { quality } = QualityReply.parse(body);
  const by = { at: '2026-11-21T12:00:00.000Z', extension: '1005', call_id: 'ast1:1.1' };
  assert.deepEqual(quality, { ...by, ...sent });
  const before = await shown(r);
  assert.deepEqual(before.quality, [quality]);
  r.clock.advance(1_000);
  await r.send('POST', PATH, { ...sent, mos: 2 }, 'user');
  r.clock.advance(1_000);
  const { mos, codec, loss, packets_received, packets_lost, duration_seconds } = GOOD;
  await r.send('POST', PATH, { mos, codec, loss, packets_received, packets_lost, duration_seconds }, 'agent');
  const { quality: two, change, revision } = await shown(r);
  assert.deepEqual(
    two.map((q) => [q.extension, q.mos, q.leg_id, q.jitter_ms, q.device]),
    [
      ['1005', 2, 'ast1:1.1-a', 3.25, 'Firefox 145, Linux'],
      ['1003', 4.37, null, null, ''],
    ],
  );
  assert.ok(change > before.change && revision === before.revision, 'news in the feed, and no revision');
  const changed = await r.get(`/api/v1/conversations/changes?since=${before.change}&detail=true`);
  assert.deepEqual(changed.body.changes[0].conversation.quality, two);
  for (const [who, path, code] of [
    ['supervisor', PATH, 'forbidden'],
    ['key-writer', PATH, 'forbidden'],
    ['user', '/api/v1/calls/ast1:8.1/quality', 'not_found'],
    ['user', '/api/v1/calls/ast1:9.9/quality', 'not_found'],
  ] as const) {
    assert.equal((await r.send('POST', path, GOOD, who)).body.code, code, `${who} ${path}`);
  }
  assert.equal((await shown(r)).quality.length, 2);
});

test('call quality - merged calls keep the reports of each', async () => {
  await using r = await rig();
  await r.put([recordOf({ id: 'ast1:2.1', ...mine })]);
  await r.send('POST', PATH, GOOD, 'user');
  await r.send('POST', '/api/v1/calls/ast1:2.1/quality', { ...GOOD, mos: 1.5 }, 'user');
  await r.put([recordOf({ id: 'ast1:1.1', ...mine, merged_from: ['ast1:2.1'] })], ['ast1:2.1']);
  await r.send('POST', '/api/v1/calls/ast1:2.1/quality', { ...GOOD, mos: 1.25 }, 'user');
  assert.deepEqual(
    (await shown(r)).quality.map((q) => [q.call_id, q.mos]),
    [
      ['ast1:1.1', 4.37],
      ['ast1:2.1', 1.25],
    ],
  );
});

test('call quality - the same by command; errors name the field', async () => {
  await using r = await rig();
  const actor = { caller: (await fixtureAuthenticator.authenticate('token-user'))!, ip: null };
  const done = await r.commands.run(actor, 'calls.report_quality', { id: 'ast1:1.1', ...GOOD });
  assert.equal(QualityReply.parse(done).quality.mos, 4.37);
  for (const [field, value] of [
    ['mos', 0.9],
    ['mos', 5.1],
    ['mos', '4'],
    ['mos', undefined],
    ['worst_mos', 7],
    ['loss', 1.01],
    ['loss', -0.1],
    ['codec', '<b>'],
    ['codec', 'x'.repeat(33)],
    ['jitter_ms', -1],
    ['round_trip_ms', 60_001],
    ['packets_received', 1.5],
    ['packets_lost', -1],
    ['duration_seconds', 604_801],
    ['device', 'x'.repeat(121)],
    ['device', 'a\u0000b'],
    ['leg_id', 'x'],
    ['extension', '1001'],
  ] as const) {
    const answer = await r.send('POST', PATH, { ...GOOD, [field]: value }, 'user');
    assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_request'], `${field} ${value}`);
    assert.match(answer.body.detail, new RegExp(field));
  }
});

test('call quality - reports are limited, and one person leaves room for the others', async () => {
  await using r = await rig();
  const ids = [1, 2, 3, 4, 5].map((n) => `ast1:${n}.1`);
  await r.put(ids.map((id) => recordOf({ id, ...mine })));
  const report = (id: string, leg: number, who: string) =>
    r.send('POST', `/api/v1/calls/${id}/quality`, { ...GOOD, leg_id: `ast1:1.${leg}` }, who);
  for (const id of ids) {
    for (let leg = 1; leg <= 10; leg += 1) assert.equal((await report(id, leg, 'user')).status, 200);
    r.clock.advance(10_000);
  }
  const eleventh = await report('ast1:1.1', 11, 'user');
  assert.deepEqual([eleventh.status, eleventh.body.code], [409, 'limit_reached']);
  assert.equal((await report('ast1:1.1', 7, 'user')).status, 200, 'again in place of before');
  assert.equal((await report('ast1:1.1', 1, 'agent')).status, 200);
  assert.equal((await shown(r)).quality.length, 11);
  await r.put([recordOf({ id: 'ast1:1.1', ...mine, merged_from: ids.slice(1) })], ids.slice(1));
  assert.equal((await shown(r)).quality.length, 51);
  assert.equal((await report('ast1:1.1', 2, 'agent')).body.code, 'limit_reached');
});
