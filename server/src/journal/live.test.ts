import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../core/errors.ts';
import { Scene, node } from '../../test/support/model-scene.ts';
import { createLiveView } from './live.ts';

const code = (expected: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === expected;
const setUp = () => {
  const scene = new Scene();
  const live = createLiveView(scene.view);
  const isPaused = () => live.view.agent('1002')?.members.some((m) => m.paused) ?? false;
  return { scene, live, isPaused };
};

test('live view - until resolves at once, or with the batch that makes it true', async () => {
  const { scene, live, isPaused } = setUp();
  await live.view.until(() => true, { ms: 10, waitingFor: 'nothing' });
  let done = false;
  const waited = live.view.until(isPaused, { ms: 5000, waitingFor: 'the pause' }).then(() => (done = true));
  scene.member('support', '1002');
  live.changed();
  await Promise.resolve();
  assert.equal(done, false);
  scene.member('support', '1002', { paused: true, paused_reason: 'lunch' });
  live.changed();
  assert.equal(await waited, true);
});

test('live view - until names the missing fact when time is up', async () => {
  const { live, isPaused } = setUp();
  await assert.rejects(
    live.view.until(isPaused, { ms: 5, waitingFor: 'a pause of 1002 in support' }),
    (error) =>
      code('engine_timeout')(error) && (error as Error).message.includes('a pause of 1002 in support'),
  );
});

test('live view - until is refused while the link is down and broken off when it goes down', async () => {
  const { scene, live, isPaused } = setUp();
  const waited = assert.rejects(
    live.view.until(isPaused, { ms: 5000, waitingFor: 'the pause' }),
    code('engine_unavailable'),
  );
  scene.send({ type: 'engine.link', node, up: false, reason: 'cut', boot_id: 'boot-1' });
  live.changed();
  await waited;
  assert.equal(live.view.live, false);
  await assert.rejects(
    live.view.until(() => true, { ms: 5000, waitingFor: 'the pause' }),
    code('engine_unavailable'),
  );
});

test('live view - until ends with its signal', async () => {
  const { live, isPaused } = setUp();
  const stop = new AbortController();
  const waited = live.view.until(isPaused, { ms: 5000, waitingFor: 'the pause', signal: stop.signal });
  stop.abort(new Error('gone'));
  await assert.rejects(waited, /gone/);
});
