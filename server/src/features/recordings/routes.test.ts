import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { execFile } from 'node:child_process';
import { mkdir, open, readdir, readlink, rename, rm, rmdir, symlink, truncate } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { SAME_READ_MS } from '../../commands/audited-reads.ts';
import { CALL, recordingsRig, wav } from '../../../test/support/recordings-rig.ts';
import { until } from '../../../test/support/until.ts';
import { partOf } from '../../core/byte-range.ts';

const BOSS = 'token-supervisor'; // 1002
const OWN = 'token-agent'; // 1003, whose leg is recorded
const STRANGER = 'token-user'; // 1005

test('recordings - played whole and in parts, as a file that must not be cached', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.stored(1_000);
  const file = wav(8_000);
  const whole = await rig.get(BOSS, `/${id}/audio`);
  assert.equal(whole.status, 200);
  assert.deepEqual(whole.bytes, file);
  const { headers } = whole;
  assert.equal(headers['content-type'], 'audio/wav');
  assert.equal(headers['content-length'], String(file.length));
  assert.equal(headers['accept-ranges'], 'bytes');
  assert.equal(headers['cache-control'], 'private, no-store');
  assert.equal(headers['content-disposition'], `attachment; filename="recording-20261121T090000Z-${id}.wav"`);
  assert.ok(!JSON.stringify(headers).includes(rig.folder), 'no path of the server');

  const part = await rig.get(BOSS, `/${id}/audio`, { range: 'bytes=100-199' });
  assert.equal(part.status, 206);
  assert.deepEqual(part.bytes, file.subarray(100, 200));
  assert.equal(part.headers['content-range'], `bytes 100-199/${file.length}`);
  assert.equal(part.headers['content-length'], '100');
  const last = await rig.get(BOSS, `/${id}/audio`, { range: 'bytes=-10' });
  assert.deepEqual(last.bytes, file.subarray(-10));
  const beyond = await rig.get(BOSS, `/${id}/audio`, { range: `bytes=${file.length}-` });
  assert.deepEqual([beyond.status, beyond.body.code], [416, 'range_not_satisfiable']);
  assert.equal(beyond.headers['content-range'], `bytes */${file.length}`);
  const same = { range: 'bytes=0-0', 'if-range': String(headers['etag']) };
  assert.equal((await rig.get(BOSS, `/${id}/audio`, same)).status, 206);
  assert.equal((await rig.get(BOSS, `/${id}/audio`, { ...same, 'if-range': '"another"' })).status, 200);
  assert.equal((await rig.get(BOSS, `/${id}/audio`, { range: 'bytes=0-1,5-6' })).status, 200);
});

test('recordings - a part is always within the file and the requested range, or the whole is sent', () => {
  const nothing = [
    '',
    'bytes=',
    'bytes=-',
    'bytes=5-2',
    'items=0-1',
    'bytes=a-b',
    'bytes=0-1,3-4',
    'bytes=--1',
  ];
  for (const header of nothing) assert.equal(partOf(header, 10), null, header);
  assert.equal(partOf(undefined, 10), null);
  fc.assert(
    fc.property(fc.nat(50), fc.option(fc.nat(60)), fc.option(fc.nat(60)), (size, first, last) => {
      const part = partOf(`bytes=${first ?? ''}-${last ?? ''}`, size);
      if (part === null || part === 'unsatisfiable') {
        const lies = first === null ? last !== 0 && size > 0 : first < size;
        assert.ok(part === null || !lies);
        return;
      }
      assert.ok(part.start >= 0 && part.start <= part.end && part.end < size);
      if (first === null) assert.equal(part.end - part.start + 1, Math.min(last!, size));
      else assert.deepEqual(part, { start: first, end: Math.min(last ?? Infinity, size - 1) });
    }),
  );
});

test('recordings - a listening is one line of the audit trail, however many parts it is sent in', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.stored();
  const played = () => rig.trail.filter((line) => line.action === 'recordings.play').length;
  for (const range of ['bytes=0-9', 'bytes=10-19', 'bytes=-5']) {
    assert.equal((await rig.get(OWN, `/${id}/audio`, { range })).status, 206);
  }
  assert.equal(played(), 1);
  assert.deepEqual(rig.trail.at(-1), {
    action: 'recordings.play',
    actor: 'agent',
    object: id,
    outcome: 'ok',
    ip: '127.0.0.1',
    detail: { call_id: 'ast1:1.1' },
  });
  await rig.get(BOSS, `/${id}/audio`);
  assert.equal(played(), 2, 'another person listens for itself');
  await rig.clock.advance(SAME_READ_MS + 1);
  await rig.get(OWN, `/${id}/audio`);
  assert.equal(played(), 3, 'later is another time');
  await rig.get(OWN, `/${id}/audio`, { range: 'bytes=999999999-' });
  await rig.get(STRANGER, `/${id}/audio`);
  assert.equal(played(), 3, 'an unsent part is no listening');
  rig.audit.fails = true;
  await rig.clock.advance(SAME_READ_MS + 1);
  const unseen = await rig.get(OWN, `/${id}/audio`);
  assert.equal(unseen.status, 500, 'nothing is played unseen');
  assert.equal(unseen.bytes.includes('RIFF'), false);
});

test('recordings - a foreign recording is not found; participants may play it if the site allows it', async (t) => {
  const keys = {
    all: { scopes: ['recordings:read' as const] },
    other: { scopes: ['recordings:read' as const], extensions: ['1005'] },
    its: { scopes: ['recordings:read' as const], extensions: ['1004'] },
    none: { scopes: ['history:read' as const] },
  };
  const rig = await recordingsRig(t, { keys });
  const id = await rig.stored();
  const asked = async (token: string) =>
    Promise.all([`/${id}`, `/${id}/audio`].map(async (url) => (await rig.get(token, url)).status));
  for (const token of [BOSS, 'token-admin', OWN, 'key-all', 'key-its']) {
    assert.deepEqual(await asked(token), [200, 200], token);
  }
  assert.deepEqual(await asked(STRANGER), [404, 404]);
  assert.deepEqual(await asked('key-other'), [404, 404]);
  assert.deepEqual(await asked('key-none'), [403, 403]);
  const nothing = await rig.get(STRANGER, `/${'0'.repeat(26)}`);
  assert.deepEqual(nothing.body.code, (await rig.get(STRANGER, `/${id}`)).body.code);
  for (const evil of ['..%2f..%2fetc%2fpasswd', '%2e%2e', `${id}.wav`, 'x', `${id}%00`]) {
    const { status } = await rig.get(BOSS, `/${evil}/audio`);
    assert.ok(status === 400 || status === 404, evil);
  }
  const closed = await recordingsRig(t, { own: false });
  const theirs = await closed.stored();
  assert.equal((await closed.get(OWN, `/${theirs}/audio`)).status, 404);
  assert.equal((await closed.get(BOSS, `/${theirs}/audio`)).status, 200);
});

test('recordings - an extension whose phone only rang plays and lists none of the conversation', async (t) => {
  const scopes = ['recordings:read' as const];
  const keys = { rung: { scopes, extensions: ['1005'] }, talked: { scopes, extensions: ['1004', '1005'] } };
  const rig = await recordingsRig(t, { keys });
  const id = await rig.stored();
  rig.conversations.set(CALL, { ...rig.conversations.get(CALL)!, extensions: ['1003', '1004', '1005'] });
  const seen = async (token: string) => {
    const ids = async (query: string) =>
      (await rig.get(token, query)).body.recordings.map((recording) => recording.id);
    return {
      one: (await rig.get(token, `/${id}`)).status,
      audio: (await rig.get(token, `/${id}/audio`)).status,
      conversation: await ids(`?conversation=${CALL}`),
      all: await ids(''),
    };
  };
  const none = { one: 404, audio: 404, conversation: [], all: [] };
  const talked = { one: 200, audio: 200, conversation: [id], all: [id] };
  assert.deepEqual(await seen(STRANGER), none);
  assert.deepEqual(await seen('key-rung'), none);
  assert.deepEqual(await seen('key-talked'), talked);
  assert.deepEqual(await seen(OWN), talked);
  assert.deepEqual(await seen(BOSS), talked);
});

test('recordings - the list of a person has what a queue recorded of its talks, page by page among others', async (t) => {
  const keys = { talked: { scopes: ['recordings:read' as const], extensions: ['1004'] } };
  const rig = await recordingsRig(t, { keys });
  rig.leg();
  const theirs: string[] = [];
  for (let n = 0; n < 600; n += 1) {
    const call = n % 200 === 199 ? CALL : 'ast1:9.9';
    const file = `q-${n}.wav`;
    const record = { call, channel: `ast1:7.${n}`, at_us: (rig.clock.now() + n) * 1_000 };
    await rig.hear({ ...record, facts: { recording: { by: 'queue', of: 'support', file } } } as never);
  }
  for (const { id, call_id } of (await rig.get(BOSS, `?conversation=${CALL}`)).body.recordings) {
    assert.equal(call_id, CALL);
    theirs.push(id);
  }
  assert.equal(theirs.length, 3);
  const all = async (token: string, query: string): Promise<string[]> => {
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await rig.get(token, `?limit=2${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
      ids.push(...body.recordings.map(({ id }) => id));
      cursor = body.next_cursor;
    }
    return ids;
  };
  for (const token of [OWN, 'key-talked']) {
    assert.deepEqual(await all(token, ''), theirs, token);
    assert.deepEqual(await all(token, '&queue=support'), theirs, token);
    assert.deepEqual(await all(token, '&queue=sales'), [], token);
  }
  assert.deepEqual(await all(STRANGER, ''), []);
});

test('recordings - eight parts at once for one person; a disconnect frees its place and leaves no file open', async (t) => {
  const rig = await recordingsRig(t);
  // More than what lies between two sockets, so that who does not read holds it up.
  const id = await rig.stored(4_000_000);
  const { port } = await rig.host.listen({ host: '127.0.0.1', port: 0 });
  const ask = async (): Promise<http.IncomingMessage> => {
    const headers = { authorization: `Bearer ${BOSS}` };
    const url = `/api/v1/recordings/${id}/audio`;
    const [answer] = (await once(http.get({ port, path: url, headers, agent: false }), 'response')) as [
      http.IncomingMessage,
    ];
    return answer;
  };
  const openFiles = async (): Promise<number> => {
    const links = (await readdir('/proc/self/fd')).map((fd) =>
      readlink(`/proc/self/fd/${fd}`).catch(() => ''),
    );
    return (await Promise.all(links)).filter((file) => file.endsWith(`${id}.wav`)).length;
  };
  const eight = await Promise.all(Array.from({ length: 8 }, ask));
  assert.deepEqual(
    eight.map((answer) => answer.statusCode),
    Array(8).fill(200),
  );
  assert.equal((await ask()).statusCode, 429);
  assert.equal(await openFiles(), 8);
  for (const answer of eight) answer.destroy();
  await until('the files to be closed', async () => (await openFiles()) === 0);
  assert.equal((await rig.get(BOSS, `/${id}/audio`, { range: 'bytes=0-9' })).status, 206);
  // A player that takes nothing more does not hold up the end of the service.
  const paused = await ask();
  assert.equal(paused.statusCode, 200);
  await rig.host.close();
  await assert.rejects(paused.toArray());
  assert.equal(await openFiles(), 0);
});

test('recordings - a file whose size cannot be read is closed', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.stored();
  const file = path.join(rig.folder, `${id}.wav`);
  await using other = await open('/dev/null');
  const openFiles = async (): Promise<number> =>
    (
      await Promise.all(
        (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
      )
    ).filter((name) => name === file).length;
  const kind = Object.getPrototypeOf(other) as typeof other;
  const fails = (): Promise<never> => Promise.reject(new Error('stale file handle'));
  for (const failing of [0, 1]) {
    const stat = t.mock.method(kind, 'stat');
    stat.mock.mockImplementationOnce(fails, failing);
    await assert.rejects(rig.recordings().audioFiles.open(id), /stale/, String(failing));
    stat.mock.restore();
    assert.equal(await openFiles(), 0, String(failing));
  }
});

test('recordings - a link in the place of a file leads nowhere', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.stored();
  const file = path.join(rig.folder, `${id}.wav`);
  await rename(file, `${rig.folder}.secret`);
  await symlink(`${rig.folder}.secret`, file);
  const { status, bytes } = await rig.get(BOSS, `/${id}/audio`);
  assert.equal(status, 409);
  assert.equal(bytes.includes('WAVE'), false);
});

test('recordings - a file that was cut or grew after it was stored is refused by its size', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.stored(1_000);
  const file = path.join(rig.folder, `${id}.wav`);
  const { length } = wav(8_000);
  for (const size of [0, 44, length - 1, length + 1]) {
    await truncate(file, size);
    const { status, body } = await rig.get(BOSS, `/${id}/audio`);
    assert.deepEqual([status, body.code], [409, 'no_audio'], `${size}`);
    assert.match(
      String((body as { detail?: unknown }).detail),
      new RegExp(`has ${size} bytes, ${length} were stored`),
    );
  }
});

test('recordings - a folder or a pipe instead of a file is rejected without waiting for it', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.stored(1_000);
  const file = path.join(rig.folder, `${id}.wav`);
  await rm(file);
  await mkdir(file);
  const played = async () => (await rig.get(BOSS, `/${id}/audio`)).body.code;
  assert.equal(await played(), 'no_audio');
  await rmdir(file);
  await promisify(execFile)('mkfifo', [file]);
  // Gives the pipe a writer in the end, so that a failing test ends instead of waiting.
  let late = false;
  const writer = setTimeout(() => {
    late = true;
    void open(file, 'r+');
  }, 30_000);
  t.after(() => clearTimeout(writer));
  assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(played)), Array(5).fill('no_audio'));
  assert.equal(late, false, 'it waited for a writer');
});
