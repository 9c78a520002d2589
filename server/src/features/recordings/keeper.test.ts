import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { CALL, openWav, recordingsRig, wav } from '../../../test/support/recordings-rig.ts';
import { until } from '../../../test/support/until.ts';
import { ServiceError } from '../../core/errors.ts';

const LEG = 'ast1:1.1';

test('recordings - on demand: stored before the engine starts, with size and hash at its end', async (t) => {
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

test('recordings - one leg is recorded once; a refusal by the engine leaves no row', async (t) => {
  const rig = await recordingsRig(t);
  const id = await rig.recordings().keeper.begin(rig.leg());
  const refused = (error: unknown) => error instanceof ServiceError && error.code === 'wrong_call_state';
  await assert.rejects(rig.recordings().keeper.begin(rig.leg()), refused);
  assert.equal(rig.recordings().keeper.onDemand(LEG), true);
  assert.equal(rig.recordings().keeper.onDemand('ast1:9.9'), false, 'a rule may record it');
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

test('recordings - those of another node: neither missing nor playable, settled and deleted when it leads again', async (t) => {
  const rig = await recordingsRig(t);
  const [kept, erased] = [await rig.stored(), await rig.stored()];
  const cut = await rig.recordings().keeper.begin(rig.leg());
  await rig.write(cut, wav(8_000));
  rig.legs.clear();
  await rig.moveTo('b');
  const { recording } = (await rig.get('token-supervisor', `/${cut}`)).body;
  assert.deepEqual([recording.state, recording.ended_at !== null], ['running', true]);
  const audio = await rig.get('token-supervisor', `/${kept}/audio`);
  assert.deepEqual([audio.status, audio.body.code], [409, 'no_audio']);
  assert.equal((await rig.remove('token-admin', erased)).status, 200);
  assert.ok((await rig.files()).includes(`${erased}.wav`), 'the file is on the machine that is away');
  await rig.moveTo('ast1');
  assert.equal((await rig.get('token-supervisor', `/${cut}`)).body.recording.state, 'stored');
  assert.equal((await rig.get('token-supervisor', `/${kept}/audio`)).status, 200);
  await until('the erased file to be gone', async () => !(await rig.files()).includes(`${erased}.wav`));
});

test('recordings - of another node in a shared folder: playable, settled once its engine closed them, deleted at once', async (t) => {
  const rig = await recordingsRig(t, { shared: true });
  const [kept, erased] = [await rig.stored(), await rig.stored()];
  const [cut, open] = [rig.leg('ast1:1.2'), rig.leg('ast1:1.3')];
  const closed = await rig.recordings().keeper.begin(cut);
  await rig.write(closed, wav(8_000));
  const written = await rig.recordings().keeper.begin(open);
  await rig.write(written, openWav(8_000));
  rig.legs.clear();
  await rig.moveTo('b');
  const stateOf = async (id: string) => (await rig.get('token-supervisor', `/${id}`)).body.recording.state;
  assert.equal((await rig.get('token-supervisor', `/${kept}/audio`)).status, 200);
  await until('the closed one to be settled', async () => (await stateOf(closed)) === 'stored');
  assert.equal(await stateOf(written), 'running');
  assert.equal((await rig.remove('token-admin', erased)).status, 200);
  assert.ok(!(await rig.files()).includes(`${erased}.wav`));
  await rig.write(written, wav(16_000));
  await until('the second one to be settled', async () => {
    await rig.clock.advance(60_000);
    return (await stateOf(written)) === 'stored';
  });
  assert.equal((await rig.get('token-supervisor', `/${written}/audio`)).status, 200);
});

test('recordings - of the engine of a home node in a shared folder: stored once its engine closed the file, without a new link', async (t) => {
  const rig = await recordingsRig(t, { shared: true });
  const id = await rig.recordings().keeper.begin(rig.leg('far:1.2'));
  await rig.write(id, openWav(8_000));
  const recording = async () => (await rig.get('token-supervisor', `/${id}`)).body.recording;
  rig.legs.clear();
  rig.event('call.left', { leg: { leg_id: 'far:1.2' } });
  await until('the end to be stored', async () => (await recording()).ended_at !== null);
  await rig.write(id, wav(8_000));
  await until('the recording to be stored', async () => {
    await rig.clock.advance(1_000);
    return (await recording()).state === 'stored';
  });
});

test('recordings - no room on the disk: refused before the engine starts, without a row', async (t) => {
  const rig = await recordingsRig(t, { room_bytes: Infinity });
  await assert.rejects(
    rig.recordings().keeper.begin(rig.leg()),
    (error) => error instanceof ServiceError && error.code === 'storage_full',
  );
  assert.deepEqual((await rig.get('token-supervisor', '')).body.recordings, []);
});

test('recordings - windows of silence are listed, each once, and end with the recording', async (t) => {
  const rig = await recordingsRig(t);
  const began = rig.clock.now();
  const id = await rig.recordings().keeper.begin(rig.leg());
  const at = (ms: number) => new Date(began + ms).toISOString();
  const paused = async (on: boolean, ms: number) => {
    await rig.clock.advance(began + ms - rig.clock.now());
    rig.event(on ? 'call.recording_paused' : 'call.recording_resumed', { leg: { leg_id: LEG } });
    await rig.recordings().keeper.paused(LEG, on, rig.clock.now() + 5);
    await rig.recordings().idle();
  };
  await paused(true, 1_000);
  await paused(true, 1_500);
  await paused(false, 2_000);
  await paused(false, 2_500);
  await paused(true, 3_000);
  const windows = async () => (await rig.get('token-supervisor', `/${id}`)).body.recording.paused;
  assert.deepEqual(await windows(), [
    { from: at(1_000), to: at(2_000) },
    { from: at(3_000), to: null },
  ]);
  await rig.clock.advance(1_000);
  await rig.write(id, wav(8));
  rig.stopped();
  await rig.recordings().idle();
  await rig.recordings().keeper.paused(LEG, false, rig.clock.now() + 9_000);
  assert.deepEqual((await windows()).at(-1), { from: at(3_000), to: at(4_000) });
});

test('recordings - the store is away: a pause that the engine did is no error, and its window is stored in order later', async (t) => {
  const rig = await recordingsRig(t);
  const began = rig.clock.now();
  const id = await rig.recordings().keeper.begin(rig.leg());
  const { schema } = rig.store.db();
  const paused = async (on: boolean, ms: number) => {
    await rig.clock.advance(began + ms - rig.clock.now());
    rig.event(on ? 'call.recording_paused' : 'call.recording_resumed', { leg: { leg_id: LEG } });
    await rig.recordings().keeper.paused(LEG, on, rig.clock.now());
  };
  await schema.alterTable('recordings').renameTo('away').execute();
  await paused(true, 1_000);
  await paused(false, 2_000);
  await rig.clock.advance(50);
  await schema.alterTable('away').renameTo('recordings').execute();
  // The resume would be tried before the pause now.
  await rig.clock.advance(100);
  await rig.write(id, wav(8));
  rig.stopped();
  await rig.done();
  const { paused: windows } = (await rig.get('token-supervisor', `/${id}`)).body.recording;
  const at = (ms: number) => new Date(began + ms).toISOString();
  assert.deepEqual(windows, [{ from: at(1_000), to: at(2_000) }]);
});

test('recordings - the file is read once the engine has closed it; a lost one gets its length', async (t) => {
  const rig = await recordingsRig(t);
  const state = async (id: string) => (await rig.get('token-supervisor', `/${id}`)).body.recording.state;
  const id = await rig.recordings().keeper.begin(rig.leg());
  await rig.write(id, openWav(100));
  rig.stopped();
  await until('it waits for the engine', () => rig.clock.sleepers >= 2);
  assert.equal(await state(id), 'running');
  await rig.write(id, wav(200));
  await rig.done();
  assert.deepEqual((await rig.get('token-supervisor', `/${id}/audio`)).bytes, wav(200));

  const lost = await rig.recordings().keeper.begin(rig.leg());
  await rig.write(lost, openWav(300));
  rig.left();
  await rig.done();
  assert.equal(await state(lost), 'stored');
  assert.deepEqual((await rig.get('token-supervisor', `/${lost}/audio`)).bytes, wav(300));
});

test('recordings - a late end of the previous recording does not end the next one of the leg', async (t) => {
  const rig = await recordingsRig(t);
  await rig.stored();
  const late = rig.clock.now();
  await rig.clock.advance(1);
  const next = await rig.recordings().keeper.begin(rig.leg());
  rig.recordings().onDomainEvent({
    type: 'call.recording_stopped',
    at: late,
    data: { leg: { leg_id: LEG } },
  } as never);
  await rig.recordings().idle();
  assert.equal((await rig.get('token-supervisor', `/${next}`)).body.recording.state, 'running');
});

const us = (ms: number): number => ms * 1000 + 999;
test('recordings - recordings of the dialplan come from the call records, late and repeated, and lie within their channel', async (t) => {
  const rig = await recordingsRig(t);
  const now = rig.clock.now();
  const channel = 'ast1:5.5' as never;
  const file = 'queue-5.5';
  const began = {
    type: 'user_defined' as const,
    channel,
    at_us: us(now - 9_000),
    facts: { recording: { by: 'queue' as const, of: 'support', file } },
  };
  const ended = { type: 'channel_end' as const, channel, at_us: us(now - 4_000) };
  await rig.write(file, wav(8));
  await rig.hear(began);
  const [first] = (await rig.get('token-supervisor', '')).body.recordings;
  assert.equal(rig.recordings().keeper.onDemand(channel), false);
  assert.deepEqual(
    [first?.by, first?.queue, first?.extension, first?.state, first?.started_at],
    ['queue', 'support', null, 'running', new Date(now - 9_000).toISOString()],
  );
  await rig.hear(began, ended);
  await rig.done();
  await rig.hear(began, ended);
  const again = (await rig.get('token-supervisor', '')).body.recordings;
  assert.equal(again.length, 1);
  assert.deepEqual(
    [again[0]?.id, again[0]?.state, again[0]?.ended_at, again[0]?.duration],
    [first?.id, 'stored', new Date(now - 4_000).toISOString(), 5],
  );
  // Erased on request, it stays so whatever is read once more.
  assert.equal((await rig.remove('token-supervisor', first!.id)).status, 200);
  await rig.write(file, wav(8));
  await rig.hear(began, ended);
  await rig.done();
  assert.equal((await rig.get('token-supervisor', `/${first!.id}`)).body.recording.state, 'erased');
});

test('recordings - an earlier end in the engine’s records replaces the published one', async (t) => {
  const rig = await recordingsRig(t);
  const began = rig.clock.now();
  const id = await rig.recordings().keeper.begin(rig.leg());
  await rig.recordings().keeper.paused(LEG, true, began + 3_000);
  await rig.recordings().keeper.paused(LEG, false, began + 3_200);
  await rig.recordings().keeper.paused(LEG, true, began + 3_600);
  await rig.clock.advance(4_000);
  await rig.write(id, wav(8));
  rig.stopped();
  await rig.recordings().idle();
  await rig.hear({ type: 'channel_end', channel: LEG as never, at_us: us(began + 3_500) });
  await rig.hear({ type: 'channel_end', channel: LEG as never, at_us: us(began + 3_800) });
  assert.equal((await rig.get('token-supervisor', `/${id}`)).body.recording.duration, 3.5);
  const { paused } = (await rig.get('token-supervisor', `/${id}`)).body.recording;
  assert.deepEqual(
    paused.map(({ from }) => Date.parse(from) - began),
    [3_000],
    'and what would begin after it was never',
  );
});

test('recordings - the model gets recordings that began or ended while the service was away, and no known ones', async (t) => {
  const rig = await recordingsRig(t);
  const facts = (file: string) => ({ recording: { by: 'queue' as const, of: 'support', file } });
  const began = (id: string, file: string) =>
    rig.hear({
      type: 'user_defined',
      channel: id as never,
      at_us: us(rig.clock.now()),
      facts: facts(file),
    });
  rig.leg('ast1:1.1');
  rig.legs.set('ast1:2.2', { ...rig.leg('ast1:2.2'), recording: false });
  await began('ast1:1.1', 'a');
  await began('ast1:2.2', 'b');
  assert.deepEqual(rig.inputs, [], 'its own fact may be on the way');
  await rig.done();
  const inputs = () => rig.inputs.map((input) => ['id' in input && input.id, 'on' in input && input.on]);
  assert.deepEqual(inputs(), [['ast1:2.2', true]]);
  // It ended while the link was down: its file is closed, and the model still believes in it.
  await rig.write('a', wav(8));
  await rig.write('b', openWav(8));
  rig.event('engine.link_up', {});
  await rig.done();
  // The files of the two calls are read concurrently, so either can be published first.
  assert.equal(rig.inputs.length, 3);
  assert.deepEqual(
    new Map(inputs().slice(1) as [string, boolean][]),
    new Map([
      ['ast1:1.1', false],
      ['ast1:2.2', true],
    ]),
  );
});

test('recordings - a name that leads elsewhere is left out', async (t) => {
  const rig = await recordingsRig(t);
  for (const file of ['../offhook.db', '..', '.hidden', 'a/b', 'a..b', '', 'a\0', '-x', 'x'.repeat(200)]) {
    const facts = { recording: { by: 'extension' as const, of: '1003', file } };
    await rig.hear({ type: 'user_defined', channel: LEG as never, at_us: 1, facts });
  }
  assert.deepEqual((await rig.get('token-supervisor', '')).body.recordings, []);
});

test('recordings - after a restart: running recordings are reported to the model, ended ones are stored', async (t) => {
  const rig = await recordingsRig(t);
  const goesOn = await rig.recordings().keeper.begin(rig.leg('ast1:1.1'));
  const over = await rig.recordings().keeper.begin(rig.leg('ast1:2.2', '1004'));
  const inputs = await rig.recordings().keeper.begin(rig.leg('ast1:3.3', '1006'));
  await rig.recordings().keeper.paused('ast1:1.1', true, rig.clock.now());
  await rig.write(goesOn, openWav(8));
  await rig.write(over, wav(80));
  await rig.write(inputs, openWav(8));
  await rig.clock.advance(1_000);
  // The end was published and stored, and the service stopped before the engine closed the file.
  rig.left('ast1:3.3');
  await rig.clock.advance(20);
  await rig.restart();
  await rig.write(inputs, wav(8));
  rig.legs.set('ast1:1.1', { ...rig.leg('ast1:1.1'), recording: false });
  rig.legs.delete('ast1:2.2');
  rig.event('engine.link_up', {});
  await rig.done();
  assert.deepEqual(
    rig.inputs.map((input) => [input.type, 'id' in input && input.id, 'on' in input && input.on]),
    [
      ['channel.recording', 'ast1:1.1', true],
      ['channel.recording_paused', 'ast1:1.1', true],
    ],
  );
  const { recordings } = (await rig.get('token-supervisor', '')).body;
  const states = new Map(recordings.map((r) => [r.id, [r.state, r.duration]]));
  assert.equal(states.get(goesOn)?.[0], 'running');
  assert.equal(states.get(over)?.[0], 'stored');
  assert.deepEqual(states.get(inputs), ['stored', 1]);
});
