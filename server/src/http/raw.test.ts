import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { NoFields } from '@offhook/contract/session.ts';
import { z } from 'zod';
import { hostFixture, rawExchange } from '../../test/support/host-fixture.ts';
import { PATIENCE_MS } from '../../test/support/until.ts';
import type { Host, HostLimits } from './host.ts';

let host: Host;
let port: number;
before(async () => {
  host = await open();
  ({ port } = await host.listen({ host: '127.0.0.1', port: 0 }));
});
after(() => host.close());

async function open(limits: Partial<HostLimits> = {}): Promise<Host> {
  // An idle connection outlasts `rawExchange`, so that one which is closed was closed for its request.
  const opened = await hostFixture({ limits: { keepAliveMs: 2 * PATIENCE_MS, ...limits } });
  const { app } = opened;
  app.get('/api/mobile/here.php', { config: { level: 'public' } }, () => ({ here: true }));
  app.get('/api/v1/things/:id', { config: { level: 'user' } }, () => ({ thing: true }));
  app.post(
    '/api/mobile/note.php',
    { config: { level: 'public', body: 'form' }, schema: { body: z.object({ note: z.string() }) } },
    (request) => ({ note: request.body.note }),
  );
  app.post('/api/v1/locked', { config: { level: 'user' }, schema: { body: NoFields } }, () => ({}));
  return opened;
}
/** Port of a host with short limits, within which a busy machine would not answer the requests of other tests. */
async function openHasty(t: TestContext, limits: Partial<HostLimits>): Promise<number> {
  const hasty = await open(limits);
  t.after(() => hasty.close());
  return (await hasty.listen({ host: '127.0.0.1', port: 0 })).port;
}
const SLOW_IS = { headersTimeoutMs: 300, requestTimeoutMs: 600, checkIntervalMs: 50 };
const IDLE_IS = { keepAliveMs: 1_500 };

/** Sends one request unchanged and reads its one answer; the connection closes after it. */
async function answer(
  requestLine: string,
  headers: readonly string[] = ['Host: x'],
  body = '',
  last = ['Connection: close'],
) {
  const { text, closed } = await rawExchange(
    port,
    Buffer.from(`${requestLine}\r\n${[...headers, ...last].join('\r\n')}\r\n\r\n${body}`, 'latin1'),
  );
  return { ...parse(text), closed, text };
}
function parse(text: string) {
  const head = text.slice(0, text.indexOf('\r\n\r\n'));
  const body = text.slice(head.length + 4);
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0),
    head,
    body,
    code: body.startsWith('{') ? (JSON.parse(body) as { code?: string }).code : undefined,
    header: (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim(),
  };
}

/** Methods that the parser knows from another protocol. */
const RTSP_METHODS = [
  'DESCRIBE',
  'ANNOUNCE',
  'SETUP',
  'PLAY',
  'PAUSE',
  'TEARDOWN',
  'GET_PARAMETER',
  'SET_PARAMETER',
  'REDIRECT',
  'RECORD',
  'FLUSH',
];
test('raw - an unknown method is 405 on a known path and 404 on any other', async () => {
  for (const method of [
    'FOO',
    'get',
    'Get',
    'GETS',
    'TRACE',
    'TRACK',
    'CONNECT',
    'PROPFIND',
    'QUERY',
    'SOURCE',
    'M-SEARCH',
    'PRI',
    ...RTSP_METHODS,
    'HEAD',
    'OPTIONS',
    'PUT',
    'A'.repeat(60),
  ]) {
    const known = await answer(`${method} /api/mobile/here.php HTTP/1.1`);
    assert.equal(known.status, 405, method);
    assert.equal(known.header('allow'), 'GET', method);
    assert.equal(known.header('content-type'), 'application/problem+json', method);
    if (method !== 'HEAD') assert.equal(known.code, 'method_not_allowed', method);
    const unknown = await answer(`${method} /api/mobile/there.php?x=1 HTTP/1.1`);
    assert.equal(unknown.status, 404, method);
  }
  assert.equal((await answer('CONNECT example.com:443 HTTP/1.1')).status, 404);
  assert.equal((await answer('OPTIONS * HTTP/1.1')).status, 404);
});
test('raw - no second spelling of a path leads anywhere', async () => {
  for (const path of [
    '//api/mobile/here.php',
    '/api//mobile/here.php',
    '/api/mobile/here.php/',
    '/./api/mobile/here.php',
    '/api/mobile/../mobile/here.php',
    '/api/%2e%2e/api/mobile/here.php',
    '/API/mobile/here.php',
    '/api/mobile/here.PHP',
    '/api/mobile/%68ere.php',
    '/api/mobile/here.php%00',
    '/api/mobile/here.php%20',
    '/api/mobile/here.php%2f',
    '/api%2fmobile%2fhere.php',
    '/api/mobile/here.php;x',
    '/api/mobile/here.php;x=1?y',
    '/api/mobile/here.php/x',
    '/api/mobile/here.php/x.php',
    '/api\\mobile\\here.php',
    '/api/mobile/here.php\\',
    '/api/v1/things/..',
    '/api/v1/things/.',
    '/api/v1/things/%2e%2e',
    '/api/v1/things/a%2Fb',
    '/api/v1/things/a%5c..',
    '/api/v1/things/%00',
    '/api/v1/things/%0a',
    '/api/v1/things/%zz',
    '/api/v1/things/%ff',
    `/api/v1/things/${'9'.repeat(101)}`,
    '/api/v1/things/',
    '/api/v1/things/7/',
    '/%',
    '/*',
    '*',
    '/\xe9',
    'api/mobile/here.php',
    'http:///api/mobile/here.php/',
    'ftp://x/api/mobile/here.php',
  ]) {
    assert.equal(
      (await answer(`GET ${path} HTTP/1.1`)).status,
      path === '/api/v1/things/a%5c..' ? 401 : 404,
      path,
    );
  }
  assert.equal((await answer('GET /api/mobile/here.php?a=//../%zz HTTP/1.1')).status, 200);
  assert.equal((await answer('GET http://x/api/mobile/here.php HTTP/1.1')).status, 200);
});
test('raw - a request that two programs could read as two is refused and the connection closed', async () => {
  const good = '{"note":"x"}';
  const chunk = `c\r\n${good}\r\n0\r\n\r\n`;
  const json = 'Content-Type: application/json';
  const post = 'POST /api/mobile/note.php HTTP/1.1';
  const cases: [string, string, string[], string][] = [
    ['CL and TE', post, ['Host: x', json, 'Content-Length: 12', 'Transfer-Encoding: chunked'], chunk],
    ['two CL', post, ['Host: x', json, 'Content-Length: 12', 'Content-Length: 13'], good],
    ['CL list', post, ['Host: x', json, 'Content-Length: 12, 12'], good],
    ['negative CL', post, ['Host: x', json, 'Content-Length: -1'], good],
    ['plus CL', post, ['Host: x', json, 'Content-Length: +12'], good],
    ['TE gzip', post, ['Host: x', json, 'Transfer-Encoding: gzip, chunked'], chunk],
    ['TE twice', post, ['Host: x', json, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], chunk],
    ['TE identity', post, ['Host: x', json, 'Transfer-Encoding: identity', 'Content-Length: 12'], good],
    ['TE not last', post, ['Host: x', json, 'Transfer-Encoding: chunked, x'], chunk],
    ['bad chunk size', post, ['Host: x', json, 'Transfer-Encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'],
    ['chunk too long', post, ['Host: x', json, 'Transfer-Encoding: chunked'], '2\r\n{}x\r\n0\r\n\r\n'],
    ['bare LF in a header', post, ['Host: x', 'X-A: a\nX-B: b'], ''],
    ['bare CR in a header', post, ['Host: x', 'X-A: a\rX-B: b'], ''],
    ['NUL in a header', post, ['Host: x', 'X-A: a\0b'], ''],
    ['space before the colon', post, ['Host: x', 'Content-Length : 12'], good],
    ['folded header', post, ['Host: x', 'X-A: a', ' b'], ''],
    ['two hosts', 'GET /api/mobile/here.php HTTP/1.1', ['Host: x', 'Host: y'], ''],
    ['no host', 'GET /api/mobile/here.php HTTP/1.1', ['X-A: 1'], ''],
    ['bad host', 'GET /api/mobile/here.php HTTP/1.1', ['Host: x/../y'], ''],
    ['host with user', 'GET /api/mobile/here.php HTTP/1.1', ['Host: a@b'], ''],
    ['HTTP/2 preface', 'PRI * HTTP/2.0', ['Host: x'], ''],
    ['HTTP/2 preface with a path', 'PRI /api/mobile/here.php HTTP/2.0', ['Host: x'], ''],
    ['another protocol', 'DESCRIBE /api/mobile/here.php RTSP/1.0', ['Host: x'], ''],
    ['no protocol', 'GET /api/mobile/here.php', ['Host: x'], ''],
    ['three words too many', 'GET /a b c HTTP/1.1', ['Host: x'], ''],
  ];
  for (const [name, line, headers, body] of cases) {
    const response = await answer(line, headers, body, []);
    assert.equal(response.status, 400, `${name}: ${response.text.slice(0, 200)}`);
    assert.equal(response.code, 'invalid_request', name);
    assert.equal(response.closed, true, `${name}: the connection stays open`);
    assert.equal(
      (response.text.match(/HTTP\/1\.1 \d{3} /g) ?? []).length,
      1,
      `${name}: more than one answer`,
    );
  }
  assert.equal((await answer('GET /api/mobile/here.php HTTP/1.0', [])).status, 200, 'HTTP/1.0 needs no Host');
});
test('raw - a broken request behind a good one does not take its answer', async () => {
  const good = 'GET /api/mobile/here.php HTTP/1.1\r\nHost: x\r\n\r\n';
  const { text, closed } = await rawExchange(
    port,
    `${good}FOO /api/mobile/here.php HTTP/1.1\r\nHost: x\r\n\r\n`,
  );
  assert.equal(closed, true);
  assert.deepEqual(
    [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((m) => m[1]),
    ['200', '405'],
  );
  for (const method of ['PRI', 'DESCRIBE']) {
    const behind = await rawExchange(port, `${good}${method} /nowhere HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.deepEqual(
      [...behind.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((m) => m[1]),
      ['200', '404'],
      method,
    );
  }
  const garbage = await rawExchange(port, `${good}${good}\0\0\0\r\n\r\n`);
  assert.deepEqual(
    [...garbage.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((m) => m[1]),
    ['200', '200', '400'],
  );
});
test('raw - duplicate Authorization headers are no session', async () => {
  const one = ['Host: x', 'Authorization: Bearer token-user'];
  assert.equal((await answer('GET /api/v1/things/7 HTTP/1.1', one)).status, 200);
  const two = await answer('GET /api/v1/things/7 HTTP/1.1', [...one, 'authorization: Bearer token-admin']);
  assert.equal(two.status, 401);
});
test('raw - headers that are too large are 431', async () => {
  const response = await answer('GET /api/mobile/here.php HTTP/1.1', [
    'Host: x',
    `X-A: ${'a'.repeat(20_000)}`,
  ]);
  assert.equal(response.status, 431);
  assert.equal(response.code, 'header_too_large');
});
test('raw - a slow request is 408 and closed: headers, body and nothing at all', async (t) => {
  // A refusal waits for no body, however long that may take.
  const refusing = rawExchange(
    port,
    'POST /api/v1/locked HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"n',
  );
  const hasty = await openHasty(t, SLOW_IS);
  const [headers, body, refused, nothing] = await Promise.all([
    rawExchange(hasty, 'GET /api/mobile/here.php HTTP/1.1\r\nHost: x\r\nX-A: '),
    rawExchange(
      hasty,
      'POST /api/mobile/note.php HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"n',
    ),
    refusing,
    rawExchange(hasty, ''),
  ]);
  for (const [name, exchange] of Object.entries({ headers, body, nothing })) {
    assert.equal(exchange.closed, true, name);
    if (exchange.text !== '') assert.equal(parse(exchange.text).status, 408, `${name}: ${exchange.text}`);
  }
  assert.equal(parse(headers.text).code, 'request_timeout');
  assert.equal(parse(refused.text).status, 401, 'a refusal does not wait for the body');
  assert.equal(refused.closed, true);
});
test('raw - a refused body is drained, so its sender reads the answer and may go on', async () => {
  const big = Buffer.alloc(1_000_000, 0x20);
  const next = 'GET /api/mobile/here.php HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const head = (line: string, type = 'application/json') =>
    `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${big.length}\r\n\r\n`;
  for (const [first, expected] of [
    [head('POST /api/mobile/note.php'), 413],
    [head('POST /api/mobile/note.php', 'text/plain'), 415],
    [head('POST /api/v1/locked'), 401],
    [head('POST /nowhere'), 404],
    [head('PUT /api/mobile/note.php'), 405],
  ] as const) {
    const { text } = await rawExchange(port, [first, big, next]);
    assert.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((m) => Number(m[1])),
      [expected, 200],
      first,
    );
  }
  const chunked = [
    'POST /api/mobile/note.php HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    `${big.length.toString(16)}\r\n`,
    big,
    '\r\n0\r\n\r\n',
    next,
  ];
  const { text } = await rawExchange(port, chunked);
  assert.deepEqual(
    [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((m) => Number(m[1])),
    [413, 200],
  );
});
test('raw - a client that sends a refused body without end is disconnected', async (t) => {
  const port = await openHasty(t, SLOW_IS);
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let sent = 0;
  const block = Buffer.alloc(64 * 1024);
  socket.write('POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  const feed = (): void => {
    while (!socket.destroyed && socket.writable) {
      sent += block.length;
      if (!socket.write(Buffer.concat([Buffer.from('10000\r\n'), block, Buffer.from('\r\n')]))) return;
    }
  };
  socket.on('drain', feed);
  feed();
  await closed;
  assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes were taken`);
});
test('raw - a body too large is not invited, a good one is', async () => {
  const expect = (length: number) => [
    'Host: x',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    'Expect: 100-continue',
  ];
  const good = await answer('POST /api/mobile/note.php HTTP/1.1', expect(12), '{"note":"x"}');
  assert.match(good.text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  const large = await answer('POST /api/mobile/note.php HTTP/1.1', expect(100_000));
  assert.equal(large.status, 413);
  const odd = await answer('GET /api/mobile/here.php HTTP/1.1', ['Host: x', 'Expect: the-moon']);
  assert.equal(odd.status, 200);
});
test('raw - an upgrade is accepted only on its route; another protocol is ignored', async (t) => {
  const port = await openHasty(t, IDLE_IS);
  const upgrade = [
    'Host: x',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  ];
  const ask = async (path: string, headers: readonly string[]) => {
    const { text } = await rawExchange(
      port,
      `GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\nConnection: Upgrade\r\n\r\n`,
    );
    return parse(text);
  };
  for (const path of ['/nowhere', '/api/mobile/here.php', '/', '/ws/', '/api/v1/things/7']) {
    const response = await ask(path, upgrade);
    assert.equal(response.status, 404, path);
    assert.equal(response.code, 'not_found', path);
  }
  assert.equal((await ask('/api/mobile/here.php', ['Host: x', 'Upgrade: h2c'])).status, 200);
});
test('raw - idle connections are closed, and the number of connections is bounded', async (t) => {
  const port = await openHasty(t, IDLE_IS);
  const { text, closed } = await rawExchange(port, 'GET /api/mobile/here.php HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.equal(parse(text).status, 200);
  assert.equal(closed, true);
  const small = await hostFixture({ limits: { maxConnections: 3 } });
  const at = await small.listen({ host: '127.0.0.1', port: 0 });
  const sockets: net.Socket[] = [];
  for (let i = 0; i < 6; i += 1) {
    const socket = net.connect(at.port, '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
  }
  const dropped = await new Promise<number>((resolve) => {
    let n = 0;
    for (const socket of sockets) socket.on('close', () => (n += 1) === 3 && resolve(n));
  });
  assert.equal(dropped, 3);
  for (const socket of sockets) socket.destroy();
  await small.close();
});

test('raw - lines that end in a bare LF are no HTTP, whatever method and path they name', async () => {
  for (const line of ['GET /api/mobile/here.php', 'POST /api/v1/locked']) {
    const { text } = await rawExchange(port, Buffer.from(`${line} HTTP/1.1\nHost: x\n\n`));
    const { status, code, header } = parse(text);
    assert.deepEqual([status, header('allow'), code], [400, undefined, 'invalid_request'], line);
  }
});
