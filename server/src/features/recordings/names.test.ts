/** Recordings of different nodes whose files have one name, as those by rule of earlier versions can. */
import assert from 'node:assert/strict';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { ChannelId } from '@offhook/contract/ids.ts';
import { recordingsRig, wav } from '../../../test/support/recordings-rig.ts';
import { until } from '../../../test/support/until.ts';
import { silent } from '../../core/log.ts';
import { followDeletions } from './disposal.ts';

const BOSS = 'token-supervisor';
const DAY = 86_400_000;
const FAR = 'far:1795287986.10' as ChannelId;
const FILE = '1795287986.10-1795287990.wav';
type Rig = Awaited<ReturnType<typeof recordingsRig>>;

/** A recording of the home node far, and a file with its name in the folder of this node. */
async function ofFar(rig: Rig): Promise<string> {
  const at_us = rig.clock.now() * 1000;
  const recording = { by: 'extension' as const, of: '1003', file: FILE };
  await rig.hear(
    { type: 'user_defined', channel: FAR, at_us, facts: { recording } },
    { type: 'channel_end', channel: FAR, at_us: at_us + 1_000_000 },
  );
  await rig.done();
  await rig.write(FILE, wav(8));
  const old = rig.clock.now() / 1000 - 2 * 86_400;
  await utimes(path.join(rig.folder, FILE), old, old);
  return (await rig.get(BOSS, '')).body.recordings[0]!.id;
}
const stateOf = async (rig: Rig, id: string) => (await rig.get(BOSS, `/${id}`)).body.recording.state;

test('recordings - a file of this node is not the recording of a home node with the same file name', async (t) => {
  const rig = await recordingsRig(t, { homes: ['far'] });
  const id = await ofFar(rig);
  await rig.later(0);
  assert.equal(await stateOf(rig, id), 'missing');
  assert.match((await rig.get(BOSS, `/${id}/audio`)).body.detail!, /on node far only/);
});

for (const how of ['expired', 'erased'] as const) {
  test(`recordings - ${how} at a home node: the file of this node with the same name stays, at each round of both nodes`, async (t) => {
    const rig = await recordingsRig(t, { homes: ['far'], days: how === 'expired' ? 30 : 0 });
    const id = await ofFar(rig);
    if (how === 'erased') await rig.remove(BOSS, id);
    await rig.later(31 * DAY);
    await rig.later(0);
    assert.deepEqual([await stateOf(rig, id), await rig.files()], [how, [FILE]]);
    const { clock, folder, store } = rig;
    const round = async (node: string) => {
      await using _ = followDeletions({ store, node, folder, clock, log: silent });
      await until('its round', () => clock.sleepers === 2);
    };
    await round('ast1');
    assert.deepEqual(await rig.files(), [FILE]);
    await round('far');
    assert.deepEqual(await rig.files(), []);
  });
}

test('recordings - a stored one of a node that does not lead is neither played nor deleted by its name', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.stored();
  const file = (await rig.files())[0]!;
  await rig.moveTo('b');
  const folder = path.join(rig.folder, '..', 'recordings-b');
  await writeFile(path.join(folder, file), wav(32_000));
  assert.match((await rig.get(BOSS, `/${id}/audio`)).body.detail!, /on node ast1, which does not lead/);
  assert.equal(await rig.recordings().audioFiles.open(id), null);
  assert.equal((await rig.remove(BOSS, id)).body.recording.state, 'erased');
  assert.deepEqual(await readdir(folder), [file]);
});
