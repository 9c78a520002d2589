/** Recordings of the engines of home nodes, which never lead the site. */
import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { ChannelId } from '@offhook/contract/ids.ts';
import { openWav, recordingsRig, wav } from '../../../test/support/recordings-rig.ts';
import { until } from '../../../test/support/until.ts';
import { silent } from '../../core/log.ts';
import { followDeletions } from './disposal.ts';

const BOSS = 'token-supervisor';
const DAY = 86_400_000;
const FAR = 'far:1.2' as ChannelId;
type Rig = Awaited<ReturnType<typeof recordingsRig>>;

const recordingOf = async (rig: Rig, id: string) => (await rig.get(BOSS, `/${id}`)).body.recording;
const stateOf = async (rig: Rig, id: string) => (await recordingOf(rig, id)).state;
/** Sets the time of the last write of a file by the clock of the test. */
const aged = async (rig: Rig, id: string, ms: number): Promise<void> => {
  const at = (rig.clock.now() - ms) / 1000;
  await utimes(path.join(rig.folder, `${id}.wav`), at, at);
};
function running(rig: Rig): number {
  const figures = new Map<string, () => number>();
  rig.recordings().gauges({ gauge: (name, _help, read) => void figures.set(name, read), gaugeBy: () => {} });
  return figures.get('offhook_recordings_running')!();
}
/** The service follows the engine of this node from now on. */
const follow = (rig: Rig, node: string): void => {
  rig.event('engine.link_up', { node });
  rig.event('engine.resynced', { node });
};

test('homes - a recording at a home node without a shared folder is missing after its call, and its audio names the node', async (t) => {
  const rig = await recordingsRig(t, { homes: ['far'] });
  const id = await rig.recordings().keeper.begin(rig.leg(FAR));
  await rig.clock.advance(2_000);
  rig.left(FAR);
  await rig.done();
  const { state, duration } = await recordingOf(rig, id);
  assert.deepEqual([state, duration], ['missing', 2]);
  assert.equal(rig.touched.length, 1, 'its conversation comes again in the feed');
  const { status, body } = await rig.get(BOSS, `/${id}/audio`);
  assert.deepEqual([status, body.code], [409, 'no_audio']);
  assert.match(body.detail!, /on node far only/);
  assert.equal((await rig.remove(BOSS, id)).body.recording.state, 'erased');
});

test('homes - a recording by rule at a home node is missing after the last call record of its channel', async (t) => {
  const rig = await recordingsRig(t, { homes: ['far'] });
  const now = rig.clock.now();
  const recording = { by: 'extension' as const, of: '1003', file: 'far-1.2-1' };
  await rig.hear(
    { type: 'user_defined', channel: FAR, at_us: (now - 9_000) * 1000, facts: { recording } },
    { type: 'channel_end', channel: FAR, at_us: (now - 4_000) * 1000 },
  );
  await rig.done();
  const [row] = (await rig.get(BOSS, '')).body.recordings;
  assert.deepEqual([row?.state, row?.duration], ['missing', 5]);
});

test('homes - after a restart: a recording continues with its call, and is missing once its engine is followed without the call', async (t) => {
  const homes: string[] = [];
  const rig = await recordingsRig(t, { homes });
  const [goesOn, over] = [rig.leg('far:1.1'), rig.leg('far:2.2')];
  const [first, second] = [
    await rig.recordings().keeper.begin(goesOn),
    await rig.recordings().keeper.begin(over),
  ];
  await rig.restart();
  homes.push('far');
  rig.legs.clear();
  follow(rig, 'ast1');
  await rig.done();
  assert.deepEqual([(await recordingOf(rig, first)).ended_at, await stateOf(rig, second)], [null, 'running']);
  rig.legs.set('far:1.1', { ...goesOn, recording: false });
  follow(rig, 'far');
  await until('the wait before it', () => rig.clock.sleepers === 2);
  rig.event('engine.link_up', { node: 'ast1' });
  await until('the report', async () => {
    await rig.clock.advance(200);
    return rig.inputs.length > 0;
  });
  // As in the model; a sweep of a slow database may only begin now.
  rig.legs.set('far:1.1', { ...goesOn, recording: true });
  await rig.done();
  assert.deepEqual([(await recordingOf(rig, first)).ended_at, await stateOf(rig, second)], [null, 'missing']);
  assert.deepEqual(
    rig.inputs.map((input) => [input.type, 'id' in input && input.id]),
    [['channel.recording', 'far:1.1']],
    'the one that continues is reported to the model, once',
  );
  rig.event('call.recording_paused', { leg: { leg_id: 'far:1.1' } });
  await rig.done();
  assert.equal((await recordingOf(rig, first)).paused.length, 1);
  rig.left('far:1.1');
  await rig.done();
  assert.equal(await stateOf(rig, first), 'missing');
});

test('homes - recordings that an earlier version left running are missing after the next connect, all of them', async (t) => {
  const homes: string[] = [];
  const rig = await recordingsRig(t, { homes });
  const ids: string[] = [];
  for (let n = 1; n <= 401; n += 1) {
    ids.push(await rig.recordings().keeper.begin(rig.leg(`far:${n}.1`)));
    rig.left(`far:${n}.1`);
  }
  await rig.done();
  // One after the other: with 401 at once, PostgreSQL on a slow machine rejects the last ones, which waited too long.
  const states = async () => {
    const found = new Set<string>();
    for (const id of ids) found.add(await stateOf(rig, id));
    return found;
  };
  assert.deepEqual(await states(), new Set(['running']));
  homes.push('far');
  follow(rig, 'ast1');
  await rig.done();
  assert.deepEqual(await states(), new Set(['missing']));
});

test('homes - with a shared folder: after a restart a recording continues with its call, and is stored if its engine died', async (t) => {
  const rig = await recordingsRig(t, { homes: ['far'], shared: true });
  const leg = rig.leg(FAR);
  const id = await rig.recordings().keeper.begin(leg);
  await rig.write(id, openWav(8_000));
  await rig.restart();
  follow(rig, 'ast1');
  await rig.done();
  rig.event('call.recording_paused', { leg: { leg_id: FAR } });
  await rig.recordings().idle();
  assert.equal((await recordingOf(rig, id)).paused.length, 1);
  rig.left(FAR);
  await until('the service to leave the file to its engine', async () => {
    await rig.clock.advance(2_000);
    return running(rig) === 0;
  });
  await aged(rig, id, 120_000);
  await until('the recording to be stored', async () => {
    await rig.clock.advance(10_000);
    return (await stateOf(rig, id)) === 'stored';
  });
  assert.deepEqual((await rig.get(BOSS, `/${id}/audio`)).bytes, wav(8_000));
});

test('homes - recordings at a home node are deleted by rule, and its node deletes the files', async (t) => {
  const rig = await recordingsRig(t, { homes: ['far'], days: 30 });
  const id = await rig.recordings().keeper.begin(rig.leg(FAR));
  rig.left(FAR);
  await rig.done();
  await rig.later(29 * DAY);
  assert.equal(await stateOf(rig, id), 'missing');
  await rig.later(DAY);
  assert.equal(await stateOf(rig, id), 'expired');

  const kept = await rig.recordings().keeper.begin(rig.leg(FAR));
  rig.left(FAR);
  await rig.done();
  await rig.write(id, wav(8));
  await rig.write(kept, wav(8));
  const { clock, folder, store } = rig;
  await using _ = followDeletions({ store, node: 'far', folder, clock, log: silent });
  await until('the file to be deleted', async () => !(await rig.files()).includes(`${id}.wav`));
  await rig.recordings().index.erase((await rig.get(BOSS, '')).body.recordings.map((r) => r.call_id));
  assert.deepEqual(await rig.files(), [`${kept}.wav`]);
  await until('the file of an erased one to be deleted within the hour', async () => {
    await clock.advance(600_000);
    return (await rig.files()).length === 0;
  });
});

test('recordings - a missing one whose file appears later is stored, and then deleted by rule', async (t) => {
  const rig = await recordingsRig(t, { days: 30 });
  const id = await rig.recordings().keeper.begin(rig.leg());
  rig.left();
  await rig.done();
  assert.equal(await stateOf(rig, id), 'missing');
  await rig.write(id, openWav(300));
  await aged(rig, id, 2 * DAY);
  await rig.later(0);
  assert.equal(await stateOf(rig, id), 'stored');
  assert.deepEqual((await rig.get(BOSS, `/${id}/audio`)).bytes, wav(300));
  await rig.later(30 * DAY);
  assert.deepEqual([await stateOf(rig, id), await rig.files()], ['expired', []]);
});

test('recordings - an interrupted one of another node: its audio names the node, and it can be deleted', async (t) => {
  const rig = await recordingsRig(t);
  const cut = await rig.recordings().keeper.begin(rig.leg());
  await rig.write(cut, wav(8_000));
  rig.legs.clear();
  await rig.moveTo('b');
  assert.match((await rig.get(BOSS, `/${cut}/audio`)).body.detail!, /on node ast1, which does not lead/);
  assert.equal((await rig.remove(BOSS, cut)).body.recording.state, 'erased');
  assert.deepEqual(await rig.files(), [`${cut}.wav`]);
  await rig.moveTo('ast1');
  await until('its file to be deleted', async () => (await rig.files()).length === 0);
});
