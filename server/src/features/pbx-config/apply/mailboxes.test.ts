import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryStore } from '../../../../test/conformance/store-temp.ts';
import { startProcess } from '../../../../test/support/applies-rig.ts';
import { FakeWorld } from '../../../../test/support/fake-engine-config.ts';

test('applies - mailboxes move before the files are written, so that a PIN chosen by phone goes with its mailbox', async () => {
  await using temp = await temporaryStore();
  const world = new FakeWorld();
  const engine = world.config();
  const order: string[] = [];
  const rig = await startProcess(world, temp.store, {
    mailboxes: async () => void order.push('mailboxes'),
    engine: {
      ...engine,
      write: (files, back) => {
        if (files.size > 0) order.push(back === true ? 'written back' : 'written');
        return engine.write(files, back);
      },
    },
  });
  await rig.applies.start(false);
  world.boot();
  order.length = 0;
  await rig.rename('1003', 'Zoe Miller');
  world.faults.set('reload', ['lie']);
  assert.equal((await rig.applied()).state, 'rolled_back');
  assert.deepEqual(order, ['mailboxes', 'written', 'written back', 'mailboxes']);
  await rig.applies.close();
});
