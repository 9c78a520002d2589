import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerFrame } from '@offhook/contract/stream.ts';
import { manualEnvironment } from '../server/test/support/manual-environment.ts';
import { reportedErrors } from '../server/test/support/reported-errors.ts';
import { scriptedStream } from '../server/test/support/scripted-stream.ts';
import { until } from '../server/test/support/until.ts';
import { createClient } from './client.ts';

const hello: ServerFrame = {
  op: 'hello',
  protocol: 'offhook.v1',
  epoch: 'e1',
  head: 0,
  heartbeat_seconds: 15,
  level: 'agent',
};
const event = (seq: number, type: string, data: object): ServerFrame => ({
  op: 'event',
  prev: seq - 1,
  event: {
    specversion: '1.0',
    id: `e1:${seq}`,
    source: '/offhook/ast1',
    type,
    subject: 'x',
    time: '2026-03-02T09:15:04.250Z',
    seq,
    observed: 'live',
    data,
  },
});
const presence = (extension: string, summary: string) => ({
  extension,
  reachability: 'online',
  activity: 'idle',
  personal: 'available',
  note: null,
  expires_at: null,
  summary,
  since: '2026-03-02T09:15:04.250Z',
});

test('store - combines the snapshot with later events, and notifies listeners of the changed record', async (t) => {
  const server = await scriptedStream(t);
  const env = manualEnvironment();
  const store = createClient({ base: server.base, token: 'x', environment: env }).store('presence');
  t.after(() => store.close());
  const notified: string[] = [];
  const end = store.subscribe((e, key) => notified.push(`${e?.type ?? '-'} ${key ?? '-'} ${store.state}`));
  const link = await server.link(0);
  link.send(hello);
  const { id, topics, snapshot } = await link.heard('subscribe');
  assert.deepEqual([topics, snapshot], [['presence'], true]);
  assert.equal(store.stale, true, 'nothing is shown as true before the snapshot');
  link.send({ op: 'subscribed', id, topics, cursor: 5 });
  const extensions = [presence('1001', 'available'), presence('1002', 'dnd')];
  link.send({ op: 'snapshot', topic: 'presence', cursor: 5, data: { stale: false, extensions } });
  await store.ready;
  assert.deepEqual([...store.keys()], ['1001', '1002']);
  assert.equal(store.stale, false);
  const untouched = store.get('1002');
  link.send(
    event(6, 'presence.changed', presence('1001', 'in_call')),
    event(7, 'config.applied', { files: [] }),
  );
  link.send(event(8, 'engine.link_down', { node: 'ast1', reason: 'gone' }));
  await until('the engine to be gone', () => store.stale);
  assert.equal(store.get('1001')?.summary, 'in_call');
  assert.equal(store.get('1002'), untouched);
  link.send(event(9, 'engine.resynced', { node: 'ast1', boot_id: 'b', restarted: false, differences: 0 }));
  await until('the engine to be back', () => !store.stale);
  end();
  assert.deepEqual(notified, [
    '- - live',
    '- - live',
    'presence.changed 1001 live',
    'engine.link_down - live',
    'engine.resynced - live',
  ]);

  link.cut();
  await until('the store to be stale', () => store.stale && env.waits.length === 1);
  assert.equal(store.size, 2, 'what was known is still shown');
  env.pass(1);
  const second = await server.link(1);
  second.send(hello);
  const again = await second.heard('subscribe');
  second.send({ op: 'subscribed', id: again.id, topics, cursor: 30 });
  second.send({ op: 'gap', from: 9, to: 30, reason: 'cursor_outdated' });
  await until('the gap', () => store.state === 'live');
  assert.equal(store.stale, true, 'the records are those of before the gap');
  second.send({
    op: 'snapshot',
    topic: 'presence',
    cursor: 30,
    data: { extensions: [presence('1003', 'away')] },
  });
  await until('the new state', () => store.has('1003'));
  assert.deepEqual([...store.keys()], ['1003'], 'after a gap only what the new snapshot holds');
  assert.equal(store.stale, false);
});

test('store - of named objects contains only those and becomes ready with the last of their snapshots', async (t) => {
  const server = await scriptedStream(t);
  const store = createClient({ base: server.base, token: 'x' }).store('presence', { only: ['1001', '1002'] });
  t.after(() => store.close());
  const link = await server.link(0);
  link.send(hello);
  const { id, topics } = await link.heard('subscribe');
  assert.deepEqual(topics, ['presence/1001', 'presence/1002']);
  const show = (extension: string, summary: string): ServerFrame => ({
    op: 'snapshot',
    topic: `presence/${extension}`,
    cursor: 5,
    data: { extensions: [presence(extension, summary)] },
  });
  let ready = false;
  void store.ready.then(() => (ready = true));
  link.send({ op: 'subscribed', id, topics, cursor: 5 }, show('1001', 'away'));
  await until('the first', () => store.size === 1);
  assert.equal(ready, false);
  link.send(show('1002', 'dnd'));
  await store.ready;
  link.send(show('1001', 'in_call'));
  await until('one of them anew', () => store.get('1001')?.summary === 'in_call');
  assert.equal(store.get('1002')?.summary, 'dnd');
});

test('store - of calls/mine contains after a gap only the calls of the new snapshot', async (t) => {
  const server = await scriptedStream(t);
  const store = createClient({ base: server.base, token: 'x' }).store('calls', { only: ['mine'] });
  t.after(() => store.close());
  const link = await server.link(0);
  link.send(hello);
  const { id, topics } = await link.heard('subscribe');
  const show = (call_id: string): ServerFrame => ({
    op: 'snapshot',
    topic: 'calls/mine',
    cursor: 5,
    data: { calls: [{ call_id, parties: [], legs: [], answered_at: null }] },
  });
  link.send({ op: 'subscribed', id, topics, cursor: 5 }, show('a'));
  await until('the first', () => store.has('a'));
  link.send(show('b'));
  await until('the second', () => store.has('b'));
  assert.deepEqual([...store.keys()], ['b']);
});

test('store - a listener that fails ends neither the store nor its reconnects', async (t) => {
  const server = await scriptedStream(t);
  const env = manualEnvironment();
  const messages = reportedErrors(t);
  const store = createClient({ base: server.base, token: 'x', environment: env }).store('presence');
  t.after(() => store.close());
  store.subscribe(() => {
    throw new Error('the page is broken');
  });
  const begin = async (n: number) => {
    const link = await server.link(n);
    link.send(hello);
    const { id, topics } = await link.heard('subscribe');
    link.send({ op: 'subscribed', id, topics, cursor: 5 });
    return link;
  };
  const first = await begin(0);
  const extensions = [presence('1001', 'available')];
  first.send({ op: 'snapshot', topic: 'presence', cursor: 5, data: { stale: false, extensions } });
  await store.ready;
  first.send(event(6, 'presence.changed', presence('1001', 'in_call')));
  await until('the event', () => store.get('1001')?.summary === 'in_call');
  first.cut();
  await until('the wait for the next attempt', () => store.state === 'stale' && env.waits.length > 0);
  env.pass(1_000);
  const second = await begin(1);
  second.send({ op: 'resumed', cursor: 6 }, event(7, 'presence.changed', presence('1001', 'dnd')));
  await until('the next event', () => store.get('1001')?.summary === 'dnd');
  await until('reports', () => messages.size > 0);
  assert.deepEqual([...messages], ['the page is broken']);
});

test('store - without access rejects ready', async (t) => {
  const server = await scriptedStream(t);
  const errors: Error[] = [];
  const store = createClient({ base: server.base, token: 'x' }).store('agents', {
    onError: (e) => errors.push(e),
  });
  const link = await server.link(0);
  link.close(4403, 'not yours');
  await assert.rejects(store.ready, { code: 'forbidden' });
  assert.equal(errors.length, 1);
  assert.equal(store.state, 'closed');
});

test('store - closed by its owner reports no error', async (t) => {
  const server = await scriptedStream(t);
  const errors: Error[] = [];
  const store = createClient({ base: server.base, token: 'x' }).store('agents', {
    onError: (e) => errors.push(e),
  });
  await server.link(0);
  store.close();
  await assert.rejects(store.ready, { message: 'the store is closed' });
  assert.deepEqual(errors, []);
});
