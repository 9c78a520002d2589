import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportedErrors } from '../server/test/support/reported-errors.ts';
import { scriptedStream } from '../server/test/support/scripted-stream.ts';
import { until } from '../server/test/support/until.ts';
import { createClient } from './client.ts';

const fail = (what: string) => (): never => {
  throw new Error(`${what} failed`);
};

test('callbacks - a position that cannot be stored ends neither the stream nor its loop', async (t) => {
  const messages = reportedErrors(t);
  const server = await scriptedStream(t);
  const stream = createClient({ base: server.base, token: 'x' }).stream({
    topics: ['config'],
    onCursor: fail('onCursor'),
  });
  t.after(() => stream.close());
  const types: string[] = [];
  const reading = (async () => {
    for await (const { type } of stream) types.push(type);
  })();
  const link = await server.link(0);
  const hello = { op: 'hello', protocol: 'offhook.v1', epoch: 'e1', head: 0 } as const;
  link.send({ ...hello, heartbeat_seconds: 15, level: 'agent' });
  const { id, topics } = await link.heard('subscribe');
  link.send({ op: 'subscribed', id, topics, cursor: 1 });
  await until('the stream to be live', () => stream.state === 'live');
  link.send({ op: 'gap', from: 1, to: 9, reason: 'cursor_outdated' });
  link.send({ op: 'gap', from: 9, to: 20, reason: 'cursor_outdated' });
  await until('both items', () => types.length === 2);
  stream.close();
  await reading;
  assert.deepEqual([...messages], ['onCursor failed']);
});

test('callbacks - a token that cannot be stored is used, and the sign-out ends the session', async (t) => {
  const messages = reportedErrors(t);
  const server = await scriptedStream(t);
  const onToken = fail('onToken');
  const client = createClient({ base: server.base, onToken, onSignedOut: fail('onSignedOut') });
  await client.login({ username: '1003', password: 'x' });
  assert.match(client.token ?? '', /^renewed/);
  await client.logout();
  assert.equal(client.token, null);
  await until('the reports', () => messages.size === 2);
});
