import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { openRelay } from './relay.ts';
import { readStun, stunMessage } from './stun.ts';

const ALLOCATE_REFUSED = 0x0113;
const ERROR_CODE = 0x0009;

test('turn - a port of ours that the server still knows is left for another one, thrice at most', async () => {
  const server = dgram.createSocket('udp4').bind(0, '127.0.0.1');
  await once(server, 'listening');
  const ports = new Set<number>();
  server.on('message', (data, from) => {
    ports.add(from.port);
    const code = ports.size < 3 ? [0, 0, 4, 37] : [0, 0, 4, 3];
    const id = readStun(data)!.id;
    server.send(
      stunMessage(ALLOCATE_REFUSED, id, [[ERROR_CODE, Buffer.from(code)]]),
      from.port,
      from.address,
    );
  });
  try {
    const { port } = server.address() as AddressInfo;
    const login = { username: 'a', credential: 'b' };
    await assert.rejects(
      openRelay({ host: '127.0.0.1', port }, login, 5_000),
      /no credential and answers 403/,
    );
    assert.equal(ports.size, 3);
    ports.clear();
    server.removeAllListeners('message');
    server.on('message', (data, from) => {
      ports.add(from.port);
      const attributes = [[ERROR_CODE, Buffer.from([0, 0, 4, 37])]] as const;
      server.send(stunMessage(ALLOCATE_REFUSED, readStun(data)!.id, attributes), from.port, from.address);
    });
    await assert.rejects(openRelay({ host: '127.0.0.1', port }, login, 5_000), /another relay of this port/);
    assert.equal(ports.size, 3);
  } finally {
    server.close();
  }
});
