import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdingOthers } from './hold-others.ts';
import type { PhoneCall } from './phone-state.ts';

type State = PhoneCall['state'];
const callOf = (state: State) => {
  const call = {
    shown: { state },
    hold(on: boolean): Promise<void> {
      call.shown = { state: on ? 'held' : 'talking' };
      return Promise.resolve();
    },
  };
  return call;
};

for (const [state, then] of [
  ['connecting', 'held'],
  ['talking', 'held'],
  ['dialing', 'held'],
  ['incoming', 'talking'],
  ['ended', 'talking'],
] as const)
  test(`phone - after a step that leaves its call ${state}, the call before it is ${then}`, async () => {
    const [first, second] = [callOf('talking'), callOf('incoming')];
    let during: State | undefined;
    await holdingOthers([first, second], second, () => {
      during = first.shown.state;
      second.shown = { state };
      return Promise.resolve();
    });
    assert.equal(during, 'held');
    assert.equal(first.shown.state, then);
  });

test('phone - a call that cannot be answered, resumed or placed leaves the person in the call before it', async () => {
  const first = callOf('talking');
  const refused = new Error('the microphone is refused');
  for (const second of [callOf('incoming'), callOf('held')]) {
    await assert.rejects(
      holdingOthers([first, second], second, () => Promise.reject(refused)),
      refused,
    );
    assert.equal(first.shown.state, 'talking');
  }
  const calls = [first];
  await holdingOthers(calls, null, () => {
    calls.push(callOf('dialing'));
    calls.pop();
    return Promise.resolve();
  });
  assert.equal(first.shown.state, 'talking');
});

test('phone - a call that was on hold before the step stays on hold, and a refused hold prevents the step', async () => {
  const [held, talking] = [callOf('held'), callOf('talking')];
  await assert.rejects(
    holdingOthers([held, talking], null, () => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.deepEqual([held.shown.state, talking.shown.state], ['held', 'talking']);
  const refuses = { shown: talking.shown, hold: () => Promise.reject(new Error('refused')) };
  await assert.rejects(
    holdingOthers([refuses], null, () => assert.fail('the step ran')),
    /refused/,
  );
});

test('phone - a step that failed is reported also if the call before it cannot be resumed', async () => {
  const refused = new Error('the microphone is refused');
  const before = callOf('talking');
  const stuck = {
    get shown() {
      return before.shown;
    },
    hold: (on: boolean) => (on ? before.hold(on) : Promise.reject(new Error('the exchange refuses'))),
  };
  await assert.rejects(
    holdingOthers([stuck], null, () => Promise.reject(refused)),
    refused,
  );
});
