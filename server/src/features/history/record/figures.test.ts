import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import { recordedCall } from '../../../../test/support/recorded-calls.ts';
import { buildRecord } from './build.ts';
import { ROW_COLUMNS, cellsOf, talkersOf } from './figures.ts';
import type { ConversationRecord, RecordedLeg, RecordedParticipant } from './record.ts';

const who = (extension: string | null, number: string, name: string): RecordedParticipant => ({
  extension,
  number,
  number_e164: extension === null ? '+4930123456' : null,
  name,
  trunk: extension === null ? 'carrier' : null,
});
const leg = (role: RecordedLeg['role'], participant: RecordedParticipant, answered: number | null) =>
  ({ role, participant, answered }) as RecordedLeg;
const record: ConversationRecord = {
  id: 'n1-1.1',
  merged_from: [],
  built_by: 3,
  complete: true,
  direction: 'in',
  disposition: 'answered',
  cause: 16,
  ended_by: 'caller',
  started: 1_000,
  answered: 3_500,
  ended: 61_250,
  ring_ms: 2_500,
  wait_ms: 0,
  talk_ms: 50_000,
  hold_ms: 7_750,
  park_ms: 0,
  billable_ms: 57_750,
  dialled: '9876',
  dialled_e164: null,
  caller: who(null, '030123456', 'Müller, "Hans"'),
  parties: [],
  extensions: ['1001', '1002'],
  queues: ['support'],
  agents: ['1002'],
  legs: [
    leg('caller', who(null, '030123456', ''), 3_500),
    leg('offered', who('1001', '1001', 'Anna'), null),
    leg('offered', who('1002', '1002', 'Bora'), 3_500),
  ],
  transfers: [],
  visits: [],
};

test('export cells - every column has its cell in the order of the contract, the answered leg is the called party', () => {
  const cells = cellsOf(record);
  const named = Object.fromEntries(EXPORT_COLUMNS.slice(ROW_COLUMNS).map((column, i) => [column, cells[i]]));
  assert.equal(cells.length, EXPORT_COLUMNS.length - ROW_COLUMNS);
  assert.deepEqual(EXPORT_COLUMNS.slice(0, ROW_COLUMNS), ['id', 'state', 'revision', 'erased']);
  assert.deepEqual(named, {
    direction: 'in',
    disposition: 'answered',
    started_at: '1970-01-01T00:00:01.000Z',
    answered_at: '1970-01-01T00:00:03.500Z',
    ended_at: '1970-01-01T00:01:01.250Z',
    duration: 60.25,
    ring_time: 2.5,
    wait_time: 0,
    talk_time: 50,
    hold_time: 7.75,
    park_time: 0,
    billable: 57.75,
    caller_number: '030123456',
    caller_number_e164: '+4930123456',
    caller_name: 'Müller, "Hans"',
    dialled: '9876',
    dialled_e164: '',
    called_number: '1002',
    called_number_e164: '',
    called_name: 'Bora',
    trunks: 'carrier',
    extensions: '1001 1002',
    queues: 'support',
    agents: '1002',
    transfers: 0,
    cause: 16,
    ended_by: 'caller',
  });
});

test('export cells - an open conversation without legs or a caller has empty cells, not the text null', () => {
  const cells = cellsOf({ ...record, complete: false, caller: null, legs: [] });
  const at = (column: (typeof EXPORT_COLUMNS)[number]) => cells[EXPORT_COLUMNS.indexOf(column) - ROW_COLUMNS];
  assert.equal(at('ended_at'), '');
  assert.ok(!cells.includes(null as never));
  assert.equal(at('caller_number'), '');
  assert.equal(at('called_name'), '');
});

test('figures - the extensions that talked, also while the conversation is open; not those that only rang', () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    // The second is an agent or a device that rang and did not answer.
    ['queue-answered', ['1001', '1004'], ['1003']],
    ['queue-linear', ['1001', '1004'], ['1003']],
    ['pickup-group', ['1001', '1003'], ['1002']],
    ['blind-transfer-unanswered', ['1001', '1002'], ['1003']],
    ['attended-transfer', ['1001', '1002', '1003'], []],
    ['hold-and-consult', ['1001', '1003', '1005'], []],
    ['no-answer-voicemail', [], ['1001', '1006']],
    ['queue-abandoned', [], ['1001', '1003', '1004']],
  ];
  for (const [name, talked, rang] of cases) {
    const records = recordedCall(name);
    const built = (count: number) => buildRecord(records.slice(0, count), { e164: () => null })!;
    const whole = built(records.length);
    assert.equal(whole.complete, true);
    assert.deepEqual(talkersOf(whole), talked, name);
    assert.deepEqual(
      whole.extensions.filter((extension) => !talked.includes(extension)),
      rang,
      name,
    );
    // Before the first end of a leg all of them are talking already.
    const open = built(records.findIndex(({ type }) => type === 'channel_end'));
    assert.equal(open.complete, false);
    assert.deepEqual(
      talkersOf(open).filter((extension) => !talked.includes(extension)),
      [],
      name,
    );
  }
  const answered = recordedCall('internal-answered');
  const last = answered.findLastIndex(({ type }) => type === 'bridge_enter');
  const talking = buildRecord(answered.slice(0, last + 1), { e164: () => null })!;
  const states = talking.legs.flatMap((one) => one.segments.map(({ state }) => state));
  assert.ok(!states.includes('connected'));
  assert.deepEqual(talkersOf(talking), ['1001', '1002'], 'the talk has no length yet');
});
