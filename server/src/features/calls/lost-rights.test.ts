import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsRig } from '../../../test/support/calls-rig.ts';
import { T0, chan, site } from '../../../test/support/model-scene.ts';

type Rig = Awaited<ReturnType<typeof callsRig>>;
const hungUp = (rig: Rig): readonly string[] =>
  [...new Set(rig.asked.map(({ verb, args }) => `${verb} ${String(args[0])}`))].sort();

test('calls - the legs of a person end who is deactivated or removed or whose extension has a new holder', async (t) => {
  for (const [why, change, ends] of [
    ['deactivated', ({ directory }: Rig) => directory.change('1003', { active: false }), true],
    ['removed', ({ directory }: Rig) => directory.remove('1003'), true],
    ['a new holder', ({ directory, scene }: Rig) => directory.give('1003', scene.at + 1), true],
    ['a new holder before this call', ({ directory }: Rig) => directory.give('1003', T0 - 1), false],
    ['renamed', ({ directory }: Rig) => directory.change('1003', { name: 'Bea B.' }), false],
    ['a person without calls is removed', ({ directory }: Rig) => directory.remove('1006'), false],
  ] as const) {
    const rig = await callsRig(t);
    rig.talk();
    rig.talk('1005', '1003-web', '3', '4');
    rig.talk('trunk-north', '1004-web', '5', '6');
    change(rig);
    await rig.calls.looked();
    assert.deepEqual(hungUp(rig), ends ? [`hangup ${chan('1')}`, `hangup ${chan('4')}`] : [], why);
  }
});

test('calls - the leg of a former holder ends also where the live model no longer counts it to the extension', async (t) => {
  const rig = await callsRig(t);
  const call = rig.talk();
  rig.directory.remove('1003');
  rig.model.step({ ...site(['1001', '1002', '1004', '1005', '1006']), at: rig.scene.at });
  assert.equal(rig.live.call(call)!.legs.find(({ id }) => id === chan('1'))?.extension, null);
  await rig.calls.looked();
  assert.deepEqual(hungUp(rig), [`hangup ${chan('1')}`]);
});

test('calls - an emergency call of a deactivated person goes on, also one that a colleague transferred', async (t) => {
  for (const dialled of ['112', '1001']) {
    const rig = await callsRig(t);
    rig.scene.created('1', { endpoint: '1003', dialled });
    rig.scene.created('2', { endpoint: dialled === '112' ? 'trunk-north' : '1001', of: '1' });
    for (const id of ['2', '1']) {
      rig.scene.state(id, 'up');
      rig.scene.enter('b1', id);
    }
    if (dialled !== '112') {
      const said = { by: chan('2'), transferee: chan('1'), to: '112', succeeded: true } as const;
      rig.scene.send({ type: 'transfer.blind', ...said });
      rig.scene.hangup('2');
    }
    rig.directory.change('1003', { active: false });
    await rig.calls.looked();
    assert.deepEqual(hungUp(rig), []);
  }
});

test('calls - a hang-up that fails is repeated until the leg has ended', async (t) => {
  const rig = await callsRig(t, { answer: () => Promise.reject(new Error('no answer')) });
  rig.talk();
  rig.directory.change('1003', { active: false });
  await rig.calls.looked();
  const first = rig.asked.length;
  assert.ok(first > 0);
  await rig.calls.looked();
  assert.equal(rig.asked.length, first + 1);
  rig.scene.hangup('1');
  await rig.calls.looked();
  assert.equal(rig.asked.length, first + 1);
});

test('calls - a stale view ends no call', async (t) => {
  const rig = await callsRig(t);
  rig.talk();
  rig.cut();
  rig.directory.change('1003', { active: false });
  await rig.calls.looked();
  assert.deepEqual(hungUp(rig), []);
});
