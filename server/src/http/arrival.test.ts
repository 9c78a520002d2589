import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setInterval as every } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { hostFixture } from '../../test/support/host-fixture.ts';
import { until } from '../../test/support/until.ts';
import { createFileFolder } from '../core/file-folder.ts';
import type { Host } from './host.ts';

const UPLOAD_BYTES = 100_000;
/** Far from what a busy machine needs: only an upload that never ends is ended by it. */
const UPLOAD_MS = 12_000;
let host: Host;
let port: number;
/** The service's side of each connection. */
const accepted: net.Socket[] = [];
let folder: string;
/** Milliseconds after which `/api/v1/waits` answers. */
let gate = Promise.withResolvers<void>();
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-arrival-'));
  host = await hostFixture({
    limits: {
      requestTimeoutMs: 500,
      checkIntervalMs: 50,
      uploadIdleMs: 3_000,
      uploadBytesPerSecond: 1_000,
      uploadMs: UPLOAD_MS,
    },
  });
  const files = createFileFolder(folder, 0);
  const upload = { level: 'public', body: 'audio', bodyBytes: UPLOAD_BYTES } as const;
  host.app.post('/api/v1/sound', { config: upload }, async (request) =>
    files.write(1, 'wav', request.body as Readable),
  );
  const document = {
    config: { level: 'public', bodyBytes: UPLOAD_BYTES },
    schema: { body: z.strictObject({ text: z.string() }) },
  } as const;
  host.app.post('/api/v1/document', document, (request) => ({ bytes: request.body.text.length }));
  host.app.post('/api/v1/note', { ...document, config: { level: 'public' } }, () => ({}));
  host.app.get('/api/v1/waits', { config: { level: 'public' } }, async () => {
    await gate.promise;
    return { waited: true };
  });
  host.app.server.on('connection', (socket: net.Socket) => void accepted.push(socket));
  ({ port } = await host.listen({ host: '127.0.0.1', port: 0 }));
});
after(async () => {
  await host.close();
  await rm(folder, { recursive: true });
});

/** Sends `parts` one after the other with a pause between them, and reads until the service closes the connection. */
async function send(where: string, type: string, parts: readonly Buffer[], pauseMs: number, length?: number) {
  const socket = net.connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const bytes = length ?? parts.reduce((sum, part) => sum + part.length, 0);
  socket.write(
    `POST ${where} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${bytes}\r\n\r\n`,
  );
  const began = performance.now();
  const left = parts[Symbol.iterator]();
  for await (const _tick of every(pauseMs)) {
    const { value, done } = left.next();
    if (done === true || socket.destroyed || text !== '') break;
    socket.write(value);
  }
  await closed;
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
  return { status, code: /"code":"(\w+)"/.exec(text)?.[1], ms: performance.now() - began };
}
const pieces = (count: number, bytes: number): Buffer[] =>
  Array.from({ length: count }, () => Buffer.alloc(bytes, 'x'));
const quoted = (parts: readonly Buffer[]): Buffer[] => [
  Buffer.from('{"text":"'),
  ...parts,
  Buffer.from('"}'),
];

test('arrival - an upload over a slow line may take longer than other bodies, as sound and as JSON', async () => {
  const [sound, document, note] = await Promise.all([
    send('/api/v1/sound', 'audio/wav', pieces(30, 1_000), 50),
    send('/api/v1/document', 'application/json', quoted(pieces(30, 1_000)), 50),
    send('/api/v1/note', 'application/json', quoted(pieces(30, 1_000)), 50),
  ]);
  assert.deepEqual([sound.status, document.status], [200, 200]);
  assert.ok(sound.ms > 1_000, `${sound.ms} ms are no slow line`);
  assert.deepEqual([note.status, note.code], [408, 'request_timeout']);
});

test('arrival - an upload that stalls, comes byte by byte, or never ends, is 408 and leaves nothing behind', async () => {
  await rm(folder, { recursive: true });
  const [still, crumbs, endless] = await Promise.all([
    send('/api/v1/sound', 'audio/wav', pieces(1, 20_000), 0, 50_000),
    send('/api/v1/document', 'application/json', quoted(pieces(400, 1)), 50, 50_000),
    send('/api/v1/document', 'application/json', quoted(pieces(400, 240)), 50, 99_999),
  ]);
  for (const [name, one] of Object.entries({ still, crumbs, endless }))
    assert.deepEqual([name, one.status, one.code], [name, 408, 'request_timeout']);
  assert.ok(Math.max(still.ms, crumbs.ms) < endless.ms, `${still.ms} ms, ${crumbs.ms} ms, ${endless.ms} ms`);
  assert.ok(endless.ms > UPLOAD_MS - 1_000, 'by its whole length alone');
  await until('nothing is left', async () => (await readdir(folder).catch(() => [])).length === 0);
});

test('arrival - a late body on a pipelined connection is 408 after the answers before it, or answered once it came', async () => {
  const begin = () => {
    const socket = net.connect(port, '127.0.0.1');
    const got = { text: '', closed: false };
    socket.on('data', (chunk: Buffer) => (got.text += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => (got.closed = true));
    socket.write(
      'GET /api/v1/waits HTTP/1.1\r\nHost: x\r\n\r\n' +
        'POST /api/v1/note HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"text":',
    );
    return { socket, got };
  };
  gate = Promise.withResolvers();
  accepted.length = 0;
  const [late, arrives, unread, endless] = [begin(), begin(), begin(), begin()];
  // Long after the time of a body that is no upload.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  for (const { got } of [late, arrives, unread, endless]) assert.equal(got.text, '', 'not before its turn');
  arrives.socket.write('"a"}');
  unread.socket.write('"a"}\r\nnonsense\r\n\r\n');
  endless.socket.write('"a"}'.padEnd(40_000, 'nonsense'));
  const connections = [late, arrives, unread, endless];
  const written = connections.reduce((sum, { socket }) => sum + socket.bytesWritten, 0);
  await until('the service to have all that was sent', () => {
    const read = accepted.reduce((sum, socket) => sum + socket.bytesRead, 0);
    return read >= written && { read, written };
  });
  gate.resolve();
  const statuses = ({ text }: { text: string }) =>
    Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => status).join(' ');
  await until('late ones are closed', () => [late, unread, endless].every(({ got }) => got.closed));
  await until('it was answered', () => statuses(arrives.got) === '200 200');
  assert.match(late.got.text, /^HTTP\/1\.1 200 [^]*"waited":true[^]*HTTP\/1\.1 408 [^]*"request_timeout"/);
  assert.equal(statuses(late.got), '200 408');
  assert.equal(statuses(unread.got), '200 200 400');
  assert.equal(statuses(endless.got), '200 200 400');
  arrives.socket.write('GET /api/v1/waits HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('the connection goes on', () => statuses(arrives.got) === '200 200 200');
  arrives.socket.destroy();
});

test('arrival - the end of the service waits for no upload that is under way', async () => {
  const own = await hostFixture({ limits: { uploadMs: 60_000, uploadIdleMs: 60_000 } });
  const reads = Promise.withResolvers<void>();
  const config = { level: 'public', body: 'audio', bodyBytes: UPLOAD_BYTES } as const;
  own.app.post('/api/v1/sound', { config }, async (request) => {
    reads.resolve();
    for await (const _ of request.body as Readable);
    return {};
  });
  const socket = net.connect((await own.listen({ host: '127.0.0.1', port: 0 })).port, '127.0.0.1');
  socket.on('error', () => undefined);
  const cut = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(
    'POST /api/v1/sound HTTP/1.1\r\nHost: x\r\nContent-Type: audio/wav\r\nContent-Length: 5000\r\n\r\nhalf',
  );
  await reads.promise;
  await own.close();
  await cut;
});
