import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { freePort } from '../../../../test/support/ports.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../core/clock.ts';
import { EngineLife } from './engine-life.ts';

test('engine life - calls are lost when the process ends, not when it closes a connection', async () => {
  const port = await freePort();
  await using udp = dgram.createSocket('udp4');
  udp.on('message', (data, from) => {
    udp.send(data.toString().replace(/^.*/, 'SIP/2.0 481 No Call'), from.port, from.address);
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  const sockets: net.Socket[] = [];
  const engine = async (): Promise<net.Server> => {
    const server = net.createServer((socket) => sockets.push(socket.on('error', () => {})));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  const connections = (n: number): Promise<unknown> => until(`${n} connections`, () => sockets.length === n);
  const first = await engine();
  const stop = new AbortController();
  const life = new EngineLife({ host: '127.0.0.1', port }, { clock: systemClock });
  const following = life.follow(stop.signal);
  await connections(1);
  sockets[0]!.destroy();
  await connections(2);
  assert.equal(life.lostUntil, 0);
  const before = Date.now();
  first.close();
  sockets[1]!.destroy();
  await until('the end of the process', () => life.lostUntil >= before);
  const died = life.lostUntil;
  const second = await engine();
  await connections(3);
  assert.equal(life.lostUntil, died);
  stop.abort();
  await following;
  second.close();
});
