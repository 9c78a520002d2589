import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { CallRecord, CallRecords } from '../../ports/call-records.ts';
import { Refusals } from './refusals.ts';

test('call limits - each refused call is an event, a flood one line of the trail a minute, an old one neither', async () => {
  const clock = createVirtualClock();
  const events: DomainEvent[] = [];
  const rows: AuditEntry[] = [];
  const refusals = new Refusals({
    publish: (all) => void events.push(...all),
    audit: { record: async (entry) => void rows.push(entry) },
    clock,
    log: silent,
    ruleWritten: () => {},
  });
  const refused = (minutes: number, reason: 'budget' | 'calls'): CallRecord =>
    ({
      type: 'user_defined',
      at_us: (clock.now() - minutes * 60_000) * 1_000,
      call: 'n-1',
      dialled: '0044207',
      facts: { refused: { reason, call_limit: 'abroad', class: 'international', extension: '1001' } },
    }) as unknown as CallRecord;
  const batch = {
    records: [
      refused(3_000, 'budget'),
      { ...refused(1, 'budget'), facts: {} },
      refused(1, 'budget'),
      refused(1, 'budget'),
      refused(0, 'calls'),
    ],
  };
  const source = {
    async *read() {
      yield batch;
    },
  } as unknown as CallRecords;
  for await (const read of refusals.watching(source).read(null, AbortSignal.timeout(60_000)))
    assert.equal(read as unknown, batch);
  assert.deepEqual(
    events.map(({ type, data }) => [type, (data as { reason: string }).reason]),
    [
      ['call.refused', 'budget'],
      ['call.refused', 'budget'],
      ['call.refused', 'calls'],
    ],
  );
  assert.deepEqual(
    rows.map(({ action, actor, object, detail }) => [action, actor, object, detail?.['reason']]),
    [
      ['call.refused', '1001', '0044207', 'budget'],
      ['call.refused', '1001', '0044207', 'calls'],
    ],
  );
});

test('call limits - a PIN that was guessed too often is one line of the trail', async () => {
  const clock = createVirtualClock();
  const rows: AuditEntry[] = [];
  const refusals = new Refusals({
    publish: () => assert.fail('no event'),
    audit: { record: async (entry) => void rows.push(entry) },
    clock,
    log: silent,
    ruleWritten: () => {},
  });
  const guessed = (extension: string | null): CallRecord =>
    ({
      type: 'user_defined',
      at_us: clock.now() * 1_000,
      call: 'n-1',
      facts: { pins_refused: { kind: 'conference', key: 'board', extension } },
    }) as unknown as CallRecord;
  const source = {
    async *read() {
      yield { records: [guessed(null), guessed(null), guessed('1001')] };
    },
  } as unknown as CallRecords;
  for await (const _ of refusals.watching(source).read(null, AbortSignal.timeout(60_000)));
  assert.deepEqual(
    rows.map(({ action, actor, object, outcome, detail }) => [action, actor, object, outcome, detail]),
    [
      ['pin.refused', null, 'conference:board', 'refused', { call_id: 'n-1' }],
      ['pin.refused', '1001', 'conference:board', 'refused', { call_id: 'n-1' }],
    ],
  );
});
