import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { CALL, recordingsRig, wav } from '../../../test/support/recordings-rig.ts';
import { ServiceError } from '../../core/errors.ts';

const LEG = 'ast1:1.1';

test('recordings - on demand: written down before the engine is asked, stored with size and hash when it is over', async (t) => {
  const rig = await recordingsRig(t);
  const began = rig.clock.now();
  const id = await rig.recordings().keeper.begin(rig.leg());
  const running = (await rig.recordings().index.ofCalls([CALL])).get(CALL)?.[0];
  assert.deepEqual(
    [running?.id, running?.state, running?.ended_at, running?.bytes],
    [id, 'running', null, null],
  );
  assert.deepEqual(await rig.recordings().index.withRecording([CALL]), new Set());
  await rig.clock.advance(3_000);
  await rig.write(id, wav(24_000));
  rig.stopped();
  await rig.recordings().idle();
  const { body } = await rig.get('token-supervisor', `/${id}`);
  assert.deepEqual(body.recording, {
    id,
    leg_id: LEG,
    started_at: new Date(began).toISOString(),
    ended_at: new Date(began + 3_000).toISOString(),
    duration: 3,
    paused: [],
    by: 'on_demand',
    state: 'stored',
    bytes: 48_044,
    call_id: CALL,
    extension: '1003',
    queue: null,
    sha256: createHash('sha256').update(wav(24_000)).digest('hex'),
  });
  assert.deepEqual(await rig.recordings().index.withRecording([CALL, 'ast1:9.9']), new Set([CALL]));
  assert.deepEqual(rig.touched, [CALL], 'its conversation comes again in the feed');
});

test('recordings - one leg is recorded once; what the engine refused never was', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.recordings().keeper.begin(rig.leg());
  const refused = (error: unknown) => error instanceof ServiceError && error.code === 'wrong_call_state';
  await assert.rejects(rig.recordings().keeper.begin(rig.leg()), refused);
  await rig.recordings().keeper.takeBack(id);
  assert.equal((await rig.get('token-supervisor', `/${id}`)).status, 404);
  assert.notEqual(await rig.recordings().keeper.begin(rig.leg()), id);
});

test('recordings - no file: missing, and nothing to play', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.recordings().keeper.begin(rig.leg());
  rig.left();
  await rig.done();
  const { body } = await rig.get('token-supervisor', `/${id}`);
  assert.equal(body.recording.state, 'missing');
  assert.equal((await rig.get('token-supervisor', `/${id}/audio`)).body.code, 'no_audio');
});
