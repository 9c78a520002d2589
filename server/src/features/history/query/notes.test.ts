import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConversationReply, NoteReply, OutcomeReply } from '@offhook/contract/conversation-list.ts';
import { recordOf } from '../../../../test/support/conversation-record.ts';
import { conversationsRig } from '../../../../test/support/conversations-rig.ts';
import { fixtureAuthenticator } from '../../../../test/support/host-fixture.ts';
import type { ConversationsRig } from '../../../../test/support/conversations-rig.ts';

const PATH = '/api/v1/conversations/ast1:1.1';
const mine = { caller: { extension: '1005' }, called: { extension: '1003' } };
const rig = async (): Promise<ConversationsRig> => {
  const opened = await conversationsRig({
    writer: { scopes: ['history:read', 'history:write'], extensions: ['1003'] },
    reader: { scopes: ['history:read'] },
    // Named like an extension: its notes do not belong to that person.
    '1005': { name: '1005', scopes: ['history:write'] },
  });
  await opened.put([recordOf({ id: 'ast1:1.1', ...mine }), recordOf({ id: 'ast1:8.1' })]);
  return opened;
};
const shown = async (r: ConversationsRig, who = 'admin') =>
  ConversationReply.parse((await r.get(PATH, who)).body).conversation;

test('conversation notes - a party writes, reads and removes its own notes; others may not', async () => {
  await using r = await rig();
  const { status, body } = await r.send('POST', `${PATH}/notes`, { text: 'Calls back\non Monday' }, 'user');
  assert.equal(status, 201);
  const { note } = NoteReply.parse(body);
  assert.deepEqual(note, {
    id: note.id,
    at: '2026-11-21T12:00:00.000Z',
    by: '1005',
    text: 'Calls back\non Monday',
  });
  assert.deepEqual((await shown(r, 'agent')).notes, [note], 'the other side reads it');
  assert.equal((await r.send('DELETE', `${PATH}/notes/${note.id}`, undefined, 'agent')).status, 403);
  assert.equal((await r.send('DELETE', `${PATH}/notes/${note.id}`, undefined, 'key-1005')).status, 403);
  assert.equal((await r.send('DELETE', `${PATH}/notes/999`, undefined, 'user')).status, 404);
  assert.equal((await r.send('DELETE', `${PATH}/notes/${note.id}`, undefined, 'user')).status, 200);
  assert.equal((await r.send('DELETE', `${PATH}/notes/${note.id}`, undefined, 'user')).status, 404);
  const second = await r.send('POST', `${PATH}/notes`, { text: 'x' }, 'agent');
  assert.equal(
    (await r.send('DELETE', `${PATH}/notes/${second.body.note.id}`, undefined, 'supervisor')).status,
    200,
  );
  assert.deepEqual((await shown(r)).notes, []);
  for (const [path, sent] of [
    ['notes', { text: 'x' }],
    ['outcome', { code: 'x' }],
  ] as const) {
    const foreign = await r.send('POST', `/api/v1/conversations/ast1:8.1/${path}`, sent, 'user');
    assert.deepEqual([foreign.status, foreign.body.code], [404, 'not_found']);
  }
});

test('conversation notes - an API key needs history:write and reaches its extensions', async () => {
  await using r = await rig();
  assert.equal((await r.send('POST', `${PATH}/notes`, { text: 'x' }, 'key-reader')).status, 403);
  const written = await r.send('POST', `${PATH}/notes`, { text: 'From the CRM' }, 'key-writer');
  assert.deepEqual([written.status, written.body.note.by], [201, 'key:k']);
  const foreign = await r.send('POST', '/api/v1/conversations/ast1:8.1/notes', { text: 'x' }, 'key-writer');
  assert.equal(foreign.status, 404);
});

test('conversation notes - an extension whose phone only rang adds nothing to the talk of others, but to a missed call', async () => {
  await using r = await conversationsRig({
    rung: { scopes: ['history:read', 'history:write'], extensions: ['1005'] },
  });
  // 1005 (a user) rang and did not answer; 1003 (an agent) talked with 1001.
  const talk = recordOf({ id: 'ast1:1.1', queue: 'support', called: { extension: '1003' } });
  const [caller, agent] = [talk.legs[0]!, talk.legs[1]!];
  const alerting = { ...agent.segments[0]!, to: agent.to };
  const rang = { ...agent, answered: null, disposition: 'no_answer' as const, segments: [alerting] };
  const other = {
    ...rang,
    leg_id: 'ast1:1.1-c',
    participant: { ...agent.participant, extension: '1005', number: '1005' },
  };
  const extensions = ['1001', '1003', '1005'];
  const missed = {
    ...talk,
    id: 'ast1:2.1',
    disposition: 'missed' as const,
    extensions,
    legs: [{ ...caller, answered: null, segments: [caller.segments[0]!] }, rang, other],
  };
  const ringing = { ...missed, id: 'ast1:3.1', complete: false };
  await r.put([{ ...talk, extensions, legs: [caller, agent, other] }, missed, ringing]);
  const written = async (id: string, who: string) =>
    Promise.all(
      [['notes', { text: 'x' }] as const, ['outcome', { code: 'sold' }] as const].map(
        async ([path, body]) => {
          const answer = await r.send('POST', `/api/v1/conversations/${id}/${path}`, body, who);
          return [answer.status, answer.body.code];
        },
      ),
    );
  const refused = [403, 'forbidden'];
  for (const who of ['user', 'key-rung']) {
    assert.equal((await r.get(PATH, who)).status, 200, 'it reads the call that it missed');
    assert.deepEqual(await written('ast1:1.1', who), [refused, refused], who);
  }
  assert.deepEqual([(await shown(r)).notes, (await shown(r)).outcome], [[], null]);
  const taken = [
    [201, undefined],
    [200, undefined],
  ];
  for (const who of ['agent', 'supervisor', 'admin'])
    assert.deepEqual(await written('ast1:1.1', who), taken, who);
  // A note from before the answer can still be removed.
  const { note } = (await r.send('POST', '/api/v1/conversations/ast1:3.1/notes', { text: 'x' }, 'user')).body;
  await r.put([{ ...talk, id: 'ast1:3.1', extensions, legs: [caller, agent, other] }]);
  assert.deepEqual(await written('ast1:3.1', 'user'), [refused, refused]);
  const removed = await r.send(
    'DELETE',
    `/api/v1/conversations/ast1:3.1/notes/${note.id}`,
    undefined,
    'user',
  );
  assert.equal(removed.status, 200);
  for (const who of ['user', 'key-rung', 'agent'])
    assert.deepEqual(await written('ast1:2.1', who), taken, `${who} missed it`);
});

test('conversation notes - one outcome at a time, also after conversations are merged', async () => {
  await using r = await rig();
  await r.put([recordOf({ id: 'ast1:2.1', ...mine })]);
  const set = (id: string, body: object, who = 'user') =>
    r.send('POST', `/api/v1/conversations/${id}/outcome`, body, who);
  const { outcome } = OutcomeReply.parse((await set('ast1:1.1', { code: 'sold', text: '3 seats' })).body);
  assert.deepEqual(outcome, { code: 'sold', text: '3 seats', at: '2026-11-21T12:00:00.000Z', by: '1005' });
  r.clock.advance(1_000);
  await set('ast1:2.1', { code: 'call_back' });
  await r.send('POST', '/api/v1/conversations/ast1:2.1/notes', { text: 'Of the second' });
  await r.put([recordOf({ id: 'ast1:1.1', ...mine, merged_from: ['ast1:2.1'] })], ['ast1:2.1']);
  const joined = await shown(r);
  assert.deepEqual([joined.outcome?.code, joined.notes.length], ['call_back', 1], 'the newer one holds');
  const listed = async (code: string) =>
    (await r.get(`/api/v1/conversations?outcome=${code}`)).body.conversations.length;
  assert.deepEqual([await listed('call_back'), await listed('sold')], [1, 0]);
  await set('ast1:2.1', { code: 'lost' }, 'agent');
  assert.deepEqual((await shown(r)).outcome?.by, '1003');
  assert.deepEqual([await listed('lost'), await listed('call_back')], [1, 0]);
});

test('conversation notes - a rebuilt conversation keeps its notes and outcome', async () => {
  await using r = await rig();
  await r.send('POST', `${PATH}/notes`, { text: 'x' });
  await r.send('POST', `${PATH}/outcome`, { code: 'sold' });
  const before = await shown(r);
  await r.put([recordOf({ id: 'ast1:1.1', ...mine, talk_ms: 1 })]);
  const after = await shown(r);
  assert.deepEqual([after.notes, after.outcome], [before.notes, before.outcome]);
  assert.deepEqual([after.revision, before.revision], [2, 1], 'what is added is no revision');
});

test('conversation notes - each change is in the audit trail, without its text', async () => {
  await using r = await rig();
  const { body } = await r.send('POST', `${PATH}/notes`, { text: 'a secret' }, 'user');
  await r.send('POST', `${PATH}/outcome`, { code: 'sold', text: 'a secret' }, 'key-writer');
  await r.send('DELETE', `${PATH}/notes/${body.note.id}`, undefined, 'supervisor');
  await r.send('POST', '/api/v1/conversations/ast1:9.9/notes', { text: 'x' }, 'user');
  assert.deepEqual(
    r.audit.map(({ action, actor, object, outcome, detail }) => [action, actor, object, outcome, detail]),
    [
      ['conversation.note', '1005', 'ast1:1.1', 'ok', { note: body.note.id }],
      ['conversation.outcome', 'key:k', 'ast1:1.1', 'ok', { code: 'sold' }],
      ['conversation.note_removed', '1002', 'ast1:1.1', 'ok', { note: body.note.id, by: '1005' }],
    ],
  );
});

test('conversation notes - the same by command, and errors name the field', async () => {
  await using r = await rig();
  const caller = { ...(await fixtureAuthenticator.authenticate('token-user'))! };
  const actor = { caller, ip: null };
  const { note } = NoteReply.parse(
    await r.commands.run(actor, 'conversations.note', { id: 'ast1:1.1', text: 'by command' }),
  );
  assert.equal(note.by, '1005');
  await r.commands.run(actor, 'conversations.remove_note', { id: 'ast1:1.1', note: String(note.id) });
  const wrong: readonly (readonly [string, object, string])[] = [
    ['notes', {}, 'text'],
    ['notes', { text: '' }, 'text'],
    ['notes', { text: ' \n\t ' }, 'text: must have a text'],
    ['notes', { text: 'x'.repeat(2_001) }, 'text'],
    ['notes', { text: 'a\u0000b' }, 'text'],
    ['notes', { text: 7 }, 'text'],
    ['notes', { text: 'x', by: '1001' }, 'by'],
    ['outcome', { code: 'Sold!' }, 'code'],
    ['outcome', { code: 'x'.repeat(65) }, 'code'],
    ['outcome', { text: 'x' }, 'code'],
    ['outcome', { code: 'x', text: 'y'.repeat(2_001) }, 'text'],
  ];
  for (const [path, body, field] of wrong) {
    const answer = await r.send('POST', `${PATH}/${path}`, body);
    assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_request'], JSON.stringify(body));
    assert.match(answer.body.detail, new RegExp(field));
  }
  for (let n = 0; n < 200; n += 1)
    assert.equal((await r.send('POST', `${PATH}/notes`, { text: `<b>${n}</b> '; --` })).status, 201);
  const full = await r.send('POST', `${PATH}/notes`, { text: 'x' });
  assert.deepEqual([full.status, full.body.code], [409, 'limit_reached']);
  assert.equal((await shown(r)).notes[7]!.text, "<b>7</b> '; --");
});
