import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { connectorsRig, conversationFixture } from '../../../test/support/connectors-rig.ts';
import { crmFile, startCrm } from '../../../test/support/crm.ts';
import { until } from '../../../test/support/until.ts';
import { handledBy } from './call-of.ts';

test('connectors - a conversation that ended has one entry, with customer and user; amendments, merge and erasure reach it', async (t) => {
  const rig = await connectorsRig(t);
  const { crm, feed } = rig;
  feed.put('a:1', { state: 'open' });
  await rig.create();
  feed.put('a:2');
  await rig.stands('sent', 'a:2');
  assert.equal(crm.of('a:1').length, 0, 'not before it ended');
  feed.put('a:1', { state: 'final' });
  await rig.stands('sent', 'a:1', 'a:2');
  const [entry] = crm.of('a:2');
  assert.deepEqual([entry!.customer, entry!.user], ['c1', 'u3']);
  assert.match(entry!.text, /^Incoming call, answered\n.*\nNumber: \+4930901820\n/);

  feed.put('a:2', {
    notes: [{ id: 1, at: '', by: '1003', text: 'wants an offer' }],
    state: 'amended',
    revision: 2,
  });
  rig.connectors.service.wake();
  await until('the note', () => crm.of('a:2')[0]?.text.includes('wants an offer') === true);
  const before = crm.requests.length;
  feed.put('a:2', { quality: [] });
  await rig.stands('sent', 'a:2');
  assert.equal(
    crm.requests.slice(before).filter((r) => r.startsWith('PATCH')).length,
    0,
    'nothing in it changed',
  );

  feed.merge('a:1', 'a:2');
  await rig.stands('removed', 'a:1');
  assert.deepEqual([crm.of('a:1').length, crm.of('a:2').length], [0, 1]);
  feed.put('a:2', { erased: true });
  await rig.stands('removed', 'a:2');
  assert.equal(crm.entries.size, 0);
});

test('connectors - who is no customer, internal calls and what began before the connector have no entry', async (t) => {
  const rig = await connectorsRig(t);
  const stranger = { extension: null, number: '1', number_e164: '+4930111', name: '', trunk: 'carrier' };
  rig.feed.put('old:1', { started_at: '2026-11-21T09:04:59.999Z' });
  rig.feed.put('internal:1', { direction: 'internal' });
  rig.feed.put('stranger:1', { customer: stranger });
  await rig.create();
  await rig.stands('not_wanted', 'internal:1', 'stranger:1');
  const all = await rig.entries();
  assert.deepEqual(
    all.map(({ conversation_id, words }) => [conversation_id, words]),
    [
      ['stranger:1', 'no customer with this number is known there'],
      ['internal:1', 'the file makes no entry of such a call'],
    ],
  );
  assert.equal(rig.crm.entries.size, 0);
  rig.crm.customers.set('+4930111', 'c2');
  const reply = await rig.call('POST', `connectors/1/entries/${all[0]!.id}/retry`, {});
  assert.equal(reply.status, 202, JSON.stringify(reply.json));
  await rig.stands('sent', 'stranger:1');
  assert.equal(rig.crm.of('stranger:1')[0]!.customer, 'c2');
});

test('connectors - settings are checked, secrets never returned, a private address needs to be allowed', async (t) => {
  const rig = await connectorsRig(t);
  const made = await rig.create();
  assert.deepEqual(made.secrets, ['token']);
  assert.deepEqual(made.settings, { address: rig.crm.url });
  assert.doesNotMatch(JSON.stringify(await rig.list()), /geheim/);
  const admin = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, body?: object) => {
    const { status, json } = await rig.call(method, url, body, 'token-admin');
    return [status, json.code, json.detail];
  };
  assert.deepEqual(
    (await admin('PATCH', 'connectors/1', { settings: { address: 'http://10.0.0.1' } })).slice(0, 2),
    [400, 'webhook_target_refused'],
  );
  assert.deepEqual(await admin('PATCH', 'connectors/1', { settings: { colour: 'red' } }), [
    400,
    'invalid_request',
    'settings.colour: is not a setting of this file',
  ]);
  const wrong = await admin('PATCH', 'connectors/1', { source: 'connector: 1\nname: x\nbase: ftp://x\n' });
  assert.deepEqual(wrong.slice(0, 2), [400, 'invalid_request']);
  assert.match(String(wrong[2]), /^source: /);
  assert.deepEqual(await admin('POST', 'connectors/1/test'), [200, undefined, undefined]);
  assert.deepEqual((await admin('PATCH', 'connectors/1', { enabled: false })).slice(0, 1), [200]);
  assert.equal((await rig.list())[0]!.state, 'disabled');
  assert.deepEqual((await rig.call('GET', 'connectors')).status, 403, 'a supervisor sees the ledger only');
  assert.equal((await rig.call('GET', 'connectors/1/entries', undefined, 'key-reads')).status, 200);
  assert.deepEqual((await admin('DELETE', 'connectors/1')).slice(0, 1), [200]);
  assert.deepEqual(await rig.list(), []);
});

test('connectors - another file keeps the settings that it knows, and shows no secret that it calls none', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  const change = (source: string, settings?: object) =>
    rig.call('PATCH', 'connectors/1', { source, ...(settings && { settings }) }, 'token-admin');
  const less = (more: string): string => `connector: 1
name: Another
settings: { address: { text: Address, url: true }${more} }
base: '{{ set.address }}'
check: { get: /api }
`;
  const open = await change(less(', token: { text: Token }'));
  assert.deepEqual(
    [open.status, open.json.detail],
    [400, 'settings.token: is missing'],
    JSON.stringify(open.json),
  );
  assert.equal((await change(less(''))).status, 200);
  const [shown] = await rig.list();
  assert.deepEqual([shown!.settings, shown!.secrets], [{ address: rig.crm.url }, []]);
});

test('connectors - another address gets no secret of before: each has to be given again', async (t) => {
  const rig = await connectorsRig(t);
  await using elsewhere = await startCrm();
  await rig.create();
  const change = (body: object) => rig.call('PATCH', 'connectors/1', body, 'token-admin');
  const settings = { address: elsewhere.url };
  const kept = await change({ settings });
  assert.deepEqual(
    [kept.status, kept.json.detail],
    [400, 'settings.token: is needed again because the address changes'],
  );
  const fixed = crmFile().replace(/^base: .*$/m, 'base: https://crm.example.com');
  assert.equal((await change({ source: fixed })).status, 400, 'a file with another address');
  assert.equal((await change({ settings: { address: rig.crm.url } })).status, 200, 'the same address');
  const given = await change({ settings: { ...settings, token: 'geheim-4711' } });
  assert.equal(given.status, 200, JSON.stringify(given.json));
  assert.deepEqual(elsewhere.requests.slice(0, 1), [], 'nothing before it was given');
});

test('connectors - of several customers with a number the rule of the file chooses the one of the entry', async (t) => {
  const both =
    '{{ [{"id": "p1", "name": "Anna", "kind": "person"}, {"id": "f1", "name": "Acme", "kind": "company"}] }}';
  const entryWith = async (rule: string) => {
    const rig = await connectorsRig(t);
    const source = crmFile()
      .replace("formats: [e164], rows: '{{ answer }}'", `formats: [e164], rows: '${both}'`)
      .replace("name: '{{ row.name }}',", "name: '{{ row.name }}', kind: '{{ row.kind }}',")
      .replace('  once: find', `  once: find\n  matches: ${rule}`);
    await rig.create('find', { source });
    rig.feed.put('a');
    rig.connectors.service.wake();
    const [entry] = await until('the entry', async () => {
      const all = await rig.entries();
      return all.length === 1 && all[0]!.state !== 'waiting' && all[0]!.state !== 'sending' && all;
    });
    return [entry!.state, entry!.customer_id];
  };
  assert.deepEqual(await entryWith('first'), ['sent', 'p1']);
  assert.deepEqual(await entryWith('company'), ['sent', 'f1']);
  assert.deepEqual(await entryWith('none'), ['not_wanted', null]);
});

test('connectors - the person of an entry talked last, longest or first, as the file says', () => {
  const leg = (extension: string, talk_time: number, ended_at: string) =>
    ({ participant: { extension }, talk_time, ended_at }) as Conversation['legs'][number];
  const legs = [
    leg('1003', 5, '09:02'),
    leg('1001', 4, '09:03'),
    leg('1002', 4, '09:04'),
    leg('1001', 3, '09:01'),
  ];
  const conversation = { ...conversationFixture('a'), legs };
  const rules = ['first', 'longest', 'last'] as const;
  assert.deepEqual(
    rules.map((rule) => handledBy(conversation, rule)),
    ['1003', '1001', '1002'],
  );
  assert.equal(handledBy({ ...conversation, legs: [] }, 'longest'), '1003');
});
