import assert from 'node:assert/strict';
import { getActiveResourcesInfo } from 'node:process';
import { after, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { once } from 'node:events';
import { startNats } from '../../../test/support/nats.ts';
import type { TestNats } from '../../../test/support/nats.ts';
import { until } from '../../../test/support/until.ts';
import { silent } from '../../core/log.ts';
import type { LogNews } from '../../ports/bus.ts';
import { NatsBus } from './bus.ts';
import { NatsLink } from './link.ts';

let server: TestNats;
before(async () => {
  server = await startNats();
});
after(() => server[Symbol.asyncDispose]());

const open = (t: TestContext, urls = server.url, site = 'site-1') => {
  const bus = new NatsBus(new NatsLink({ urls, name: 'test', log: silent }), site);
  t.after(() => bus.close());
  const heard: LogNews[] = [];
  bus.onNews((news) => heard.push(news));
  const isUp = (): Promise<boolean> => until('the connection', () => bus.state().up);
  return { bus, heard, isUp };
};
const news = (head: number): LogNews => ({ epoch: 'e', head });

test('nats bus - what one node tells the others of its site hear, and nobody else', async (t) => {
  const [sender, hearer, stranger] = [open(t), open(t), open(t, server.url, 'site-2')];
  for (const one of [sender, hearer, stranger]) await one.isUp();
  for (let head = 1; head <= 1_000; head += 1) sender.bus.send(news(head));
  await until('the newest', () => hearer.heard.at(-1)?.head === 1_000);
  assert.ok(hearer.heard.length < 1_000, 'news that waits is replaced by newer news');
  sender.bus.send(news(1_001));
  await until('one more', () => hearer.heard.at(-1)?.head === 1_001);
  assert.deepEqual([sender.heard, stranger.heard], [[], []]);
  assert.match(hearer.bus.state().detail, /^connected to 127\.0\.0\.1:\d+$/);
});
test('nats bus - a message that is no news is ignored', async (t) => {
  const hearer = open(t);
  await hearer.isUp();
  await using other = await server.connect();
  for (const text of [
    '',
    '{',
    '[]',
    'null',
    '{"epoch":1,"head":2}',
    '{"epoch":"e","head":1.5}',
    'x'.repeat(300_000),
  ])
    other.publish('offhook.site-1.head', text);
  other.publish('offhook.site-1.head', JSON.stringify(news(7)));
  await until('the news', () => hearer.heard.length > 0);
  assert.deepEqual(hearer.heard, [news(7)]);
});
test('nats bus - a server that is killed, or hangs, is used again when it is back', async (t) => {
  const [sender, hearer] = [open(t), open(t)];
  await Promise.all([sender.isUp(), hearer.isUp()]);
  let head = 0;
  const isHeard = async (): Promise<void> => {
    await until('news', () => {
      sender.bus.send(news((head += 1)));
      return hearer.heard.some((one) => one.head > head - 10 && one.head > 0);
    });
  };
  for (const [ends, begins] of [
    [() => server.kill(), () => server.start()],
    [async () => server.freeze(), async () => server.resume()],
  ] as const) {
    await isHeard();
    await ends();
    await until('the end of both connections', () =>
      [sender, hearer].every(({ bus }) => {
        bus.send(news((head += 1)));
        return !bus.state().up;
      }),
    );
    assert.match(sender.bus.state().detail, /^127\.0\.0\.1:\d+: ./);
    hearer.heard.length = 0;
    await begins();
    await Promise.all([sender.isUp(), hearer.isUp()]);
    await isHeard();
  }
});
test('nats bus - attempts at a machine that hangs leave no socket open', async (t) => {
  const sockets = (): number => getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const begun = sockets();
  await using mute = createServer();
  let met = 0;
  const held = new Set<Socket>();
  mute.on('connection', (socket) => {
    met += 1;
    held.add(
      socket
        .on('close', () => held.delete(socket))
        .on('error', () => undefined)
        .resume(),
    );
  });
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const { port } = mute.address() as { port: number };
  const { bus } = open(t, `nats://127.0.0.1:${port}`);
  await until('a second attempt', () => met === 2);
  assert.match(bus.state().detail, /no answer in 2 s/);
  await bus.close();
  await until('no socket', () => held.size === 0 && sockets() <= begun, {
    seen: () => [held.size, sockets()],
  });
});
test('nats bus - another server of the list is used where the first is away; no password is shown', async (t) => {
  const port = Number(new URL(server.url).port);
  const { bus, isUp } = open(t, `nats://user:secret%20word@127.0.0.1:1,nats://127.0.0.1:${port}`);
  await until('the fault', () => /127\.0\.0\.1:1: /.test(bus.state().detail));
  assert.doesNotMatch(bus.state().detail, /secret/);
  await isUp();
});
