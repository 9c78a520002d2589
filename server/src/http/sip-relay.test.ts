import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import net from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { hostFixture, rawExchange } from '../../test/support/host-fixture.ts';
import { noSipCalls } from '../../test/support/sessions-fixture.ts';
import { PATIENCE_MS } from '../../test/support/until.ts';
import type { Host } from './host.ts';
import { sipRelayRoutes } from './sip-relay.ts';
import { digestAnswer } from '../adapters/asterisk/phone/digest.ts';
import { closeFrame, serverFrame } from '../websocket/frames.ts';
import { frameReader } from '../websocket/messages.ts';
import type { SipCredentials } from '../ports/sip.ts';

/** The engine's side: accepts the handshake and then acts as the test says. */
interface FakeEngine {
  port: number | null;
  requests: string[];
  sockets: net.Socket[];
  /** Answer in place of a handshake. */
  says: string | null;
  /** Answer to a whole message, instead of an echo. */
  answers: ((message: string) => string) | null;
  close(): Promise<void>;
}
async function fakeEngine(): Promise<FakeEngine> {
  const engine: FakeEngine = {
    port: null,
    requests: [],
    sockets: [],
    says: null,
    answers: null,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (chunk) => {
      const text = chunk.toString('latin1');
      engine.requests.push(text);
      engine.sockets.push(socket);
      if (engine.says !== null) {
        socket.end(engine.says);
        return;
      }
      const key = /^sec-websocket-key: (.*)\r$/im.exec(text)?.[1] ?? '';
      const accept = hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64');
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: sip\r\n\r\n`,
      );
      const { answers } = engine;
      if (answers !== null) {
        const frames = frameReader(65_536, true);
        socket.on('data', (bytes) => {
          for (const message of frames.read(bytes))
            if (message.opcode === 1)
              socket.write(serverFrame(0x1, Buffer.from(answers(message.payload().toString()))));
        });
        return;
      }
      // Echoes the bytes it gets; masks are of no matter here.
      socket.pipe(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  engine.port = (server.address() as net.AddressInfo).port;
  return engine;
}
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const handshake = (headers: Record<string, string | null> = {}): string => {
  const all = {
    Host: 'pbx.example.com',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': KEY,
    'Sec-WebSocket-Protocol': 'sip',
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === null ? [] : `${name}: ${value}\r\n`,
  );
  return `GET /ws HTTP/1.1\r\n${lines.join('')}\r\n`;
};
/** A connected client; collects received frames. */
async function connect(port: number, headers: Record<string, string | null> = {}) {
  const socket = net.connect(port, '127.0.0.1');
  let received = Buffer.alloc(0);
  const waiters = new Set<() => void>();
  const wake = (): void => waiters.forEach((w) => w());
  let closed = false;
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    wake();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
    wake();
  });
  const until = async (holds: () => boolean, what: string): Promise<void> => {
    const deadline = Date.now() + PATIENCE_MS;
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiters.add(resolve);
      const timer = setTimeout(resolve, Math.max(1, deadline - Date.now()));
      await promise;
      clearTimeout(timer);
      waiters.delete(resolve);
      if (Date.now() >= deadline && !holds())
        assert.fail(`still missing: ${what}; got ${received.toString('latin1').slice(0, 300)}`);
    }
  };
  socket.write(handshake(headers));
  await until(() => received.includes('\r\n\r\n'), 'an answer to the handshake');
  const end = received.indexOf('\r\n\r\n') + 4;
  const head = received.subarray(0, end).toString('latin1');
  return {
    socket,
    head,
    bytes: () => received.subarray(end),
    isClosed: () => closed,
    until,
  };
}
const frame = (payload: string): Buffer => {
  const body = Buffer.from(payload);
  return Buffer.concat([Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0]), body]);
};

/** Credentials that accept no proof. */
const nobody: SipCredentials = { prove: () => null, endsAt: () => null, onSessionEnded: () => () => {} };

let engine: FakeEngine;
let host: Host;
let port: number;
const logged: object[] = [];
before(async () => {
  engine = await fakeEngine();
  host = await hostFixture();
  sipRelayRoutes(host.app, {
    port: () => engine.port,
    credentials: nobody,
    calls: noSipCalls,
    log: {
      debug() {},
      info: (fields: object, message: string) => void logged.push({ ...fields, message }),
      warn() {},
      error() {},
      child: () => assert.fail(),
    },
    metrics: host.metrics,
    limits: { maxFrame: 1_000 },
  });
  ({ port } = await host.listen({ host: '127.0.0.1', port: 0 }));
});
beforeEach(() => {
  engine.requests = [];
  engine.sockets = [];
  engine.says = null;
});
after(async () => {
  await host.close();
  await engine.close();
});

test('sip relay - both directions pass unchanged, in the middle of frames too', async () => {
  const client = await connect(port);
  assert.match(client.head, /^HTTP\/1\.1 101 /);
  assert.match(client.head, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
  assert.match(client.head, /Sec-WebSocket-Protocol: sip/);
  const bytes = Buffer.concat([frame('REGISTER'), frame('x'.repeat(100)), frame('OPTIONS')]);
  for (const byte of bytes) client.socket.write(Buffer.from([byte]));
  await client.until(() => client.bytes().length >= bytes.length, 'the echo');
  assert.ok(client.bytes().equals(bytes));
  client.socket.destroy();
});
test('sip relay - nothing of the client’s request reaches the engine but the protocol', async () => {
  const client = await connect(port, {
    Cookie: 'offhook_session=s3cr3t',
    Authorization: 'Bearer s3cr3t',
    'X-Forwarded-For': '1.2.3.4',
    'Sec-WebSocket-Extensions': 'permessage-deflate',
    'Sec-WebSocket-Protocol': 'chat, sip',
  });
  const [request] = engine.requests;
  assert.ok(request);
  assert.deepEqual(
    request
      .split('\r\n')
      .map((line) => line.split(':')[0])
      .filter(Boolean),
    [
      'GET /ws HTTP/1.1',
      'Host',
      'Upgrade',
      'Connection',
      'Sec-WebSocket-Key',
      'Sec-WebSocket-Version',
      'Sec-WebSocket-Protocol',
    ],
  );
  assert.equal(/s3cr3t|1\.2\.3\.4|deflate/.test(request), false);
  assert.equal(/extensions/i.test(client.head), false);
  client.socket.destroy();
});
test('sip relay - without an upgrade it is 426, with a wrong one 400', async () => {
  const plain = await host.app.inject('/ws');
  assert.equal(plain.statusCode, 426);
  assert.equal(plain.headers.upgrade, 'websocket');
  assert.equal((plain.json() as { code: string }).code, 'upgrade_required');
  for (const wrong of [
    { 'Sec-WebSocket-Version': '8' },
    { 'Sec-WebSocket-Version': null },
    { 'Sec-WebSocket-Key': 'short' },
    { 'Sec-WebSocket-Key': null },
    { 'Sec-WebSocket-Protocol': null },
    { 'Sec-WebSocket-Protocol': 'offhook.v1' },
  ]) {
    const { text, closed } = await rawExchange(port, handshake(wrong));
    assert.match(text, /^HTTP\/1\.1 400 /, JSON.stringify(wrong));
    assert.equal(closed, true);
  }
  assert.equal(engine.requests.length, 0);
});
test('sip relay - pages of other origins may not connect; our own, listed ones and phones may', async () => {
  for (const Origin of [
    'https://evil.example.com',
    'null',
    'http://pbx.example.com:81',
    'https://pbx.example.com',
  ]) {
    const { text } = await rawExchange(port, handshake({ Origin }));
    assert.match(text, /^HTTP\/1\.1 403 /, Origin);
    assert.match(text, /"foreign_origin"/);
  }
  assert.equal(engine.requests.length, 0);
  for (const Origin of [null, 'http://pbx.example.com', 'https://crm.example.com']) {
    const client = await connect(port, { Origin });
    assert.match(client.head, /^HTTP\/1\.1 101 /, String(Origin));
    client.socket.destroy();
  }
});
test('sip relay - while the engine is unreachable, silent or refuses, the upgrade is 503', async () => {
  const unavailable = async (why: string, at = port): Promise<void> => {
    const { text } = await rawExchange(at, handshake());
    assert.match(text, /^HTTP\/1\.1 503 /, why);
    assert.match(text, /"engine_unavailable"/, why);
    assert.match(text, /retry-after: \d/i, why);
  };
  const real = engine.port;
  engine.port = null;
  await unavailable('not running');
  const silent = net.createServer((socket) => socket.resume().on('error', () => {}));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  engine.port = (silent.address() as net.AddressInfo).port;
  // A relay of its own: with this limit, a busy machine would make the engine of other tests late.
  const hasty = await hostFixture();
  sipRelayRoutes(hasty.app, {
    port: () => engine.port,
    credentials: nobody,
    calls: noSipCalls,
    log,
    limits: { answerMs: 300 },
  });
  await unavailable('accepts and is silent', (await hasty.listen({ host: '127.0.0.1', port: 0 })).port);
  await hasty.close();
  await new Promise((resolve) => silent.close(resolve));
  await unavailable('refuses the connection');
  engine.port = real;
  for (const says of [
    'HTTP/1.1 404 Not Found\r\n\r\n',
    'SSH-2.0-x\r\n\r\n',
    'x'.repeat(20_000),
    '',
    'HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: wrong\r\n\r\n',
  ]) {
    engine.says = says;
    await unavailable(says.slice(0, 40));
  }
});
test('sip relay - a frame that is too large ends the connection with 1009 and does not reach the engine', async () => {
  const client = await connect(port);
  const [upstream] = engine.sockets;
  assert.ok(upstream);
  const gone = new Promise((resolve) => upstream.once('close', resolve));
  client.socket.write(Buffer.from([0x82, 0xfe, 0x10, 0x00, 0, 0, 0, 0]));
  await client.until(() => client.isClosed(), 'the end of the connection');
  assert.equal(client.bytes()[0], 0x88);
  assert.equal(client.bytes().readUInt16BE(2), 1009);
  await gone;
});
test('sip relay - when one side goes, so does the other', async () => {
  const first = await connect(port);
  const [upstream] = engine.sockets;
  assert.ok(upstream);
  const gone = new Promise((resolve) => upstream.once('close', resolve));
  first.socket.destroy();
  await gone;
  const second = await connect(port);
  engine.sockets[1]?.destroy();
  await second.until(() => second.isClosed(), 'the end after the engine’s end');
  assert.equal(second.bytes().readUInt16BE(2), 1011);
  assert.match(await host.metrics.registry.metrics(), /offhook_sip_relays 0/);
});
test('sip relay - a close or a cut connection is not logged as a breach of the protocol', async () => {
  logged.length = 0;
  const away = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]);
  const ends: Record<string, (socket: net.Socket, upstream: net.Socket) => void> = {
    'a reload says goodbye': (socket) => void socket.end(away),
    'a tab is closed': (socket) => void socket.end(),
    'the line is cut': (socket) => void socket.destroy(),
    'the line is reset inside a frame': (socket) =>
      void socket.write(frame('REGISTER').subarray(0, 4), () => socket.resetAndDestroy()),
    'the engine goes': (_socket, upstream) => void upstream.destroy(),
    'the engine is reset': (_socket, upstream) => void upstream.resetAndDestroy(),
  };
  for (const [name, end] of Object.entries(ends)) {
    const client = await connect(port);
    client.socket.write(frame('OPTIONS'));
    await client.until(() => client.bytes().length > 0, 'the echo');
    const upstream = engine.sockets.at(-1)!;
    const gone = new Promise((resolve) => upstream.once('close', resolve));
    end(client.socket, upstream);
    await gone;
    await client.until(() => client.isClosed(), `the end after ${name}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(logged, [], name);
  }
  const client = await connect(port);
  client.socket.write(Buffer.from([0x83, 0x80, 0, 0, 0, 0]));
  await client.until(() => client.isClosed(), 'the end');
  assert.match(
    JSON.stringify(logged),
    /^\[\{"ip":"127\.0\.0\.1","code":1002,[^{]*"a SIP WebSocket broke a rule"\}\]$/,
  );
});
test('sip relay - a frame that breaks the protocol ends the connection with 1002 and does not reach the engine', async () => {
  for (const [name, bytes] of Object.entries({
    'a long ping': [0x89, 0xfe, 0x00, 0x7e, 0, 0, 0, 0],
    'a ping in pieces': [0x09, 0x80, 0, 0, 0, 0],
    'a reserved kind': [0x83, 0x80, 0, 0, 0, 0],
  })) {
    const client = await connect(port);
    client.socket.write(Buffer.from(bytes));
    await client.until(() => client.isClosed(), `the end of the connection after ${name}`);
    assert.equal(client.bytes()[0], 0x88, name);
    assert.equal(client.bytes().readUInt16BE(2), 1002, name);
  }
});
test('sip relay - if the engine sent a close frame, or was cut off inside a frame, no close frame is added', async () => {
  const goodbye = closeFrame(1000, 'bye');
  const half = Buffer.from([0x81, 0x05, 0x61]);
  for (const [name, said] of Object.entries({ goodbye, half })) {
    engine.sockets = [];
    const client = await connect(port);
    engine.sockets[0]?.end(said);
    await client.until(() => client.isClosed(), `the end after ${name}`);
    assert.deepEqual(client.bytes(), said, name);
  }
});
test('sip relay - one address cannot open connections without end', async () => {
  const small = await hostFixture();
  sipRelayRoutes(small.app, {
    port: () => engine.port,
    credentials: nobody,
    calls: noSipCalls,
    log: { debug() {}, info() {}, warn() {}, error() {}, child: () => assert.fail() },
    limits: { burst: 3, perSecond: 0 },
  });
  const at = await small.listen({ host: '127.0.0.1', port: 0 });
  const clients = [await connect(at.port), await connect(at.port), await connect(at.port)];
  const { text } = await rawExchange(at.port, handshake());
  assert.match(text, /^HTTP\/1\.1 503 /);
  assert.match(text, /"overloaded"/);
  // A stop closes with 1012, so that phones reconnect.
  const closing = small.close();
  for (const client of clients) {
    await client.until(() => client.isClosed(), 'the end at the stop');
    assert.equal(client.bytes().readUInt16BE(2), 1012);
  }
  await closing;
});

const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => assert.fail() };
const until401 = (text: string): boolean => text.includes('SIP/2.0 401');
/** A relay whose engine accepts each registration except a proof of zeros. */
async function registrar(credentials: SipCredentials, limits: object) {
  const small = await hostFixture();
  const own = await fakeEngine();
  own.answers = (message) => {
    const cseq = /CSeq: \d+ REGISTER/i.exec(message)?.[0] ?? '';
    const good = /response="[0-9a-f]{32}"/.test(message) && !message.includes('0'.repeat(32));
    return `SIP/2.0 ${good ? '200 OK' : '401 Unauthorized'}\r\n${cseq}\r\n\r\n`;
  };
  sipRelayRoutes(small.app, { port: () => own.port, credentials, calls: noSipCalls, log, limits });
  const at = await small.listen({ host: '127.0.0.1', port: 0 });
  return { port: at.port, close: () => Promise.all([small.close(), own.close()]) };
}
const register = (password: string, cseq = 1): Buffer => {
  const uri = 'sip:pbx.example.com';
  const proof = digestAnswer('Digest realm="offhook",nonce="n"', {
    method: 'REGISTER',
    uri,
    username: '1008-web',
    password,
  });
  const text = `REGISTER ${uri} SIP/2.0\r\nCSeq: ${cseq} REGISTER\r\nAuthorization: ${proof}\r\n\r\n`;
  const head = Buffer.from([0x81, 0x80 | 126, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(text.length, 2);
  return Buffer.concat([head, Buffer.from(text)]);
};
/** Credentials of one session with the password `right`, until `end`. */
function oneSession() {
  const listeners = new Set<(id: number) => void>();
  let live = true;
  const credentials: SipCredentials = {
    prove: (device, matches) =>
      live && device === '1008-web' && matches('right') ? { session_id: 7, secret: 'engine' } : null,
    endsAt: () => (live ? Infinity : null),
    onSessionEnded: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const end = (): void => {
    live = false;
    for (const listener of listeners) listener(7);
  };
  return { credentials, end };
}

test('sip relay - without an accepted registration a connection ends, however many were refused; a registered phone stays until its session ends', async () => {
  const { credentials, end } = oneSession();
  const relay = await registrar(credentials, { registerMs: 3_000 });
  const [silent, refused, phone] = [
    await connect(relay.port),
    await connect(relay.port),
    await connect(relay.port),
  ];
  phone.socket.write(register('right'));
  await phone.until(() => phone.bytes().includes('SIP/2.0 200'), 'the registration');
  let cseq = 0;
  const guessing = setInterval(() => refused.socket.write(register('wrong', (cseq += 1))), 30);
  await refused.until(() => until401(refused.bytes().toString()), 'a refusal');
  await refused.until(() => refused.isClosed(), 'the end of who was refused');
  clearInterval(guessing);
  await silent.until(() => silent.isClosed(), 'the end of who says nothing');
  assert.equal(silent.bytes().readUInt16BE(2), 1008);
  assert.equal(phone.isClosed(), false);
  phone.socket.write(register('right', 2));
  await phone.until(
    () => phone.bytes().toString().split('SIP/2.0 200').length === 3,
    'the next registration',
  );
  end();
  await phone.until(() => phone.isClosed(), 'the end with the session');
  assert.equal(phone.bytes().subarray(-21).includes('the session ended'), true);
  await relay.close();
});
test('sip relay - one network has a limit of unregistered connections, and the oldest are closed when all is full', async () => {
  const { credentials } = oneSession();
  const relay = await registrar(credentials, { maxWaiting: 2 });
  const phone = await connect(relay.port);
  phone.socket.write(register('right'));
  await phone.until(() => phone.bytes().includes('SIP/2.0 200'), 'the registration');
  const waiting = [await connect(relay.port), await connect(relay.port)];
  assert.match((await rawExchange(relay.port, handshake())).text, /"overloaded"/);
  waiting[0]?.socket.write(register('right'));
  await waiting[0]?.until(() => waiting[0]?.bytes().includes('SIP/2.0 200') === true, 'the registration');
  const next = await connect(relay.port);
  assert.match(next.head, /^HTTP\/1\.1 101 /, 'a registered phone does not count');
  await relay.close();

  const full = await registrar(credentials, { maxRelays: 2 });
  const registered = await connect(full.port);
  registered.socket.write(register('right'));
  await registered.until(() => registered.bytes().includes('SIP/2.0 200'), 'the registration');
  const older = await connect(full.port);
  const newer = await connect(full.port);
  assert.match(newer.head, /^HTTP\/1\.1 101 /);
  await older.until(() => older.isClosed(), 'the end of the oldest that has not registered');
  assert.equal(older.bytes().readUInt16BE(2), 1013);
  assert.deepEqual([registered.isClosed(), newer.isClosed()], [false, false]);
  newer.socket.write(register('right'));
  await newer.until(() => newer.bytes().includes('SIP/2.0 200'), 'the registration');
  assert.match((await rawExchange(full.port, handshake())).text, /"overloaded"/);
  await full.close();
});
test('sip relay - a connection that sends too many messages is read more slowly, and none is lost', async () => {
  const { credentials } = oneSession();
  const relay = await registrar(credentials, { messages: { burst: 3, per_second: 3 } });
  const phone = await connect(relay.port);
  const answers = (): number => phone.bytes().toString().split('SIP/2.0 200').length - 1;
  const began = performance.now();
  for (let cseq = 1; cseq <= 12; cseq += 1) {
    phone.socket.write(register('right', cseq));
    await phone.until(() => answers() === cseq, `answer ${cseq}`);
  }
  // Three at once, and three for each second of rest.
  assert.ok(performance.now() - began >= 1_900, `12 messages in ${performance.now() - began} ms`);
  await relay.close();
});
