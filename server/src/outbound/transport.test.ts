import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import { until } from '../../test/support/until.ts';
import { createGuard } from './address-guard.ts';
import type { Address } from './address-guard.ts';
import { ATTEMPT_TIMEOUT_MS, Transport } from './transport.ts';
import type { OutboundRequest, OutboundStream } from './transport.ts';

interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}
type Answer = (response: http.ServerResponse, socket: Socket) => void;

/** A server on a loopback address; `received` are the requests that came whole. */
async function startServer(t: TestContext, answer: Answer, host = '127.0.0.1', onPort = 0) {
  const received: Received[] = [];
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      received.push({ method, path: url, headers, body: Buffer.concat(parts).toString() });
      state.answer(response, request.socket);
    });
    response.on('error', () => undefined);
  });
  // A slow test must not lose its kept connection.
  server.keepAliveTimeout = 0;
  const close = () => new Promise((resolve) => server.close(resolve));
  const state = { answer, received, connections: 0, port: 0, url: '', close };
  server.on('connection', (socket) => {
    state.connections += 1;
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(onPort, host, resolve));
  t.after(() => {
    server.closeAllConnections();
    void close();
  });
  state.port = (server.address() as AddressInfo).port;
  state.url = `http://${host}:${state.port}/`;
  return state;
}

const loopback: readonly Address[] = [{ address: '127.0.0.1', family: 4 }];
/** A transport with a virtual clock; every name resolves to `addresses`. */
function rig(t: TestContext, { allow = ['127.0.0.0/8'], addresses = loopback } = {}) {
  const clock = createVirtualClock();
  const guard = createGuard(allow);
  const state = { addresses };
  const transport = new Transport({ guard, clock, resolve: () => Promise.resolve(state.addresses) });
  t.after(() => transport.close());
  const send = (url: string, more: Partial<OutboundRequest> = {}, signal = new AbortController().signal) =>
    transport.send(
      { method: 'GET', url, headers: {}, max_bytes: 2_097_152, repeatable: false, ...more },
      signal,
    );
  return { clock, guard, state, transport, send };
}
const ok: Answer = (response) => void response.end('{"ok":true}');
/** Answers the first request and resets the connection at each one after it. */
function resetsLater(): Answer {
  let first = true;
  return (response, socket) => {
    if (first) response.end('ok');
    else socket.resetAndDestroy();
    first = false;
  };
}

test('outbound - each method carries its body, and an answer comes back whole', async (t) => {
  const server = await startServer(t, ok);
  const { send, transport } = rig(t);
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const body = method === 'GET' ? undefined : `name=${method}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const result = await send(`${server.url}people?q=1`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
    assert.deepEqual(
      [result.kind, result.status, result.error, result.whole, result.body.toString()],
      ['answered', 200, null, true, '{"ok":true}'],
    );
    const last = server.received.at(-1)!;
    assert.deepEqual([last.method, last.path, last.body], [method, '/people?q=1', body ?? '']);
    assert.equal(last.headers['content-length'], body === undefined ? undefined : String(body.length));
  }
  assert.equal(server.connections, 1, 'one kept connection');
  assert.equal(transport.under_way, 0);
});

test('outbound - an answer lost after sending is unknown, and only what may come twice is sent again', async (t) => {
  const server = await startServer(t, (_response, socket) => void socket.resetAndDestroy());
  const { send } = rig(t);
  const lost = await send(server.url, { method: 'POST', body: 'create' });
  assert.deepEqual([lost.kind, lost.status, server.received.length], ['unknown', null, 1]);
  for (const [repeatable, times] of [
    [false, 2],
    [true, 3],
  ] as const) {
    const kept = await startServer(t, resetsLater());
    assert.equal((await send(kept.url)).kind, 'answered');
    const again = await send(kept.url, { method: 'POST', body: 'create', repeatable });
    assert.equal(again.kind, 'unknown');
    assert.equal(kept.received.length, times);
  }
  const gone = await startServer(t, resetsLater());
  assert.equal((await send(gone.url)).kind, 'answered');
  gone.answer = (_response, socket) => {
    void gone.close();
    socket.resetAndDestroy();
  };
  const last = await send(gone.url, { method: 'PUT', repeatable: true });
  assert.deepEqual([last.kind, gone.received.length], ['unknown', 2]);
  assert.match(last.error!, /ECONNREFUSED/, 'the repetition found no listener');
});

test('outbound - a request that never left is unsent: no listener, no TLS, no name, already aborted', async (t) => {
  const server = await startServer(t, ok);
  const { send, state } = rig(t);
  const free = await startServer(t, ok);
  await free.close();
  const results = [
    await send(free.url, { method: 'POST', body: 'create' }),
    await send(server.url.replace('http:', 'https:'), { method: 'POST', body: 'secret' }),
    await send(server.url, {}, AbortSignal.abort(new Error('stopped'))),
  ];
  state.addresses = [];
  results.push(await send(`http://crm.example.com:${server.port}/`));
  for (const { kind, status, error } of results) {
    assert.deepEqual([kind, status], ['unsent', null]);
    assert.ok(error);
  }
  assert.equal(server.received.length, 0);
});

test('outbound - a silent target ends the request after its time, a dripping one with what came', async (t) => {
  const server = await startServer(t, () => undefined);
  const { clock, send } = rig(t);
  const silent = send(server.url, { method: 'POST', body: 'create' });
  await until('the request', () => server.received.length === 1);
  await clock.advance(ATTEMPT_TIMEOUT_MS);
  const { kind, error } = await silent;
  assert.deepEqual([kind, error], ['unknown', 'no answer within 15 s']);

  const stop = new AbortController();
  const stopped = send(server.url, { method: 'POST', body: 'create' }, stop.signal);
  await until('the second request', () => server.received.length === 2);
  stop.abort(new Error('the lookup has no time left'));
  const late = await stopped;
  assert.deepEqual([late.kind, late.error], ['unknown', 'the lookup has no time left']);

  server.answer = (response, socket) => {
    response.writeHead(200, { 'content-length': '100' }).write('so far', () => socket.destroy());
  };
  const cut = await send(server.url);
  assert.deepEqual(
    [cut.kind, cut.status, cut.whole, cut.body.toString()],
    ['answered', 200, false, 'so far'],
  );
});

test('outbound - an answer of 50 MB is cut at its limit, and one of exactly the limit is whole', async (t) => {
  const piece = Buffer.alloc(1_048_576, 'x');
  let written = 0;
  const server = await startServer(t, (response) => {
    const more = (): void => {
      while (!response.destroyed && written < 50 * piece.length) {
        written += piece.length;
        if (!response.write(piece)) return;
      }
      response.end();
    };
    response.on('drain', more);
    more();
  });
  const { send } = rig(t);
  const huge = await send(server.url);
  assert.deepEqual([huge.status, huge.whole, huge.body.length], [200, false, 2_097_152]);
  assert.ok(written < 50 * piece.length, `${written} bytes were written`);
  server.answer = (response) => void response.end(Buffer.concat([piece, piece]));
  const exact = await send(server.url);
  assert.deepEqual([exact.whole, exact.body.length], [true, 2_097_152]);
});

test('outbound - a redirect is an answer, and a limit comes with its wait', async (t) => {
  const inside = await startServer(t, ok);
  const server = await startServer(
    t,
    (response) => void response.writeHead(307, { location: inside.url }).end(),
  );
  const { clock, send } = rig(t);
  assert.equal((await send(server.url)).status, 307);
  assert.equal(inside.connections, 0);
  const inTwoMinutes = new Date(clock.now() + 120_000).toUTCString();
  for (const [header, seconds] of [
    ['30', 30],
    [inTwoMinutes, 120],
    ['soon', null],
  ] as const) {
    server.answer = (response) => void response.writeHead(429, { 'retry-after': header }).end('{}');
    const limited = await send(server.url);
    assert.deepEqual([limited.kind, limited.status, limited.retry_after_seconds], ['answered', 429, seconds]);
  }
  server.answer = (response) => void response.writeHead(401).end();
  assert.equal((await send(server.url)).status, 401);
});

test('outbound - of several addresses of a name only those allowed are connected to', async (t) => {
  const inside = await startServer(t, ok);
  const outside = await startServer(t, ok, '127.0.0.2', inside.port);
  const addresses = ['127.0.0.1', '::ffff:127.0.0.1', '127.0.0.2'].map((address) => ({
    address,
    family: address.includes(':') ? 6 : 4,
  }));
  const { send, state } = rig(t, { allow: ['127.0.0.2'], addresses });
  const url = `http://crm.example.com:${inside.port}/`;
  assert.equal((await send(url)).status, 200);
  assert.deepEqual([inside.connections, outside.connections], [0, 1]);
  assert.equal(outside.received[0]!.headers.host, `crm.example.com:${inside.port}`);
  // The name moves inside: the kept connection goes on, a new one is not made.
  state.addresses = loopback;
  assert.equal((await send(url)).status, 200);
  outside.answer = (_response, socket) => void socket.destroy();
  assert.equal((await send(url)).kind, 'unknown');
  const moved = await send(url);
  assert.equal(moved.kind, 'unsent');
  assert.match(moved.error!, /does not resolve to an address that may be called/);
  assert.equal(inside.connections, 0);
});

test('outbound - a kept connection carries nothing once its address is not allowed any more', async (t) => {
  const server = await startServer(t, ok);
  const { guard, send } = rig(t);
  const url = `http://crm.example.com:${server.port}/`;
  assert.equal((await send(url)).status, 200);
  guard.allow([]);
  assert.equal((await send(url, { repeatable: true })).kind, 'unsent');
  assert.deepEqual([server.connections, server.received.length], [1, 1]);
});

test('outbound - the guard judges the whole address of each request', async (t) => {
  const server = await startServer(t, ok);
  const { send } = rig(t, { allow: ['127.0.0.1'] });
  for (const url of [
    'http://[::ffff:127.0.0.2]/',
    'http://169.254.169.254/latest/meta-data/',
    `http://user:pass@127.0.0.1:${server.port}/`,
    'http://127.0.0.1:5038/',
    'file:///etc/passwd',
    'no address',
  ]) {
    const { kind, error } = await send(url);
    assert.equal(kind, 'unsent', url);
    assert.match(error!, /^url: /, url);
  }
  assert.equal(server.connections, 0);
});

/** A body of many pieces, in each of which `at` may throw. */
const streamOf = (bytes: number, at: (sent: number) => void = () => undefined): OutboundStream => ({
  bytes,
  async *read() {
    for (let sent = 0; sent < bytes; sent += 65_536) {
      at(sent);
      yield Buffer.alloc(Math.min(65_536, bytes - sent), 'x');
    }
  },
});

test('outbound - a body that is read while it is sent arrives whole, also over a kept connection that was reset', async (t) => {
  const server = await startServer(t, resetsLater());
  const { send } = rig(t);
  const body = streamOf(1_000_001);
  assert.equal((await send(server.url, { method: 'POST', body })).kind, 'answered');
  assert.equal(server.received[0]!.body.length, 1_000_001);
  assert.equal(server.received[0]!.headers['content-length'], '1000001');
  server.answer = ok;
  assert.equal((await send(server.url, { method: 'PUT', body, repeatable: true })).kind, 'answered');
  assert.equal(server.received.at(-1)!.body.length, 1_000_001);
});

test('outbound - a file that cannot be read to its end, and an answer before the end of the body', async (t) => {
  const server = await startServer(t, ok);
  const { send } = rig(t);
  const broken = streamOf(500_000, (sent) => {
    if (sent > 200_000) throw new Error('the file was deleted');
  });
  const lost = await send(server.url, { method: 'POST', body: broken });
  assert.deepEqual([lost.kind, lost.error, server.received.length], ['unknown', 'the file was deleted', 0]);
  const refuses = http.createServer((_request, response) => void response.writeHead(413).end('too large'));
  await new Promise<void>((resolve) => refuses.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    refuses.closeAllConnections();
    refuses.close();
  });
  const url = `http://127.0.0.1:${(refuses.address() as AddressInfo).port}/`;
  let read = 0;
  const early = await send(url, { method: 'POST', body: streamOf(500_000_000, (sent) => (read = sent)) });
  assert.deepEqual([early.kind, early.status], ['answered', 413]);
  assert.ok(read < 100_000_000, `${read} bytes were read`);
});

test('outbound - a request with a limit of its own waits that long', async (t) => {
  const server = await startServer(t, () => undefined);
  const { send, clock } = rig(t);
  let ended = false;
  const sent = send(server.url, { method: 'POST', body: streamOf(10), timeout_ms: 60_000 });
  void sent.then(() => (ended = true));
  await until('the request', () => server.received.length === 1);
  await clock.advance(ATTEMPT_TIMEOUT_MS + 1);
  assert.equal(ended, false);
  await clock.advance(50_000);
  assert.deepEqual([(await sent).kind, (await sent).error], ['unknown', 'no answer within 60 s']);
});
