import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Conversation, ConversationSummary } from '@offhook/contract/conversations.ts';
import { STARTED, recordOf } from '../../../../test/support/conversation-record.ts';
import { NOTHING_ADDED, conversationOf, summaryOf } from './view.ts';
import type { Annotations } from './view.ts';

const ROW = { root: 'ast1:1.1', change: 7, revision: 1, state: 'final', erased: 0 } as const;
const NONE = { notes: [], quality: [], recordings: [], timeline: [] };

test('conversation view - the record in the terms of the contract', () => {
  const record = recordOf({ id: 'ast1:1.1', queue: 'support', hold_ms: 1_001, merged_from: ['ast1:2.1'] });
  const wrap_ups = [
    {
      call: 'ast1:2.1',
      extension: '1002',
      queue: 'support',
      from_ms: record.ended,
      to_ms: record.ended + 4_500,
    },
    { call: 'ast1:1.1', extension: '1009', queue: 'sales', from_ms: STARTED, to_ms: STARTED + 500 },
  ];
  const outcome = { call: 'ast1:1.1', code: 'sold', text: '', at_ms: STARTED, by: '1002' };
  const queue_titles = new Map([['support', 'Support']]);
  const added: Annotations = { wrap_ups, notes: 1, outcome, has_recording: true, queue_titles };
  const notes = [{ id: 3, call: 'ast1:1.1', at_ms: STARTED, by: '1002', text: 'Calls back on Monday' }];
  const whole = conversationOf(ROW, record, added, { ...NONE, notes });
  assert.deepEqual(Conversation.parse(whole), whole, 'the contract describes all of it');
  const {
    caller,
    parties,
    legs,
    queue_visits,
    transfers,
    timeline,
    recordings,
    notes: shown,
    ...rest
  } = whole;
  assert.deepEqual(rest, {
    id: 'ast1:1.1',
    merged_from: ['ast1:2.1'],
    quality: [],
    state: 'final',
    revision: 1,
    change: 7,
    built_by: 1,
    observed: 'call_records',
    direction: 'internal',
    disposition: 'answered',
    cause: 16,
    ended_by: 'called',
    started_at: '2026-11-21T09:00:00.000Z',
    answered_at: '2026-11-21T09:00:01.234Z',
    ended_at: '2026-11-21T09:00:04.580Z',
    duration: 4.58,
    ring_time: 1.234,
    wait_time: 1.234,
    talk_time: 4.69,
    talk_seconds: 0,
    answered_by: null,
    customer: null,
    customer_disposition: null,
    hold_time: 2.002,
    park_time: 0,
    wrap_up_time: 5,
    billable: 0,
    dialled: '1002',
    dialled_e164: null,
    extensions: ['1001', '1002'],
    queues: ['support'],
    queue_titles: ['Support'],
    agents: ['1002'],
    has_recording: true,
    outcome: { code: 'sold', text: '', at: '2026-11-21T09:00:00.000Z', by: '1002' },
    erased: false,
  });
  assert.deepEqual([caller, parties.length], [record.caller, 2]);
  assert.deepEqual([transfers, timeline, recordings], [[], [], []]);
  assert.deepEqual(shown, [
    { id: 3, at: '2026-11-21T09:00:00.000Z', by: '1002', text: 'Calls back on Monday' },
  ]);
  const [first] = legs;
  assert.deepEqual(
    [first!.wait_time, first!.talk_time, first!.hold_time, first!.ring_time, first!.duration],
    [1.234, 2.345, 1.001, 0, 4.58],
  );
  assert.deepEqual(
    first!.segments.map((s) => [s.state, s.duration, s.held_by]),
    [
      ['queued', 1.234, null],
      ['connected', 2.345, null],
      ['held', 1.001, 'this_leg'],
    ],
  );
  assert.deepEqual(
    queue_visits.map((v) => [
      v.queue,
      v.queue_title,
      v.wait_time,
      v.agent,
      v.wrap_up_time,
      v.offers[0]?.ring_time,
    ]),
    [['support', 'Support', 1.234, '1002', 4.5, 1.234]],
  );
});

test('conversation view - an open one has no end yet', () => {
  const record = recordOf({ id: 'ast1:1.1', complete: false });
  const summary = summaryOf({ ...ROW, state: 'open', revision: 0 }, record);
  assert.deepEqual(ConversationSummary.parse(summary), summary);
  assert.deepEqual([summary.ended_at, summary.duration, summary.notes], [null, 3.579, 0]);
});

test('conversation view - wrap-ups of one agent and queue belong to the visit before them', () => {
  const record = recordOf({ id: 'ast1:1.1', queue: 'support' });
  const [visit] = record.visits;
  const later = { ...visit!, from: record.ended + 10_000, to: record.ended + 11_000 };
  const wrapUp = { call: 'ast1:1.1', extension: '1002', queue: 'support' };
  const added: Annotations = {
    ...NOTHING_ADDED,
    wrap_ups: [
      { ...wrapUp, from_ms: record.ended, to_ms: record.ended + 2_000 },
      { ...wrapUp, from_ms: record.ended + 12_000, to_ms: record.ended + 15_000 },
    ],
  };
  const whole = conversationOf(ROW, { ...record, visits: [visit!, later] }, added, NONE);
  assert.deepEqual(
    whole.queue_visits.map((v) => v.wrap_up_time),
    [2, 3],
  );
});

test('conversation view - parts add up to the whole, to the millisecond', () => {
  const ms = fc.integer({ min: 0, max: 10_000_000 });
  fc.assert(
    fc.property(ms, ms, ms, fc.integer({ min: 0, max: 2 ** 41 }), (ring_ms, talk_ms, hold_ms, started) => {
      const record = recordOf({ id: 'ast1:1.1', started, ring_ms, talk_ms, hold_ms });
      const { legs, started_at, ended_at, duration } = conversationOf(ROW, record, NOTHING_ADDED, NONE);
      const whole = (seconds: number): number => Math.round(seconds * 1000);
      for (const leg of legs) {
        const parts = leg.segments.map((s) => whole(s.duration));
        assert.equal(
          parts.reduce((total, n) => total + n, 0),
          whole(leg.duration),
        );
        assert.equal(Date.parse(leg.ended_at) - Date.parse(leg.started_at), whole(leg.duration));
        for (const s of leg.segments) assert.match(String(s.duration), /^\d+(\.\d{1,3})?$/);
      }
      assert.equal(Date.parse(ended_at!) - Date.parse(started_at), whole(duration));
    }),
  );
});
