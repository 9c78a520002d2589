import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figuresOf } from './figures.ts';

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
