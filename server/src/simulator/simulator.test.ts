import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ask, post, simulated } from '../../test/support/simulated.ts';
import type { Reply } from '../../test/support/simulated.ts';
import { until } from '../../test/support/until.ts';
import { recordSite } from './recording.ts';
import { createSimulator } from './simulator.ts';
import type { Simulator } from './simulator.ts';
import { STORY_NAMES } from './stories.ts';

/** Every event that a key with all scopes hears. */
async function journalOf(simulator: Simulator, from = 0): Promise<readonly { readonly type: string }[]> {
  const topics = 'presence,calls,parking,queues,agents,history,system';
  const all: { readonly type: string }[] = [];
  for (let cursor = from; ;) {
    const page = await ask(simulator, `/api/v1/events/poll?topics=${topics}&wait=0&cursor=${cursor}`);
    if (page.cursor === cursor) return all;
    all.push(...page.events);
    ({ cursor } = page);
  }
}
/** The conversations once all are final. */
const conversations = async (simulator: Simulator, count: number): Promise<Reply['conversations']> =>
  until(`${count} final conversations`, async () => {
    await simulator.advance(1);
    const { conversations: all } = await ask(simulator, '/api/v1/conversations');
    return all.length === count && all.every(({ state }) => state === 'final') && all;
  });

test('simulator - sign in, contacts, agents and history are those of the service', async (t) => {
  const simulator = await simulated(t);
  const agent = simulator.users.find(({ extension }) => extension === '1003')!;
  const login = await fetch(`${simulator.base}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: agent.username, password: agent.password }),
  });
  assert.equal(login.status, 200);
  const { token } = (await login.json()) as { token: string };
  const old = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(simulator.base + path, { ...init, headers });
    assert.equal(response.status, 200, path);
    return (await response.json()) as T;
  };
  const contacts = await old<{ contacts: unknown[] }>('/api/mobile/contacts.php');
  assert.equal(contacts.contacts.length, 12);
  const paused = await old<{ success: boolean }>('/api/cc_actions/agent.php', {
    method: 'POST',
    body: JSON.stringify({ action: 'pause', reason: 'lunch' }),
  });
  assert.equal(paused.success, true);
  const { agents } = await ask(simulator, '/api/v1/agents');
  assert.equal(agents.find(({ extension }) => extension === '1003')?.state, 'not_ready');
  await simulator.play('inbound answered');
  await conversations(simulator, 1);
  const history = await old<{ calls: unknown[] }>('/api/mobile/history.php?extension=1003');
  assert.equal(history.calls.length, 1);
});
test('simulator - each story leaves one final conversation that says what it was', async (t) => {
  const simulator = await simulated(t);
  const published: Record<string, string> = {};
  for (const [i, name] of STORY_NAMES.entries()) {
    const { calls } = await simulator.play(name);
    const all = await conversations(simulator, i + 1);
    const own = all.find((one) => calls.includes(one.id));
    assert.ok(own, name);
    published[name] = `${own.direction} ${own.disposition} by ${own.ended_by} talk ${own.talk_time}`;
  }
  assert.deepEqual(published, {
    'inbound answered': 'in answered by caller talk 120',
    'outbound answered': 'out answered by caller talk 120',
    'internal answered': 'internal answered by caller talk 120',
    'queue answered': 'in answered by caller talk 120',
    'queue abandoned': 'in abandoned_in_queue by caller talk 0',
    'blind transfer': 'in answered by caller talk 240',
    'attended transfer': 'in answered by caller talk 246',
    'answered elsewhere': 'in answered by caller talk 120',
    held: 'in answered by caller talk 240',
    voicemail: 'in voicemail by caller talk 0',
    busy: 'in voicemail by caller talk 0',
    missed: 'in missed by caller talk 0',
  });
});

test('simulator - commands of the API act on its calls', async (t) => {
  const simulator = await simulated(t);
  const placed = await post(simulator, '/api/v1/calls', { from: '1003', to: '1002' });
  await simulator.play([
    { do: 'answer', by: '1003' },
    { do: 'wait', seconds: 2 },
    { do: 'answer', by: '1002' },
    { do: 'wait', seconds: 5 },
  ]);
  const { calls } = await ask(simulator, '/api/v1/calls');
  assert.equal(calls.length, 1);
  const [{ state, call_id: call, legs }] = calls as [Reply['calls'][number]];
  assert.equal(state, 'connected');
  assert.equal(placed.operation.call_id, call);
  const { leg_id } = legs[0]!;
  const path = `/api/v1/calls/${call}`;
  await post(simulator, `${path}/record`, { on: true, leg_id });
  await post(simulator, `${path}/hold`, { leg_id });
  await simulator.advance(5);
  await post(simulator, `${path}/retrieve`, { leg_id });
  await post(simulator, `${path}/record`, { on: false, leg_id });
  await post(simulator, `/api/v1/calls/${call}/transfer`, {
    to: '1004',
    kind: 'blind',
    leg_id: legs[0]!.leg_id,
  });
  await simulator.play([
    { do: 'wait', seconds: 1 },
    { do: 'answer', by: '1004' },
    { do: 'wait', seconds: 5 },
  ]);
  await post(simulator, `/api/v1/calls/${call}/hangup`, {});
  // The service keeps the file of a recording beside the record of its conversation, which may be final before.
  const final = await until('the recording is kept', async () => {
    const [one] = await conversations(simulator, 1);
    return one!.has_recording && one!;
  });
  assert.equal(final.hold_time, 10);
  assert.equal(final.disposition, 'answered');
  assert.deepEqual(final.extensions, ['1002', '1003', '1004']);
});

test('simulator - two runs of one seed have the same journal, key, users and conversations, to the byte', async (t) => {
  const run = async (): Promise<readonly unknown[]> => {
    await using simulator = await createSimulator();
    await simulator.play('queue answered');
    await simulator.play('attended transfer');
    await post(simulator, '/api/v1/agents/1003/pause', { reason: 'lunch' });
    await post(simulator, '/api/v1/calls', { from: '1003', to: '1002' });
    await simulator.play([
      { do: 'answer', by: '1003' },
      { do: 'answer', by: '1002' },
      { do: 'wait', seconds: 1 },
      { do: 'hangup', by: '1002' },
    ]);
    await simulator.advance('00:01:00');
    const { key, users } = simulator;
    const list = await conversations(simulator, 3);
    return [key, users, ...list, ...(await journalOf(simulator))];
  };
  const [first, second] = [await run(), await run()];
  for (const [i, one] of first.entries()) assert.equal(JSON.stringify(second[i]), JSON.stringify(one));
  assert.equal(second.length, first.length);
  const text = JSON.stringify(first);
  assert.ok(text.includes('operation.completed') && text.includes('conversation.finalised'));
  t.diagnostic(`${first.length} parts, ${text.length} bytes`);
});

const COMPANY = `
offhook: 1
extensions:
  - { extension: "20", username: ada, name: Ada, level: admin }
  - { extension: "21", username: bob, name: Bob, level: agent }
queues:
  - { name: care, number: "50", title: Care, members: [{ extension: "21" }] }
trunks:
  - { name: north, title: North, host: 192.0.2.10 }
`;

test('simulator - the company of a YAML file works there, and what is wrong in a file is named', async (t) => {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'offhook-seed-'));
  t.after(() => fs.rm(folder, { recursive: true }));
  const write = async (name: string, text: string): Promise<string> => {
    const file = path.join(folder, name);
    await fs.writeFile(file, text);
    return file;
  };
  const simulator = await createSimulator({ seed: await write('company.yaml', COMPANY) });
  t.after(() => simulator.close());
  assert.deepEqual(
    simulator.users.map(({ extension, name, level }) => [extension, name, level]),
    [
      ['20', 'Ada', 'admin'],
      ['21', 'Bob', 'agent'],
    ],
  );
  await simulator.play('queue answered', { agent: '21', queue: '50' });
  const [call] = await conversations(simulator, 1);
  assert.deepEqual([call!.disposition, call!.extensions], ['answered', ['21']]);
  for (const [text, says] of [
    ['offhook: 2', /offhook/],
    ['- a', /expected a document/],
    ['offhook: 1\nextensions: [{ extension: "20", username: ada, name: Ada }]', /level admin/],
    [COMPANY.replace('"50"', '"x"'), /queues\.0\.number/],
    [COMPANY.replace('members: [{ extension: "21" }]', 'members: [{ extension: "29" }]'), /queue care.*29/],
  ] as const)
    await assert.rejects(createSimulator({ seed: await write('bad.yaml', text) }), says, text);
});

test('simulator - a recording of a site holds nothing of its people and happens again on another one', async (t) => {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'offhook-recording-'));
  t.after(() => fs.rm(folder, { recursive: true }));
  const real = await simulated(t);
  await real.play('queue answered');
  await real.play('blind transfer', { caller: '+4915112345678' });
  await conversations(real, 2);
  const lines: string[] = [];
  const load = async (to: string): Promise<unknown> => {
    const response = await fetch(real.base + to, { headers: { authorization: `Bearer ${real.key}` } });
    assert.equal(response.status, 200, to);
    return response.json();
  };
  for await (const line of recordSite(load)) lines.push(line);
  const text = lines.join('\n');
  const originals = real.users.flatMap(({ extension, username, name }) => [`"${extension}"`, username, name]);
  originals.push('0901820', '15112345678', 'support', 'sales', 'Support', 'example.com', real.key, '/1003');
  for (const original of originals) assert.ok(!text.includes(original), original);
  for (const kept of ['"number_e164":', '"talk_time":', '"disposition":"answered"', '+49'])
    assert.ok(text.includes(kept), kept);
  const file = path.join(folder, 'site.ndjson');
  await fs.writeFile(file, text);

  const replayed = await createSimulator({ recording: file });
  t.after(() => replayed.close());
  assert.equal(replayed.users.length, real.users.length);
  await replayed.advance('01:00:00');
  const kinds = (journal: readonly { type: string }[]): string[] =>
    journal.map(({ type }) => type).filter((type) => /^(?:call|conversation|offer|queue\.caller)/.test(type));
  const [before, after] = [kinds(await journalOf(real)), kinds(await journalOf(replayed))];
  assert.ok(before.includes('conversation.finalised'));
  assert.deepEqual(after, before);

  // A lost journal restarts the service, and the recording goes on.
  await replayed.reset();
  await replayed.fault({ fault: 'epoch' });
  const { cursor } = await ask(replayed, '/api/v1/events/poll?topics=calls&wait=0');
  await replayed.advance('01:00:00');
  const later = kinds(await journalOf(replayed, cursor));
  assert.ok(later.includes('conversation.finalised'));
  assert.deepEqual(later, before.slice(-later.length));
  await fs.writeFile(file, `${lines[0]}\n{"type":1}`);
  await assert.rejects(createSimulator({ recording: file }), /line 2/);
});

test('simulator - time moves 31 days at most by one request, and no longer than the simulator runs', async () => {
  const simulator = await createSimulator();
  const began = simulator.now().getTime();
  const wait = { do: 'wait', seconds: 86_400 } as const;
  for (const work of [
    simulator.advance(31 * 86_400 + 1),
    simulator.advance(Number.POSITIVE_INFINITY),
    simulator.advance('9999:59:59'),
    simulator.play(Array.from({ length: 32 }, () => wait)),
  ])
    await assert.rejects(work, /31 days/);
  assert.equal(simulator.now().getTime(), began);
  const long = assert.rejects(simulator.advance(31 * 86_400), /is closed/);
  await until('time moves', async () => simulator.now().getTime() > began);
  await simulator.close();
  await long;
});
