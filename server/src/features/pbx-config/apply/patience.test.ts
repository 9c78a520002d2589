import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../core/clock.ts';
import { PATIENCE, patiently } from './patience.ts';

test('patience - no work begins after the service began to stop', async () => {
  const stopping = new Error('the service is stopping');
  let begun = false;
  const work = async () => void (begun = true);
  await assert.rejects(
    patiently({ clock: systemClock, patience: PATIENCE }, 1_000, AbortSignal.abort(stopping), work),
    stopping,
  );
  assert.equal(begun, false);
});
