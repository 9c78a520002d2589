/** Internal pairs that stay in a call, as they do while a side has no media. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channelId, nodeId } from '@offhook/contract/ids.ts';
import { createCallStream } from '../../../../test/support/call-stream.ts';
import type { CallStream, StreamChannel } from '../../../../test/support/call-stream.ts';
import { recordLines } from '../../../../test/support/record-lines.ts';
import { buildConversation, buildRecord } from './build.ts';
import { peopleIn } from './people.ts';

const linesOf = (s: CallStream): readonly string[] =>
  recordLines(buildRecord(s.records, { e164: () => null })!);
const id = (c: StreamChannel) => channelId(nodeId('ast1'), c.id);

/** A pair to a number; its far half dials the endpoint. */
function pairTo(s: CallStream, of: StreamChannel, number: string, context: string) {
  const pair = `Local/${number}@${context}-0000${number}`;
  const near = s.channel({ of, pair, half: 1, dialled: number });
  return { near, far: s.channel({ of, pair, half: 2, dialled: number }) };
}
function ring(s: CallStream, by: StreamChannel, extension: string, ms: number): StreamChannel {
  s.start(by, 'dial', `Phone/${extension}/sip:x`);
  const phone = s.channel({ of: by, extension });
  s.wait(ms);
  s.answer(phone);
  return phone;
}
/** A pair that answers for its far half's phone and stays between phone and waiting caller. */
function connects(s: CallStream, waiting: StreamChannel, agent: string) {
  const { near, far } = pairTo(s, waiting, agent, 'queue-agent');
  const phone = ring(s, far, agent, 2000);
  const [inner, outer] = [s.bridge(), s.bridge()];
  s.enter(phone, inner);
  s.enter(far, inner);
  s.enter(near, outer);
  s.enter(waiting, outer);
  s.wait(3000);
  return { near, far, phone, inner };
}
const letGo = (s: CallStream, ...channels: readonly StreamChannel[]): void => {
  for (const c of channels) s.hangUp(c, 16);
};

test('record - a target of a transfer by an agent behind a pair is no offer of the queue', () => {
  const s = createCallStream();
  const caller = s.channel({ trunk: 'north', number: '+4930', dialled: '500' });
  s.answer(caller);
  s.start(caller, 'queue', 'support,C', 'support');
  const { near, far, phone, inner } = connects(s, caller, '1003');
  s.say(phone, 'blind_transfer', { other: id(far), target: '1005' });
  s.exit(far, inner);
  s.stop(far);
  letGo(s, phone);
  const next = ring(s, far, '1005', 1500);
  const bridge = s.bridge();
  s.enter(next, bridge);
  s.enter(far, bridge);
  s.wait(2000);
  s.hangUp(next, 16, next);
  s.stop(caller);
  letGo(s, far, near, caller);
  s.close(caller);
  assert.deepEqual(linesOf(s), [
    'in answered by called · 5.0/2.0/10.0/0.0/0.0',
    '+4930 caller answered by other_side · queued:support 2.0 · connected 3.0 1003 · alerting 1.5 · connected 2.0 1005',
    '1003 offered answered by this_leg · alerting 2.0 · connected 3.0 +4930',
    '1005 transfer_target answered by this_leg · alerting 1.5 · connected 2.0 +4930',
    'blind at 5.0: 1003 moved +4930 to 1005 (1005), completed',
    '+4930 in support 2.0 answered 1003 · 1003 2.0 answered',
  ]);
});

test('record - a transfer into a queue by a caller who waits in it first', () => {
  const s = createCallStream();
  const caller = s.channel({ trunk: 'north', number: '+4930', dialled: '1002' });
  const person = ring(s, caller, '1002', 1000);
  s.answer(caller);
  const [talk, asked] = [s.bridge(), s.bridge()];
  s.enter(person, talk);
  s.enter(caller, talk);
  s.wait(1000);
  s.say(caller, 'music_start');
  const { near, far } = pairTo(s, caller, '500', 'internal');
  s.enter(near, asked);
  s.answer(far);
  s.start(far, 'queue', 'support,C', 'support');
  s.exit(person, talk);
  s.enter(person, asked);
  s.wait(2000);
  s.exit(person, asked);
  s.exit(near, asked);
  s.enter(near, talk);
  s.say(caller, 'music_end');
  s.say(person, 'attended_transfer', { other: id(caller) });
  s.hangUp(person, 16, person);
  const agent = connects(s, far, '1003');
  s.hangUp(agent.phone, 16, agent.phone);
  s.stop(caller);
  letGo(s, agent.far, agent.near, far, near, caller);
  s.close(caller);
  assert.deepEqual(linesOf(s), [
    'in answered by called · 4.0/4.0/8.0/2.0/0.0',
    '+4930 caller answered by other_side · alerting 1.0 · connected 1.0 1002 · held:other_side 2.0 · queued:support 2.0 · connected 3.0 1003',
    '1002 called answered by this_leg · alerting 1.0 · connected 1.0 +4930 · queued:support 2.0',
    '1003 offered answered by this_leg · alerting 2.0 · connected 3.0 +4930',
    'attended at 4.0: 1002 moved +4930 to 500 (1003), completed',
    '+4930 in support 4.0 answered 1003 · 1003 2.0 answered',
  ]);
});

test('record - a call placed to take a parked one, in the same second: the first caller is the caller', () => {
  const s = createCallStream();
  const caller = s.channel({ extension: '1003', dialled: '1004' });
  const person = ring(s, caller, '1004', 20);
  s.answer(caller);
  const talk = s.bridge();
  s.enter(person, talk);
  s.enter(caller, talk);
  s.wait(400);
  s.exit(person, talk);
  // In two steps, as the engine does: the first one is taken back.
  const lot = s.bridge();
  s.say(person, 'park_start');
  s.enter(person, lot, true);
  s.say(person, 'park_end');
  s.say(person, 'park_start');
  s.stop(caller);
  letGo(s, caller);
  s.wait(100);
  const pair = 'Local/701@place-call-00000701';
  const near = s.channel({ pair, half: 1, dialled: '701', id: 'oh-1-1795228600.1' });
  const far = s.channel({ of: near, pair, half: 2, dialled: '701', id: 'oh-1-1795228600.2' });
  const taker = ring(s, far, '1005', 50);
  s.start(taker, 'parkedcall', 'default,701');
  s.stop(far);
  letGo(s, far, near);
  s.say(person, 'park_end', { other_name: taker.name });
  s.exit(person, lot);
  taker.call = caller.call;
  const found = s.bridge();
  s.enter(person, found);
  s.enter(taker, found);
  s.wait(1000);
  s.hangUp(person, 16, person);
  s.stop(taker);
  letGo(s, taker);
  s.close(taker);
  const record = buildRecord(s.records, { e164: () => null })!;
  assert.deepEqual([record.dialled, record.caller?.extension, record.agents], ['1004', '1003', []]);
  assert.deepEqual(recordLines(record), [
    'internal answered by called · 0.1/0.0/2.8/0.0/0.2',
    '1003 caller answered by this_leg · connected 0.4 1004',
    '1004 called answered by this_leg · connected 0.4 1003 · parked 0.2 · connected 1.0 1005',
    '1005 retriever answered by other_side · alerting 0.1 · connected 1.0 1004',
    'park at 0.4: 1003 moved 1004 to 701 (1005), completed',
  ]);
  assert.deepEqual(
    peopleIn(buildConversation(s.records, { e164: () => null })!).map(
      (p) => `${p.extension} ${p.direction} ${p.party}`,
    ),
    ['1003 out 1004', '1004 in 1003', '1005 in 1004'],
  );
});
