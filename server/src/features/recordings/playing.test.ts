/** A recording that is deleted while somebody listens to it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readlink } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { CALL, recordingsRig } from '../../../test/support/recordings-rig.ts';
import { until } from '../../../test/support/until.ts';

const BOSS = 'token-supervisor';

test('recordings - an erasure ends the answers to those who listen, so that no byte stays on the disk', async (t) => {
  const rig = await recordingsRig(t);
  // More than fits into the buffers of two sockets, so that a paused player holds it up.
  const id = await rig.stored(4_000_000);
  const { port } = await rig.host.listen({ host: '127.0.0.1', port: 0 });
  const listen = async (): Promise<http.IncomingMessage> => {
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
    return (await Promise.all(links)).filter((file) => file.includes(`${id}.wav`)).length;
  };
  const paused = [await listen(), await listen()];
  await using upload = await rig.recordings().audioFiles.open(id);
  assert.equal(await openFiles(), 3);
  const { erased } = await rig.recordings().index.erase([CALL]);
  assert.equal(erased, 1);
  assert.equal(await openFiles(), 0);
  for (const answer of paused) await assert.rejects(answer.toArray(), { code: 'ECONNRESET' });
  await assert.rejects(async () => {
    for await (const _part of upload!.read());
  });
  assert.equal((await rig.get(BOSS, `/${id}/audio`)).body.code, 'no_audio');
});

test('recordings - a recording that is deleted while its listening is written down is not played', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.stored(1_000);
  const file = path.join(rig.folder, `${id}.wav`);
  const { promise, resolve } = Promise.withResolvers<void>();
  rig.audit.before = () => promise;
  const playing = rig.get(BOSS, `/${id}/audio`);
  const isOpen = async (): Promise<boolean> => {
    const links = (await readdir('/proc/self/fd')).map((fd) =>
      readlink(`/proc/self/fd/${fd}`).catch(() => ''),
    );
    return (await Promise.all(links)).includes(file);
  };
  await until('the file is open', isOpen);
  await rig.recordings().index.erase([CALL]);
  resolve();
  const { status, body } = await playing;
  assert.deepEqual([status, body.code, body.detail], [409, 'no_audio', 'the recording was deleted']);
});
