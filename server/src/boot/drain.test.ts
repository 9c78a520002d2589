import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StandbyCalls } from './drain.ts';

test('drain - a standby without a call stays so while its engine, which ended with the last one, does not answer', async () => {
  const answers: (number | Error)[] = [1, new Error('busy'), 2, 0, new Error('away'), 0];
  const standby = new StandbyCalls({
    calls: async () => {
      const answer = answers.shift()!;
      if (typeof answer !== 'number') throw answer;
      return answer;
    },
  });
  const seen: (number | null)[] = [];
  while (answers.length > 0) {
    await standby.count(true);
    seen.push(standby.now);
  }
  assert.deepEqual(seen, [1, null, 2, 0, 0, 0]);
});
