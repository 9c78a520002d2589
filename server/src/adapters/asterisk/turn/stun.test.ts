import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import { findAddress } from './external-address.ts';
import { askStun, mixedAddress, readStun, stunMessage } from './stun.ts';

const SUCCESS = 0x0101;
const MAPPED = 0x0020;
const ADDRESS = Buffer.from('0001a147e112a643', 'hex');
const LIE = Buffer.from('0001a147e112a644', 'hex');
type Reply = (id: Buffer, from: dgram.RemoteInfo, server: dgram.Socket) => void;

/** A server that answers each question by `reply`. */
async function serve(reply: Reply) {
  const server = dgram.createSocket('udp4');
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  server.on('message', (data, from) => reply(readStun(data)!.id, from, server));
  return { host: '127.0.0.1', port: server.address().port, [Symbol.dispose]: () => void server.close() };
}
const answer = (id: Buffer, type = SUCCESS, value = ADDRESS): Buffer =>
  stunMessage(type, id, [[MAPPED, value]]);

test('stun - the addresses of the examples in RFC 5769', () => {
  const id = Buffer.from('b7e7a701bc34d686fa87dfae', 'hex');
  assert.deepEqual(mixedAddress(ADDRESS, id), { host: '192.0.2.1', port: 32_853 });
  const six = Buffer.from('0002a1470113a9faa5d3f179bc25f4b5bed2b9d9', 'hex');
  assert.deepEqual(mixedAddress(six, id), { host: '2001:db8:1234:5678:11:2233:4455:6677', port: 32_853 });
  for (const bad of ['', '00', '0001a147', '0001a147e112', '0003a147e112a643', '0002a147e112a643'])
    assert.equal(mixedAddress(Buffer.from(bad, 'hex'), id), null, bad);
});

test('stun - the answer to the own question counts, with the own address', async () => {
  using server = await serve((id, { port, address }, socket) => {
    socket.send(answer(Buffer.alloc(12, 7), SUCCESS, LIE), port, address);
    socket.send(Buffer.from('no STUN at all'), port, address);
    socket.send(answer(id, 0x0111), port, address);
    socket.send(answer(id), port, address);
  });
  assert.deepEqual(await askStun(server, 5_000), { mapped: '192.0.2.1', local: '127.0.0.1' });
  assert.deepEqual(
    await findAddress('127.0.0.1')({ kind: 'stun', ...server }, new AbortController().signal),
    {
      address: '192.0.2.1',
      local: '127.0.0.1',
    },
  );
});

test('stun - an answer of another sender, even with the right id, is ignored', async () => {
  const other = dgram.createSocket('udp4');
  using server = await serve((id, { port, address }, socket) =>
    other.send(answer(id, SUCCESS, LIE), port, address, () => socket.send(answer(id), port, address)),
  );
  assert.equal((await askStun(server, 5_000)).mapped, '192.0.2.1');
  other.close();
});

test('stun - a silent server, an answer without an address and an interface that is not there are named', async () => {
  const signal = new AbortController().signal;
  using silent = await serve(() => undefined);
  await assert.rejects(askStun(silent, 100), /^Error: no answer in 0.1 s$/);
  using empty = await serve((id, { port, address }, socket) =>
    socket.send(stunMessage(SUCCESS, id, []), port, address),
  );
  const find = findAddress('127.0.0.1');
  await assert.rejects(find({ kind: 'stun', ...empty }, signal), /its answer has no address/);
  await assert.rejects(
    find({ kind: 'interface', name: 'none0' }, signal),
    /no such interface, or it is down/,
  );
  assert.equal((await find({ kind: 'interface', name: 'lo' }, signal)).address, '127.0.0.1');
});
