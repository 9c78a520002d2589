import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { Link } from './link.ts';

test('link - a server is asked again after a pause as long as its refusal took, from 100 ms to a second', async (t) => {
  let [asked, now, takes] = [0, 0, 0];
  t.mock.method(performance, 'now', () => now);
  const server = net.createServer((socket) => {
    asked += 1;
    now += takes;
    socket.on('error', () => {});
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const link = new Link(`postgres://offhook:none@127.0.0.1:${port}/site`);
  try {
    const refused = () => assert.rejects(link.reader(), /PostgreSQL at 127.0.0.1/);
    for (const [takenMs, pauseMs] of [
      [0, 100],
      [700, 700],
      [3_000, 1_000],
    ] as const) {
      [asked, takes] = [0, takenMs];
      await refused();
      now += pauseMs - 1;
      await refused();
      assert.equal(asked, 1, `asked during the pause after a refusal in ${takenMs} ms`);
      now += 1;
      takes = 0;
      await refused();
      assert.equal(asked, 2, `not asked after the pause after a refusal in ${takenMs} ms`);
      now += 100;
    }
  } finally {
    await link.close();
    server.close();
  }
});
