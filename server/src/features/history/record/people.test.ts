import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { nodeId } from '@offhook/contract/ids.ts';
import { directoryFixture } from '../../../../test/support/directory-fixture.ts';
import { recordedIn } from '../../../../test/support/call-records.ts';
import { buildConversation } from './build.ts';
import { peopleIn } from './people.ts';
import type { PersonRow } from './people.ts';
import { isComplete, withDirectory } from './records.ts';
import type { KnownRecord } from './records.ts';

const folder = new URL('../fixtures/', import.meta.url);
const directory = directoryFixture();
const recorded = (name: string): readonly KnownRecord[] =>
  recordedIn(nodeId('ast1'), new URL(`${name}.cel`, folder)).map((r) => withDirectory(r, directory));
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.cel'))
  .map((file) => file.slice(0, -4));

const built = (records: readonly KnownRecord[]) => buildConversation(records, { e164: () => null });
const people = (records: readonly KnownRecord[]): readonly PersonRow[] => {
  const conversation = built(records);
  return conversation ? peopleIn(conversation) : [];
};

/** `extension direction party disposition ring/wait/talk/hold/duration [queue] [device]` */
const lineOf = (p: PersonRow): string =>
  [
    `${p.extension} ${p.direction} ${p.party} ${p.disposition}`,
    `${p.ring_sec}/${p.wait_seconds}/${p.talk_seconds}/${p.hold_seconds}/${p.duration}`,
    p.queue ?? '-',
    p.device ?? '-',
  ].join(' · ');

/** Expected rows of each recorded call; times are those of the recording. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  // Placed by the service: the own device rings first and leaves its internal pair when it answers.
  placed: ['1001 out 1002 ANSWERED · 0/0/1/0/2 · - · sip', '1002 in 1001 ANSWERED · 0/0/1/0/2 · - · sip'],
  // The own device did not answer, so the other one was not called and missed no call.
  'placed-declined': ['1001 out 1002 NO ANSWER · 0/0/0/0/0 · - · sip'],
  'placed-unanswered': [
    '1001 out 1002 NO ANSWER · 1/0/0/0/1 · - · sip',
    '1002 missed 1001 NO ANSWER · 1/0/0/0/1 · - · sip',
  ],
  'placed-to-queue': [
    '1001 out 500 ANSWERED · 0/0/1/0/1 · support · sip',
    '1003 in 1001 ANSWERED · 0/0/1/0/1 · support · sip',
  ],
  // A supervisor listens to a call: no conversation.
  listen: [],
  // Held and retrieved by the service, then transferred after a consultation, without keys of a phone.
  'hold-and-consult': [
    '1001 out 1003 ANSWERED · 0/0/5/1/7 · - · sip',
    '1003 in 1001 ANSWERED · 0/0/5/2/8 · - · sip',
    '1005 in 1001 ANSWERED · 0/0/2/0/2 · - · sip',
  ],
  'internal-answered': [
    '1001 out 1002 ANSWERED · 1/0/2/0/3 · - · sip',
    '1002 in 1001 ANSWERED · 1/0/2/0/3 · - · sip',
  ],
  'no-answer': [
    '1001 out 1002 NO ANSWER · 30/0/0/0/30 · - · sip',
    '1002 missed 1001 NO ANSWER · 30/0/0/0/30 · - · sip',
  ],
  busy: ['1001 out 1002 BUSY · 0/0/0/0/0 · - · sip', '1002 missed 1001 BUSY · 0/0/0/0/0 · - · sip'],
  declined: ['1001 out 1002 BUSY · 1/0/0/0/1 · - · sip', '1002 missed 1001 BUSY · 1/0/0/0/1 · - · sip'],
  cancelled: [
    '1001 out 1002 NO ANSWER · 2/0/0/0/2 · - · sip',
    '1002 missed 1001 NO ANSWER · 2/0/0/0/2 · - · sip',
  ],
  unregistered: ['1001 out 1002 FAILED · 0/0/0/0/0 · - · sip', '1002 missed 1001 FAILED · 0/0/0/0/0 · - · -'],
  // The mailbox answered: the caller has an answered call, its owner a missed one.
  'unregistered-voicemail': [
    '1001 out 1006 ANSWERED · 0/0/3/0/3 · - · sip',
    '1006 missed 1001 FAILED · 0/0/0/0/0 · - · -',
  ],
  'no-answer-voicemail': [
    '1001 out 1006 ANSWERED · 1/0/3/0/4 · - · sip',
    '1006 missed 1001 BUSY · 1/0/0/0/1 · - · sip',
  ],
  'three-devices': [
    '1001 out 1002 ANSWERED · 1/0/1/0/2 · - · sip',
    '1002 in 1001 ANSWERED · 1/0/1/0/2 · - · webrtc',
  ],
  // One device was busy and the other rang until the caller gave up.
  'three-devices-missed': [
    '1001 out 1002 NO ANSWER · 1/0/0/0/1 · - · sip',
    '1002 missed 1001 NO ANSWER · 1/0/0/0/1 · - · -',
  ],
  'queue-answered': [
    '1001 out 500 ANSWERED · 0/2/2/0/5 · support · sip',
    '1004 in 1001 ANSWERED · 2/2/2/0/5 · support · sip',
  ],
  // Without media the internal pair stays between caller and agent.
  'queue-answered-unoptimised': [
    '1001 out 500 ANSWERED · 0/2/1/0/5 · support · sip',
    '1003 in 1001 ANSWERED · 2/2/1/0/4 · support · sip',
  ],
  'queue-second-round': [
    '1001 out 500 ANSWERED · 0/5/2/0/8 · support · sip',
    '1004 in 1001 ANSWERED · 0/5/2/0/3 · support · sip',
  ],
  'queue-abandoned': [
    '1001 out 500 NO ANSWER · 0/6/0/0/6 · support · sip',
    '1003 missed 1001 NO ANSWER · 5/0/0/0/6 · support · sip',
    '1004 missed 1001 NO ANSWER · 5/0/0/0/6 · support · sip',
  ],
  'queue-linear': [
    '1001 out 510 ANSWERED · 0/5/2/0/7 · sales · sip',
    '1004 in 1001 ANSWERED · 0/5/2/0/2 · sales · sip',
  ],
  'queue-nobody': ['1001 out 500 NO ANSWER · 0/3/0/0/3 · support · sip'],
  'queue-declined': [
    '1001 out 500 NO ANSWER · 0/1/0/0/1 · support · sip',
    '1003 missed 1001 BUSY · 0/0/0/0/0 · support · sip',
  ],
  'blind-transfer': [
    '1001 out 1002 ANSWERED · 0/0/4/0/6 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/2/0/2 · - · sip',
    '1003 in 1001 ANSWERED · 1/0/2/0/3 · - · sip',
  ],
  'blind-transfer-by-caller': [
    '1001 out 1002 ANSWERED · 0/0/2/0/2 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/3/0/5 · - · sip',
    '1003 in 1002 ANSWERED · 1/0/1/0/2 · - · sip',
  ],
  'blind-transfer-unanswered': [
    '1001 out 1002 ANSWERED · 0/0/1/0/3 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/1/0/1 · - · sip',
    '1003 missed 1001 NO ANSWER · 2/0/0/0/2 · - · sip',
  ],
  'blind-transfer-unregistered': [
    '1001 out 1002 ANSWERED · 0/0/1/0/3 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/1/0/1 · - · sip',
    '1005 missed 1001 FAILED · 0/0/0/0/0 · - · -',
  ],
  'queue-blind-transfer': [
    '1001 out 500 ANSWERED · 0/0/3/0/5 · support · sip',
    '1003 in 1001 ANSWERED · 0/0/1/0/2 · support · sip',
    '1005 in 1001 ANSWERED · 0/0/1/0/2 · - · sip',
  ],
  'transfer-to-queue': [
    '1001 out 1002 ANSWERED · 0/1/2/0/4 · support · sip',
    '1002 in 1001 ANSWERED · 0/0/1/0/1 · - · sip',
    '1004 in 1001 ANSWERED · 1/1/1/0/2 · support · sip',
  ],
  'attended-transfer': [
    '1001 out 1002 ANSWERED · 0/0/3/2/5 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/2/0/3 · - · sip',
    '1003 in 1002 ANSWERED · 0/0/3/0/4 · - · sip',
  ],
  echo: ['1001 out 600 ANSWERED · 0/0/2/0/2 · - · sip'],
  'voicemail-main': ['1001 out *97 ANSWERED · 0/0/1/0/1 · - · webrtc'],
  'feature-code': ['1003 out *22 ANSWERED · 0/0/0/0/0 · - · sip'],
  // 1002 rang and 1003 picked up: an answered call is not missed.
  pickup: ['1001 out 1002 ANSWERED · 1/0/2/0/3 · - · sip', '1003 in 1001 ANSWERED · 0/0/2/0/2 · - · sip'],
  park: [
    '1001 out 1002 ANSWERED · 0/0/2/0/5 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/1/0/3 · - · sip',
    '1003 in 1001 ANSWERED · 0/0/1/0/1 · - · sip',
  ],
  hold: ['1001 out 1002 ANSWERED · 0/0/2/2/4 · - · sip', '1002 in 1001 ANSWERED · 0/0/2/2/4 · - · sip'],
  // Placed by the engine for 1001, directly and through an internal pair.
  originate: ['1001 out 1002 ANSWERED · 0/0/2/0/3 · - · sip', '1002 in 1001 ANSWERED · 0/0/2/0/2 · - · sip'],
  'originate-local': [
    '1001 out 1002 ANSWERED · 0/0/2/0/3 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/2/0/3 · - · sip',
  ],
  'attended-after-answer': [
    '1001 out 1002 ANSWERED · 0/0/2/1/3 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/2/0/2 · - · sip',
    '1003 in 1002 ANSWERED · 0/0/2/0/2 · - · sip',
  ],
  'attended-before-answer': [
    '1001 out 1002 ANSWERED · 0/0/2/2/4 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/1/2/3 · - · sip',
    '1003 in 1001 ANSWERED · 2/0/1/0/3 · - · sip',
  ],
  'attended-into-queue': [
    '1001 out 1002 ANSWERED · 0/4/2/1/7 · support · sip',
    '1002 in 1001 ANSWERED · 0/0/1/1/3 · - · sip',
    '1003 in 1001 ANSWERED · 1/4/1/0/2 · support · sip',
  ],
  'attended-into-queue-ringing': [
    '1001 out 1002 ANSWERED · 0/2/1/1/4 · support · sip',
    '1002 in 1001 ANSWERED · 0/0/1/1/2 · - · sip',
    '1003 missed 1001 NO ANSWER · 2/0/0/0/2 · support · sip',
  ],
  'attended-by-keys-abandoned': [
    '1001 out 1002 ANSWERED · 0/0/2/4/7 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/3/2/7 · - · sip',
    '1003 in 1002 ANSWERED · 0/0/1/0/2 · - · sip',
  ],
  'attended-by-keys-before-answer': [
    '1001 out 1002 ANSWERED · 0/0/2/2/6 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/1/2/4 · - · sip',
    '1003 in 1001 ANSWERED · 1/0/1/0/2 · - · sip',
  ],
  'cancelled-before-ring': [
    '1001 out 1002 NO ANSWER · 0/0/0/0/0 · - · sip',
    '1002 missed 1001 NO ANSWER · 0/0/0/0/0 · - · sip',
  ],
  congestion: [
    '1001 out 1002 CONGESTION · 0/0/0/0/0 · - · sip',
    '1002 missed 1001 CONGESTION · 0/0/0/0/0 · - · sip',
  ],
  forward: [
    '1001 out 1002 ANSWERED · 0/0/1/0/2 · - · sip',
    '1002 missed 1001 NO ANSWER · 0/0/0/0/0 · - · sip',
    '1003 in 1001 ANSWERED · 0/0/1/0/1 · - · sip',
  ],
  'forward-code': [
    '1001 out 1002 ANSWERED · 0/0/1/0/1 · - · sip',
    '1002 missed 1001 NO ANSWER · 0/0/0/0/0 · - · -',
    '1003 in 1001 ANSWERED · 0/0/1/0/1 · - · sip',
  ],
  'forward-refused': [
    '1001 out 1002 NO ANSWER · 0/0/0/0/0 · - · sip',
    '1002 missed 1001 NO ANSWER · 0/0/0/0/0 · - · sip',
  ],
  'hold-both': [
    '1001 out 1002 ANSWERED · 0/0/2/3/5 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/2/3/5 · - · sip',
  ],
  'hold-by-caller': [
    '1001 out 1002 ANSWERED · 0/0/1/2/3 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/1/2/3 · - · sip',
  ],
  'park-abandoned': [
    '1001 out 1002 ANSWERED · 0/0/1/0/6 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/1/0/4 · - · sip',
  ],
  'park-timeout': [
    '1001 out 1002 ANSWERED · 0/0/2/0/13 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/2/0/13 · - · sip',
  ],
  'pickup-group': [
    '1001 out 1002 ANSWERED · 0/0/1/0/1 · - · sip',
    '1003 in 1001 ANSWERED · 0/0/1/0/1 · - · sip',
  ],
  'queue-attended-transfer': [
    '1001 out 500 ANSWERED · 0/0/2/1/3 · support · sip',
    '1002 in 1003 ANSWERED · 0/0/2/0/2 · - · sip',
    '1003 in 1001 ANSWERED · 0/0/2/0/2 · support · sip',
  ],
  'queue-timeout': [
    '1001 out 500 NO ANSWER · 0/7/0/0/9 · support · sip',
    '1003 missed 1001 NO ANSWER · 5/0/0/0/6 · support · sip',
  ],
  'three-way': [
    '1001 out 1002 ANSWERED · 0/0/3/4/8 · - · sip',
    '1002 in 1001 ANSWERED · 0/0/3/1/7 · - · sip',
    '1003 in 1002 ANSWERED · 0/0/3/0/4 · - · sip',
  ],
  'voicemail-busy': [
    '1001 out 1005 ANSWERED · 0/0/0/0/0 · - · sip',
    '1005 missed 1001 BUSY · 0/0/0/0/0 · - · sip',
  ],
  'trunk-in': ['1001 in +4915112345678 ANSWERED · 0/0/2/1/4 · - · sip'],
  'trunk-in-unanswered': ['1001 missed +4915112345678 NO ANSWER · 0/0/0/0/0 · - · sip'],
  'trunk-out': ['1001 out 0301234567 ANSWERED · 0/0/1/0/1 · - · sip'],
  'trunk-out-busy': ['1001 out 0301234567 BUSY · 0/0/0/0/0 · - · sip'],
  'trunk-to-trunk': [],
  'trunk-in-queue': ['1003 in +4915112345678 ANSWERED · 0/0/1/0/1 · support · sip'],
  'trunk-in-passed-out': ['1001 in +4915112345678 ANSWERED · 0/0/1/0/1 · - · sip'],
};

for (const [name, rows] of Object.entries(EXPECTED)) {
  test(`history - a recorded call: ${name}`, () => {
    assert.deepEqual(people(recorded(name)).map(lineOf), rows);
  });
}

test('history - every recording has its expected rows', () => {
  // Two simultaneous calls, which only ingestion separates.
  assert.deepEqual(names.filter((n) => n !== 'call-waiting').sort(), Object.keys(EXPECTED).sort());
});

test('history - a device that rang beside the answering one missed no call', () => {
  const owner: Readonly<Record<string, string>> = { sip: '1003', webrtc: '1002', mobile: '1004' };
  const group = recorded('three-devices').map((r) =>
    r.extension === '1002' ? { ...r, extension: owner[r.device!]! } : r,
  );
  assert.deepEqual(
    people(group).map((p) => [p.extension, p.direction]),
    [
      ['1001', 'out'],
      ['1002', 'in'],
    ],
  );
  // A pickup is recognised by its own record, whatever the cause of the hang-up.
  const picked = recorded('pickup').map((r) =>
    r.extension === '1002' && r.type === 'hangup' ? { ...r, facts: { ...r.facts, cause: 16 } } : r,
  );
  assert.deepEqual(
    people(picked).map((p) => p.extension),
    ['1001', '1003'],
  );
});

test('history - any order and any repetition of records builds the same bytes', () => {
  for (const name of names) {
    const records = recorded(name);
    const expected = JSON.stringify(people(records));
    const shuffled = fc
      .shuffledSubarray([...records], { minLength: records.length })
      .chain((all) => fc.array(fc.constantFrom(...records)).map((again) => [...all, ...again]));
    fc.assert(
      fc.property(shuffled, (given) => {
        assert.equal(JSON.stringify(people(given)), expected, name);
      }),
      { numRuns: 20 },
    );
  }
});

test('history - with any records missing, the rows are consistent', () => {
  for (const name of names) {
    const records = recorded(name);
    fc.assert(
      fc.property(fc.subarray([...records]), (some) => {
        const conversation = built(some);
        if (conversation === null) return;
        const parties = peopleIn(conversation);
        const [started_us, ended_us] = [conversation.record.started * 1000, conversation.record.ended * 1000];
        const extensions = parties.map((p) => p.extension);
        assert.deepEqual(extensions, [...new Set(extensions)].sort(), 'one row for each extension');
        for (const p of parties) {
          assert.ok(p.started_us >= started_us && p.ended_us <= ended_us, 'inside the conversation');
          assert.ok(p.answered_us === null || (p.answered_us >= p.started_us && p.answered_us <= p.ended_us));
          assert.ok(p.talk_seconds + p.hold_seconds + p.ring_sec <= p.duration, lineOf(p));
          assert.equal(p.answered_us === null, p.disposition !== 'ANSWERED');
          assert.ok(p.direction !== 'missed' || (p.answered_us === null && p.talk_seconds === 0));
        }
      }),
      { numRuns: 40 },
    );
  }
});

test('history - a conversation is complete after its last channel ended and its call was closed, not before', () => {
  for (const name of names) {
    const records = recorded(name);
    assert.equal(isComplete(records), true, name);
    const lastEnd = records.findLastIndex((r) => r.type === 'hangup');
    assert.equal(isComplete(records.slice(0, lastEnd)), false, name);
    assert.equal(isComplete(records.filter((r) => r.type !== 'linked_end')), false, name);
  }
});
