import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { createRecordingStore } from './store.ts';
import type { RecordingState, Tables } from './tables.ts';

test('recordings - the sums of many recordings are read a part at a time, with other work between', async () => {
  await using temp = await temporaryStore();
  const store = await createRecordingStore(temp.store);
  assert.deepEqual(await store.sums(), []);
  const states: readonly RecordingState[] = ['stored', 'expired', 'running'];
  await temp.store.transaction<Tables, void>(async (trx) => {
    for (let n = 0; n < 12_000; n += 1) {
      const state = states[n % 3]!;
      await trx
        .insertInto('recordings')
        .values({
          id: String(n).padStart(8, '0'),
          call: 'call',
          channel: 'channel',
          file: `${n}.wav`,
          by: 'extension',
          extension: null,
          queue: null,
          started_ms: n,
          ended_ms: null,
          paused: '[]',
          state,
          bytes: state === 'running' ? null : n,
          sha256: null,
        })
        .execute();
    }
  });
  let others = 0;
  let counts = true;
  const next = (): void => {
    others += 1;
    if (counts) setImmediate(next);
  };
  setImmediate(next);
  const sums = await store.sums();
  counts = false;
  const bytesOf = (first: number): number =>
    Array.from({ length: 4_000 }, (_, i) => first + 3 * i).reduce((sum, n) => sum + n, 0);
  assert.deepEqual(
    sums.toSorted((a, b) => a.state.localeCompare(b.state)),
    [
      { state: 'expired', count: 4_000, bytes: bytesOf(1) },
      { state: 'running', count: 4_000, bytes: 0 },
      { state: 'stored', count: 4_000, bytes: bytesOf(0) },
    ],
  );
  assert.ok(others >= 2, `other work ran ${others} times meanwhile`);
});
