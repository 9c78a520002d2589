import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trunkTroubles } from '../../../server/src/features/trunks/service.ts';
import { figuresOf, lagOf, trunkTroublesOf } from './health-texts.ts';

test('figures - metrics with labels are summed, invalid ones left out', () => {
  const figures = figuresOf(
    [
      '# HELP offhook_calls Calls in progress.',
      '# TYPE offhook_calls gauge',
      'offhook_calls 3',
      'offhook_streams{kind="ws"} 2',
      'offhook_streams{kind="sse"} 1',
      'offhook_broken NaN',
      'process_resident_memory_bytes 1.5e+8',
      '',
    ].join('\n'),
  );
  assert.deepEqual(
    [...figures],
    [
      ['offhook_calls', 3],
      ['offhook_streams', 3],
      ['process_resident_memory_bytes', 150_000_000],
    ],
  );
});

test('health page - the lag of the journal is read, and any other text is none', () => {
  assert.deepEqual(lagOf('{"held":2,"error":null}'), { held: 2, error: null });
  for (const text of ['', 'SQLite', '{', '{"held":2,"err', '{ENOENT}: no such file'])
    assert.equal(lagOf(text), null, text);
});

const SINCE = '2026-11-24T03:00:00.000Z';

test('trunk detail - what the service writes is read back, whatever a title contains', () => {
  const titles = ['North', 'A, since 1990; B: 2', 'no answer: C', 'x'.repeat(80)];
  const trunks = titles.map((title, i) => ({
    name: `t${i}`,
    title,
    endpoint: `trunk-t${i}`,
    enabled: true,
    max_calls: null,
  }));
  const reasons = ['no_answer', 'registration_failed'] as const;
  const detail = trunkTroubles({
    trunks: () => trunks,
    live: {
      live: true,
      as_of: 0,
      calls: () => [],
      trunk: (name) => {
        const reason = reasons[Number(name.slice(1)) % 2]!;
        return {
          name,
          state: reason === 'no_answer' ? 'unreachable' : 'rejected',
          reason,
          since: Date.parse(SINCE),
          round_trip_ms: null,
          servers: [],
        };
      },
    },
  }).join('; ');
  assert.deepEqual(
    trunkTroublesOf(detail)?.map(({ reason, name, since }) => [reason, name, Date.parse(since)]),
    titles.map((title, i) => [reasons[i % 2], title, Date.parse(SINCE)]),
  );
});

test('trunk detail - any other text is none', () => {
  for (const text of ['', 'written', 'no answer in 2 s', 'no answer: North', 'no answer: North, since never'])
    assert.equal(trunkTroublesOf(text), null, text);
});
