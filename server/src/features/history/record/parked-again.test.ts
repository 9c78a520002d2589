/** A parked call that returns without an answer: the engine parks it once more, then it goes on as a call to the parker. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channelId, nodeId } from '@offhook/contract/ids.ts';
import { createCallStream } from '../../../../test/support/call-stream.ts';
import { recordLines } from '../../../../test/support/record-lines.ts';
import { buildRecord } from './build.ts';

test('record - both times the call was parked by the same person', () => {
  const s = createCallStream();
  const ring = (ms: number) => {
    s.start(caller, 'dial', 'Phone/1002');
    const phone = s.channel({ of: caller, extension: '1002' });
    s.wait(ms);
    return phone;
  };
  const park = (lot: string): void => {
    s.say(caller, 'park_start');
    s.enter(caller, lot, true);
    s.wait(2000);
    s.say(caller, 'park_end');
    s.exit(caller, lot);
  };
  const caller = s.channel({ extension: '1001', dialled: '1002' });
  const person = ring(300);
  s.answer(person);
  s.answer(caller);
  const talk = s.bridge();
  s.enter(person, talk);
  s.enter(caller, talk);
  s.wait(1000);
  s.say(person, 'blind_transfer', { other: channelId(nodeId('ast1'), caller.id), target: '700' });
  s.exit(caller, talk);
  s.stop(caller);
  s.exit(person, talk);
  s.hangUp(person, 16);
  const lot = s.bridge();
  park(lot);
  const unanswered = ring(500);
  s.hangUp(unanswered, 19);
  s.stop(caller);
  park(lot);
  const answers = ring(500);
  s.answer(answers);
  const again = s.bridge();
  s.enter(answers, again);
  s.enter(caller, again);
  s.wait(1000);
  s.hangUp(caller, 16, caller);
  s.hangUp(answers, 16);
  s.close(answers);
  assert.deepEqual(recordLines(buildRecord(s.records, { e164: () => null })!), [
    'internal answered by caller · 2.6/0.0/4.0/0.0/4.0',
    '1001 caller answered by this_leg · alerting 0.3 · connected 1.0 1002 · parked 2.0 · alerting 0.5 · parked 2.0 · alerting 0.5 · connected 1.0 1002',
    '1002 called answered by this_leg · alerting 0.3 · connected 1.0 1001',
    '1002 transfer_target no_answer by exchange · alerting 0.5',
    '1002 transfer_target answered by other_side · alerting 0.5 · connected 1.0 1001',
    'park at 1.3: 1002 moved 1001 to 700 (1002), no_answer',
    'park at 3.8: 1002 moved 1001 to 700 (1002), no_answer',
  ]);
});
