import assert from 'node:assert/strict';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { CALL, openWav, recordingsRig } from '../../../test/support/recordings-rig.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { createDisposal } from './disposal.ts';
import type { DisposalDeps } from './disposal.ts';
import { isFileName } from './ids.ts';

const BOSS = 'token-supervisor';
const DAY = 86_400_000;

test('recordings - deleted by rule: the file first, then the row, once', async (t) => {
  const rig = await recordingsRig(t, { days: 30 });
  const old = await rig.stored(1_000);
  await rig.later(29 * DAY);
  const young = await rig.stored(1_000);
  assert.equal((await rig.files()).length, 2);
  await rig.later(DAY);
  assert.deepEqual(await rig.files(), [`${young}.wav`]);
  const { recording } = (await rig.get(BOSS, `/${old}`)).body;
  assert.deepEqual([recording.state, recording.bytes, recording.duration], ['expired', null, 1]);
  assert.equal((await rig.get(BOSS, `/${old}/audio`)).body.code, 'no_audio');
  const lines = rig.trail.filter((line) => line.action === 'recordings.expire');
  assert.deepEqual(
    lines.map((line) => line.detail),
    [{ recordings: 1, bytes: 16_044, days: 30 }],
  );
  await rig.later(0);
  assert.equal(rig.trail.filter((line) => line.action === 'recordings.expire').length, 1);
});

test('recordings - given up by rule: more than one batch, and a crash between file and row', async (t) => {
  const rig = await recordingsRig(t, { days: 1 });
  const ids: string[] = [];
  for (let i = 0; i < 250; i += 1) ids.push(await rig.stored(10));
  await rig.unlink(ids[0]!);
  await rig.later(2 * DAY);
  assert.deepEqual(await rig.files(), []);
  const page = (await rig.get(BOSS, '?limit=200')).body;
  assert.ok(page.recordings.every((r) => r.state === 'expired'));
  assert.equal((await rig.get(BOSS, `/${ids[0]!}`)).body.recording.state, 'expired');
});

test('recordings - files that cannot be deleted do not keep younger ones', async (t) => {
  const rig = await recordingsRig(t, { days: 1 });
  for (let i = 0; i < 201; i += 1) {
    const id = await rig.stored(10);
    await rig.unlink(id);
    await mkdir(path.join(rig.folder, `${id}.wav`));
  }
  const youngest = await rig.stored(10);
  await rig.later(2 * DAY);
  const files = await rig.files();
  assert.deepEqual([files.length, files.includes(`${youngest}.wav`)], [201, false]);
  assert.equal((await rig.get(BOSS, `/${youngest}`)).body.recording.state, 'expired');
});

test('recordings - the file of a deleted one that stays does not keep expired ones', async () => {
  const clock = createVirtualClock();
  const [deleted, expired] = ['1', '2'].map((n) => `${n.padStart(26, '0')}.wav`) as [string, string];
  assert.ok(isFileName(deleted));
  const left: string[] = [];
  const disposal = createDisposal({
    store: {
      known: async (names: readonly string[], scope?: object) =>
        new Set(scope === undefined ? names : [deleted]),
      missing: async () => [],
      before: async () => (left.length === 0 ? [{ id: '2', call: CALL, file: expired }] : []),
      leave: async (id: string) => void left.push(id),
    },
    files: {
      async remove(file: string) {
        if (file === deleted) throw new Error('permission denied');
        return 100;
      },
      async *list() {
        yield { file: deleted, written_ms: clock.now() };
      },
    },
    node: 'ast1',
    shared: false,
    isHere: () => true,
    homes: () => [],
    conversations: { touch: async () => {} },
    audit: { record: async () => {} },
    clock,
    log: silent,
    days: 1,
  } as unknown as DisposalDeps);
  await disposal.tidy(new AbortController().signal);
  assert.deepEqual(left, ['2']);
});

test('recordings - kept for ever without a limit of days; orphans are counted and stay', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.stored();
  await rig.write('op-4711', openWav(8));
  await rig.write('not a name; rm -rf', openWav(8));
  await rig.later(4_000 * DAY);
  assert.equal((await rig.files()).length, 3);
  assert.equal((await rig.get(BOSS, `/${id}`)).body.recording.state, 'stored');
  const figures = new Map<string, () => number>();
  rig.recordings().gauges({ gauge: (name, _help, read) => void figures.set(name, read), gaugeBy: () => {} });
  const figure = (name: string) => figures.get(`offhook_recordings_${name}`)!();
  assert.deepEqual(['orphans', 'stored', 'running', 'bytes'].map(figure), [2, 1, 0, 64_044]);
});

test('recordings - deleted on request: audited, unlinked, and only by a supervisor; not while it runs', async (t) => {
  const rig = await recordingsRig(t, { keys: { all: { scopes: ['recordings:read'] } } });
  const id = await rig.stored();
  for (const token of ['token-agent', 'key-all']) assert.equal((await rig.remove(token, id)).status, 403);
  assert.equal((await rig.files()).length, 1);
  const { status, body } = await rig.remove(BOSS, id);
  assert.deepEqual([status, body.recording.state, body.recording.bytes], [200, 'erased', null]);
  assert.ok(body.recording.sha256, 'its hash is kept');
  assert.deepEqual(await rig.files(), []);
  assert.deepEqual(rig.trail.at(-1), {
    action: 'recordings.delete',
    actor: 'supervisor',
    object: id,
    outcome: 'ok',
    ip: '127.0.0.1',
    detail: { call_id: CALL, bytes: 64_044 },
  });
  assert.equal((await rig.remove(BOSS, id)).status, 200, 'once more changes nothing');
  const running = await rig.recordings().keeper.begin(rig.leg('ast1:7.7'));
  assert.equal((await rig.remove(BOSS, running)).body.code, 'no_audio');
});

test('recordings - erased for a person: all of its calls, one that runs too; repeated after a failure', async (t) => {
  const rig = await recordingsRig(t);
  await rig.stored();
  const running = await rig.recordings().keeper.begin(rig.leg('ast1:7.7'));
  await rig.write(running, openWav(100));
  await chmod(rig.folder, 0o500);
  if (process.getuid?.() !== 0) await assert.rejects(rig.recordings().index.erase([CALL]));
  await chmod(rig.folder, 0o700);
  assert.deepEqual(await rig.recordings().index.erase([CALL, 'ast1:9.9']), { erased: 2, bytes: 64_288 });
  assert.deepEqual(await rig.files(), []);
  assert.deepEqual(await rig.recordings().index.withRecording([CALL]), new Set());
  // The engine still writes for a moment, and its file reappears.
  await rig.write(running, openWav(200));
  rig.left('ast1:7.7');
  await rig.done();
  assert.deepEqual(await rig.files(), []);
  assert.equal((await rig.get(BOSS, `/${running}`)).body.recording.state, 'erased');
  assert.deepEqual(await rig.recordings().index.erase([CALL]), { erased: 0, bytes: 0 });
});
