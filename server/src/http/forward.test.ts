import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { silent } from '../core/log.ts';
import { createForward } from './forward.ts';
import type { Forward } from './forward.ts';
import { createHost } from './host.ts';
import { PROOF_HEADER, SEQ_HEADER, partsOf, proven } from './node-proof.ts';

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A web node before a leading node that answers as `answer` does. */
async function scene(t: TestContext, answer: Answer, more: { deadlineMs?: number } = {}) {
  const received: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const leader = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      received.push({ method: request.method!, url: request.url!, headers: request.headers, body });
      answer(request, response, body);
    });
  });
  leader.listen(0, '127.0.0.1');
  await once(leader, 'listening');
  const s = {
    target: `http://127.0.0.1:${(leader.address() as AddressInfo).port}` as string | null,
    reached: [] as number[],
    received,
    leader,
    base: '',
    forward: null as unknown as Forward,
  };
  const forward = createForward({
    own: (_method, path) => path === '/own',
    target: () => s.target,
    secret: 'secret',
    reached: async (seq) => void s.reached.push(seq),
    log: silent,
    ...more,
  });
  Object.assign(s, { forward });
  const host = await createHost({
    config: { corsOrigins: [], publicUrl: '', trustProxy: [] },
    authenticator: { authenticate: () => null },
    log: silent,
    version: '0',
    forward,
  });
  host.app.get('/own', { config: { level: 'public' } }, async () => 'own');
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  s.base = `http://127.0.0.1:${port}`;
  t.after(async () => {
    forward.close();
    leader.closeAllConnections();
    leader.close();
    await host.close();
  });
  return s;
}

test('forward - a request reaches the leading node with its body, id and the address of its client', async (t) => {
  const s = await scene(t, (_request, response) => {
    response.writeHead(201, { 'content-type': 'text/x', 'set-cookie': ['a=1', 'b=2'], [SEQ_HEADER]: '7' });
    response.end('made');
  });
  const url = '/api/v1/things?x=%2F';
  const body = 'x'.repeat(100_000);
  const response = await fetch(`${s.base}${url}`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer t',
      'idempotency-key': 'k',
      'x-request-id': 'mine',
      'x-forwarded-for': '203.0.113.1',
      [PROOF_HEADER]: 'forged',
    },
    body,
  });
  assert.deepEqual([response.status, await response.text()], [201, 'made']);
  assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2']);
  assert.equal(response.headers.get(SEQ_HEADER), null);
  assert.deepEqual(s.reached, [7], 'its events are waited for');
  const [{ headers, ...one }] = s.received as [(typeof s.received)[0]];
  assert.deepEqual(one, { method: 'POST', url, body });
  assert.deepEqual(
    [headers.authorization, headers['idempotency-key'], headers['x-request-id'], headers['x-forwarded-for']],
    ['Bearer t', 'k', 'mine', undefined],
  );
  assert.deepEqual(proven('secret', headers[PROOF_HEADER], partsOf({ method: 'POST', url })), {
    ip: '127.0.0.1',
    protocol: 'http',
    host: new URL(s.base).host,
  });
  assert.equal(headers.host, new URL(s.base).host);
});
test('forward - its own paths are answered here, also while no node leads; others are refused at once', async (t) => {
  const s = await scene(t, (_request, response) => response.end());
  s.target = null;
  assert.equal(await (await fetch(`${s.base}/own`)).text(), 'own');
  const response = await fetch(`${s.base}/api/v1/things`, { method: 'POST', body: '{}' });
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('retry-after'), '2');
  assert.equal(((await response.json()) as { code: string }).code, 'node_not_active');
  // Nothing listens there.
  s.target = 'http://127.0.0.1:1';
  assert.equal((await fetch(`${s.base}/api/v1/things`, { method: 'POST', body: '{}' })).status, 503);
  assert.equal(s.received.length, 0);
});
test('forward - a write without an answer is not repeated, and neither confirmed nor denied', async (t) => {
  const s = await scene(t, (request) => void request.socket.destroy());
  for (const [method, status, code] of [
    ['POST', 504, 'node_no_answer'],
    ['DELETE', 504, 'node_no_answer'],
    ['GET', 503, 'node_not_active'],
  ] as const) {
    const before = s.received.length;
    const response = await fetch(`${s.base}/api/v1/things`, { method });
    assert.deepEqual(
      [response.status, ((await response.json()) as { code: string }).code],
      [status, code],
      method,
    );
    assert.equal(s.received.length, before + 1, method);
  }
});
test('forward - an answer that does not come in time is not waited for', async (t) => {
  const s = await scene(t, () => {}, { deadlineMs: 200 });
  const response = await fetch(`${s.base}/api/v1/things`, { method: 'PUT', body: '{}' });
  assert.equal(response.status, 504);
});
test('forward - once another node leads, an answer of the former one is not waited for', async (t) => {
  const s = await scene(t, () => s.forward.leads('http://127.0.0.1:2'), { deadlineMs: 3_600_000 });
  const response = await fetch(`${s.base}/api/v1/things`, { method: 'POST', body: '{}' });
  assert.equal(response.status, 504);
});
test('forward - two readings of one request are refused before anything is sent', async (t) => {
  const s = await scene(t, (_request, response) => response.end());
  const socket = net.connect(Number(new URL(s.base).port), '127.0.0.1');
  socket.write('POST /api/v1/things HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 0\r\n\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  assert.match(answer.toString(), /^HTTP\/1\.1 400 /);
  assert.equal(s.received.length, 0);
});
test('forward - an upgrade joins both sides; a refused one passes its answer', async (t) => {
  const s = await scene(t, (_request, response) => {
    response.writeHead(426, { 'content-type': 'text/plain' });
    response.end('no');
  });
  const handshake =
    'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\n';
  const open = () => {
    const socket = net.connect(Number(new URL(s.base).port), '127.0.0.1');
    socket.write(handshake);
    return socket;
  };
  const refused = open();
  const [no] = (await once(refused, 'data')) as [Buffer];
  assert.match(no.toString(), /^HTTP\/1\.1 426 /);
  refused.destroy();
  s.leader.on('upgrade', (request, socket) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: a\r\n\r\n',
    );
    socket.on('data', (chunk: Buffer) =>
      socket.write(`${request.headers['sec-websocket-key']}:${chunk.toString()}`),
    );
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
  });
  const joined = open();
  const [head] = (await once(joined, 'data')) as [Buffer];
  assert.match(head.toString(), /^HTTP\/1\.1 101 [^]*sec-websocket-accept: a/i);
  joined.write('hello');
  const [echo] = (await once(joined, 'data')) as [Buffer];
  assert.equal(echo.toString(), 'k:hello');
  joined.end();
  await once(joined, 'close');
});
