import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Link } from './link.ts';

test('link - a server that refuses at once is asked again at once, not a second later', async () => {
  let asked = 0;
  const server = net.createServer((socket) => {
    asked += 1;
    socket.on('error', () => {});
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const link = new Link(`postgres://offhook:none@127.0.0.1:${port}/site`);
  try {
    const began = performance.now();
    let refused: unknown;
    for (let n = 0; asked < 3; n += 1) {
      refused = await link.reader().then(
        () => assert.fail('it has no session'),
        (error: unknown) => error,
      );
      assert.ok(n < 200, `${asked} attempts reached the server`);
      await wait(10);
    }
    assert.match(String(refused), /PostgreSQL at 127.0.0.1/);
    // Three attempts have two pauses between them: 2 s with one of a second each.
    const ms = performance.now() - began;
    assert.ok(ms < 1_900, `${Math.round(ms)} ms`);
  } finally {
    await link.close();
    server.close();
  }
});
