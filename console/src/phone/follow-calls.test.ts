import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client, StreamEvent } from '@offhook/client';
import { followCalls } from './follow-calls.ts';
import type { LeftReason, LiveCalls } from './follow-calls.ts';
import type { SipCall } from './sip-call.ts';

/** A phone whose only ring has ended, and the events of the exchange. */
function overRing() {
  const said: LeftReason[] = [];
  const onEvents: ((event: StreamEvent) => void)[] = [];
  const listeners: (() => void)[] = [];
  const call = {
    id: 'x',
    shown: { state: 'ended', direction: 'in', call_id: 'a', leg_id: 'ast1:1.2', answered: null },
    know: () => undefined,
    taken: () => assert.fail('the report of the exchange counts'),
    rangOut: (reason: LeftReason) => said.push(reason),
  } as unknown as SipCall;
  const live: LiveCalls = {
    now: () => [],
    isStale: () => false,
    subscribe(listener) {
      listeners.push(listener);
      return () => undefined;
    },
    onEvent(listener) {
      onEvents.push(listener);
      return () => undefined;
    },
  };
  followCalls({} as Client, live, () => ({ calls: [call], endpoint: '1001-web' }));
  const left = (leg_id: string, endpoint: string, reason: LeftReason): void => {
    const event = {
      type: 'call.left',
      data: { leg: { leg_id, endpoint }, reason },
    } as unknown as StreamEvent;
    for (const listener of onEvents) listener(event);
    for (const listener of listeners) listener();
  };
  return { said, left };
}
test('phone calls - the end of a ring is the reason reported for this leg, regardless of who answered', () => {
  const { said, left } = overRing();
  left('ast1:1.9', '1001-web', 'no_answer');
  left('ast1:1.2', '1001', 'canceled');
  assert.deepEqual(said, [], 'another ring, and another device');
  left('ast1:1.2', '1001-web', 'answered_elsewhere');
  assert.deepEqual(said, ['answered_elsewhere']);
});
