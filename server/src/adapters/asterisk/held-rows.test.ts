import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { startFakeAmi } from '../../../test/support/fake-ami.ts';
import { silent } from '../../core/log.ts';
import { createVirtualClock } from '../memory/virtual-clock.ts';
import { createAsteriskEngine } from './engine.ts';

const LEG = { name: 'PJSIP/1003-00000001', uniqueid: '1795222100.7', bridge: 'b1' };

for (const [application, held] of [
  ['StartMusicOnHold', true],
  ['WaitForCondition', true],
  ['StopMusicOnHold', false],
  ['Return', false],
] as const)
  test(`snapshot - a leg whose other side runs ${application} is ${held ? 'held' : 'no longer held'}`, async (t) => {
    const other = { name: 'PJSIP/1008-00000002', uniqueid: '1795222100.8', bridge: 'b1' };
    const clock = createVirtualClock(1_795_222_200_000);
    const fake = await startFakeAmi({
      now: () => clock.now(),
      state: { channels: [LEG, { ...other, context: 'held-by', exten: LEG.uniqueid, application }] },
    });
    const engine = createAsteriskEngine({
      node: nodeId('ast1'),
      connect: () => Promise.resolve(fake.target),
      clock,
      log: silent,
      random: () => 0.5,
    });
    t.after(async () => {
      await engine.close();
      await fake.close();
    });
    for await (const batch of engine.events(t.signal)) {
      const taken = batch.find((event) => event.type === 'engine.snapshot');
      if (taken === undefined) continue;
      assert.deepEqual(taken.snapshot.held_here, held ? [`ast1:${LEG.uniqueid}`] : []);
      return;
    }
    assert.fail('the events ended without a snapshot');
  });
