import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallStream } from '../../../../test/support/call-stream.ts';
import type { CallStream, StreamChannel } from '../../../../test/support/call-stream.ts';
import { recordLines } from '../../../../test/support/record-lines.ts';
import { recordedCall, recordedCalls } from '../../../../test/support/recorded-calls.ts';
import type { QueueStatus } from '../../../ports/call-records.ts';
import type { ConversationRecord } from './record.ts';
import { buildConversation, buildRecord } from './build.ts';
import { peopleIn } from './people.ts';

/** Calls over trunks, as in recorded.test.ts; the last value is the billable time in seconds. */
const TRUNKS: Readonly<Record<string, readonly string[]>> = {
  'trunk-in-passed-out': [
    'in answered by called · 2.5/0.0/4.5/0.0/0.0',
    '+4915112345678 caller answered by other_side · alerting 0.6 · connected 1.1 1001 · alerting 0.6 · connected 1.2 0044207946000',
    '1001 called answered by this_leg · alerting 0.6 · connected 1.1 +4915112345678',
    '0044207946000 transfer_target answered by this_leg · alerting 0.6 · connected 1.2 +4915112345678',
    'blind at 1.7: 1001 moved +4915112345678 to 0044207946000 (0044207946000), completed',
    'billed 2.9',
  ],
  'trunk-in-queue': [
    'in answered by caller · 0.6/0.6/2.1/0.0/0.0',
    '+4915112345678 caller answered by this_leg · queued:support 0.6 · connected 1.1 1003',
    '1003 offered answered by other_side · alerting 0.6 · connected 1.1 +4915112345678',
    '+4915112345678 in support 0.6 answered 1003 · 1003 0.6 answered',
    'billed 1.1',
  ],
  'trunk-in-unanswered': [
    'in missed by caller · 1.3/0.0/0.0/0.0/0.0',
    '+4915112345678 caller cancelled_by_caller by this_leg · alerting 0.6',
    '1001 called cancelled_by_caller by other_side · alerting 0.6',
    'billed 0.0',
  ],
  'trunk-in': [
    'in answered by caller · 1.3/0.0/4.2/2.8/0.0',
    '+4915112345678 caller answered by this_leg · alerting 0.6 · connected 1.1 1001 · held:other_side 1.4 1001 · connected 1.0 1001',
    '1001 called answered by other_side · alerting 0.6 · connected 1.1 +4915112345678 · held:this_leg 1.4 +4915112345678 · connected 1.0 +4915112345678',
    'billed 3.5',
  ],
  'trunk-out-busy': [
    'out missed by called · 0.1/0.0/0.0/0.0/0.0',
    '1001 caller busy by exchange',
    '0301234567 called busy by this_leg',
    'billed 0.0',
  ],
  'trunk-out': [
    'out answered by called · 1.3/0.0/2.1/0.0/0.0',
    '1001 caller answered by other_side · alerting 0.6 · connected 1.0 0301234567',
    '0301234567 called answered by this_leg · alerting 0.6 · connected 1.0 1001',
    'billed 1.0',
  ],
  'trunk-to-trunk': [
    'transit answered by caller · 1.3/0.0/2.1/0.0/0.0',
    '+4915112345678 caller answered by this_leg · alerting 0.6 · connected 1.1 +44207946000',
    '+44207946000 called answered by other_side · alerting 0.6 · connected 1.1 +4915112345678',
    'billed 1.1',
  ],
};

for (const [name, lines] of Object.entries(TRUNKS)) {
  test(`record - a call over a trunk: ${name}`, () => {
    const record = buildRecord(recordedCall(name), { e164: () => null })!;
    assert.deepEqual([...recordLines(record), `billed ${(record.billable_ms / 1000).toFixed(1)}`], lines);
  });
}
test('record - every call over a trunk has its expected record', () => {
  const names = recordedCalls.filter((n) => n.startsWith('trunk-'));
  assert.deepEqual(names.sort(), Object.keys(TRUNKS).sort());
});

test('record - the engine is killed: open intervals end with the newest record, and no party ended the call', () => {
  const records = recordedCall('cut-off/engine-killed');
  const open = buildRecord(records, { e164: () => null })!;
  assert.deepEqual(
    [open.complete, open.ended_by, open.legs.map((l) => l.ended_by)],
    [false, null, [null, null]],
  );
  const lost = buildRecord(records, { e164: () => null, lost: true })!;
  assert.equal(lost.complete, true);
  assert.deepEqual(recordLines(lost), [
    'internal answered by engine_lost · 0.7/0.0/2.1/3.7/0.0',
    '1001 caller answered by engine_lost · alerting 0.4 · connected 1.0 1002 · held:other_side 1.9 1002',
    '1002 called answered by engine_lost · alerting 0.4 · connected 1.0 1001 · held:this_leg 1.9 1001',
  ]);
  const ringing = buildRecord(recordedCall('cut-off/engine-killed-while-ringing'), {
    e164: () => null,
    lost: true,
  })!;
  assert.deepEqual(recordLines(ringing), [
    'internal failed by engine_lost · 0.0/0.0/0.0/0.0/0.0',
    '1001 caller failed by engine_lost',
    '1002 called failed by engine_lost',
  ]);
});

test('record - numbers outside have E.164, converted once; extensions have none', () => {
  const asked: string[] = [];
  const e164 = (number: string): string => {
    asked.push(number);
    return `e164 ${number}`;
  };
  const linesOf = (name: string) => {
    const { dialled_e164, legs } = buildRecord(recordedCall(name), { e164 })!;
    return [dialled_e164, ...legs.map((l) => l.participant.number_e164)];
  };
  assert.deepEqual(linesOf('trunk-out'), ['e164 0301234567', null, 'e164 0301234567']);
  assert.deepEqual(linesOf('trunk-in'), ['e164 +493055501', 'e164 +4915112345678', null]);
  assert.deepEqual(linesOf('internal-answered'), [null, null, null]);
  assert.deepEqual(asked, ['0301234567', '+4915112345678', '+493055501']);
});

test('record - a clock set back an hour during a call keeps the order of records', () => {
  const records = recordedCall('internal-answered');
  const connected = records.findLastIndex((r) => r.type === 'bridge_enter');
  const set = records.map((r, i) => (i > connected ? { ...r, at_us: r.at_us - 3_600_000_000 } : r));
  // The interval between the last record before and the first one after is unknown.
  assert.deepEqual(recordLines(buildRecord(set, { e164: () => null })!), [
    'internal answered by caller · 2.5/0.0/0.0/0.0/0.0',
    '1001 caller answered by this_leg · alerting 1.2',
    '1002 called answered by other_side · alerting 1.2',
  ]);
});

/** A caller who waits in a queue for five seconds and leaves it in the given way. */
function left(after: (s: CallStream, caller: StreamChannel) => void, closed = true) {
  const s = createCallStream();
  const caller = s.channel({ extension: '1001', dialled: '500' });
  s.answer(caller);
  s.start(caller, 'queue', 'support,C', 'support');
  s.wait(5000);
  after(s, caller);
  if (closed) s.close(caller);
  return buildRecord(s.records, { e164: () => null })!;
}
const goesOn = (s: CallStream, caller: StreamChannel): void => {
  s.wait(2500);
  s.hangUp(caller, 16);
};

test('record - each way out of a queue', () => {
  const words = {
    timeout: 'timeout',
    full: 'full',
    empty_join: 'empty_join',
    empty_leave: 'empty_leave',
  } as const;
  const said = { ...words, exit_key: 'exit_key', withdrawn: 'transferred_out' } as const;
  for (const [queue_status, outcome] of Object.entries(said) as [QueueStatus, string][]) {
    const record = left((s, caller) => {
      s.stop(caller);
      s.say(caller, 'user_defined', { queue_status });
      goesOn(s, caller);
    });
    assert.deepEqual(
      record.visits.map((v) => [v.outcome, Math.round(v.to - v.from)]),
      [[outcome, 5000]],
    );
  }
  const ways: Readonly<Record<string, (s: CallStream, caller: StreamChannel) => void>> = {
    abandoned: (s, caller) => {
      s.stop(caller);
      s.hangUp(caller, 0, caller);
    },
    // Records from before the dialplan wrote the queue status.
    timeout: (s, caller) => {
      s.stop(caller);
      goesOn(s, caller);
    },
    'transferred_out abandoned': (s, caller) => {
      s.stop(caller);
      s.start(caller, 'queue', 'sales,C', 'sales');
      s.wait(1000);
      s.stop(caller);
      s.hangUp(caller, 0, caller);
    },
  };
  for (const [outcomes, way] of Object.entries(ways)) {
    assert.equal(
      left(way)
        .visits.map((v) => v.outcome)
        .join(' '),
      outcomes,
    );
  }
  assert.deepEqual(
    left(() => {}, false).visits.map((v) => v.outcome),
    ['waiting'],
  );
});

test('record - ringing cut off by a key or by removal of the caller is no failed offer; at the timeout it is', () => {
  const rung = (queue_status: QueueStatus) =>
    left((s, caller) => {
      const agent = s.channel({ of: caller, extension: '1002' });
      s.wait(900);
      s.hangUp(agent, 26);
      s.stop(caller);
      s.say(caller, 'user_defined', { queue_status });
      goesOn(s, caller);
    }).visits.flatMap((v) => v.offers.map((o) => `${o.extension} ${o.disposition}`));
  assert.deepEqual(rung('exit_key'), ['1002 cancelled_by_caller']);
  assert.deepEqual(rung('withdrawn'), ['1002 cancelled_by_caller']);
  assert.deepEqual(rung('timeout'), ['1002 no_answer']);
});

test('record - a new position in the same queue is the same visit; a later join is another one', () => {
  const again = (pause: number, status?: QueueStatus) =>
    left((s, caller) => {
      s.stop(caller);
      if (status) s.say(caller, 'user_defined', { queue_status: status });
      s.wait(pause);
      s.start(caller, 'queue', 'support,C,,,60,,,,1', 'support');
      s.wait(3000);
      s.stop(caller);
      s.hangUp(caller, 0, caller);
    }).visits.map((v) => `${v.outcome} ${Math.round((v.to - v.from) / 1000)}`);
  assert.deepEqual(again(1), ['abandoned 8']);
  assert.deepEqual(again(5000), ['timeout 5', 'abandoned 3']);
  assert.deepEqual(again(1, 'timeout'), ['timeout 5', 'abandoned 3']);
});

/** Processor time in ms: other load of the machine does not count. */
function spent(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
test('record - a conversation of thousands of channels is built quickly', () => {
  const s = createCallStream();
  const room = s.bridge();
  const first = s.channel({ extension: '1001', dialled: '800' });
  const all = [
    first,
    ...Array.from({ length: 2000 }, (_, i) => s.channel({ of: first, extension: `${2000 + i}` })),
  ];
  for (const c of all) {
    s.wait(5);
    s.answer(c);
    s.enter(c, room);
  }
  for (const c of all) s.hangUp(c, 16, c);
  s.close(first);
  let record: ConversationRecord | null = null;
  const took = spent(() => (record = buildRecord(s.records, { e164: () => null })));
  assert.equal(record!.legs.length, 2001);
  assert.ok(took < 12_000, `${s.records.length} records took ${took} ms of processor time`);
  const built = buildConversation(s.records, { e164: () => null })!;
  assert.ok(spent(() => peopleIn(built)) < 12_000);
});

test('record - a device that forwarded its call is diverted, even when the engine hung up before its answer', () => {
  const records = recordedCall('forward').map((r) => {
    const { cause: _, source: __, ...facts } = r.facts;
    return r.extension === '1002' && r.type === 'hangup' ? { ...r, facts: { ...facts, cause: 0 } } : r;
  });
  const leg = buildRecord(records, { e164: () => null })!.legs.find(
    (l) => l.participant.extension === '1002',
  )!;
  assert.deepEqual([leg.disposition, leg.cause, leg.ended_by], ['diverted', 23, 'this_leg']);
});

test('record - an extension that forwards its calls is named, also where its number was not dialled', () => {
  // The records of a call over a trunk name the number outside until the inbound route chose the extension.
  const records = recordedCall('forward-code').map((r) => {
    if (r.channel !== 'ast1:1795302430.1') return r;
    const reaches = r.reaches === '1002' ? null : r.reaches;
    const dialled = r.type === 'forward' ? r.dialled : '+4930123';
    return { ...r, extension: null, trunk: 'north', dialled, reaches };
  });
  const built = buildConversation(records, { e164: () => null })!;
  assert.deepEqual(built.record.extensions, ['1002', '1003']);
  assert.deepEqual(
    built.record.transfers.map((t) => [t.kind, t.by, t.forwarded_by, t.to, t.outcome]),
    [['forward', null, '1002', '1003', 'completed']],
  );
  assert.deepEqual(
    peopleIn(built).map((p) => `${p.extension} ${p.direction} ${p.party} ${p.disposition}`),
    ['1002 missed 1001 NO ANSWER', '1003 in 1001 ANSWERED'],
  );
});

test('record - the forward of an extension that was called by another forward is its own', () => {
  // 1002 rang in vain and its calls go to 1003, whose calls go to 1005 without a ring.
  const records = recordedCall('forward').flatMap((r) =>
    r.type === 'forward'
      ? [r, { ...r, key: `${r.key}b`, at_us: r.at_us + 1000, forwarder: '1003', facts: { target: '1005' } }]
      : [r],
  );
  const { transfers } = buildRecord(records, { e164: () => null })!;
  const by = transfers.map((t) => [t.by !== null, t.forwarded_by, t.to]);
  assert.deepEqual(by, [
    [true, undefined, '1003'],
    [false, '1003', '1005'],
  ]);
});
