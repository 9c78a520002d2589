/** Records of two engines: a call from one to the other, then a caller in a queue of the other; each engine gave the same ids. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nodeId } from '@offhook/contract/ids.ts';
import { recordedIn } from '../../../../test/support/call-records.ts';
import { historyScene, inPieces } from '../../../../test/support/history-scene.ts';
import { recordLines } from '../../../../test/support/record-lines.ts';

const recordsAt = (node: string) =>
  recordedIn(nodeId(node), new URL(`../fixtures/engines/${node}.cel`, import.meta.url));
const [A, B] = [recordsAt('a'), recordsAt('b')];

const EXPECTED = [
  [
    'a:1795785115.2',
    'internal answered by called · 1.9/0.0/5.6/0.0/0.0',
    '1001 caller answered by other_side · alerting 1.0 · connected 2.8 1002',
    '1002 called answered by this_leg · alerting 1.0 · connected 2.8 1001',
  ],
  [
    'a:1795785119.4',
    'internal answered by caller · 0.0/0.0/2.2/0.0/0.0',
    '1001 caller answered by this_leg · initiated 0.1 · connected 1.1 1003',
    '1003 called answered by other_side · connected 1.1 1001',
    '1001 in support 0.0 answered 1003',
  ],
];

test('history engines - the records of two engines are one conversation, in whatever order they come', async () => {
  await using scene = await historyScene();
  const check = async (pieces: readonly (readonly (typeof A)[number][])[]): Promise<void> => {
    await scene.clear();
    for (const piece of pieces) await scene.feed(...piece);
    const stored = await scene.conversations();
    assert.deepEqual(
      stored.map(({ root, record }) => [root, ...recordLines(record)]),
      EXPECTED,
    );
    assert.deepEqual(
      stored.map(({ state }) => state),
      ['final', 'final'],
    );
  };
  await check([A, B]);
  await check([B, A]);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 12 }),
      fc.boolean(),
      async (n, m, turn) => {
        const [first, second] = turn ? [inPieces(B, m), inPieces(A, n)] : [inPieces(A, n), inPieces(B, m)];
        const pieces: (readonly (typeof A)[number][])[] = [];
        for (let i = 0; i < Math.max(first.length, second.length); i += 1)
          pieces.push(...[first[i], second[i]].filter((one) => one !== undefined));
        await check(pieces);
      },
    ),
    { numRuns: 15 },
  );
});
