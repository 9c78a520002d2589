/** Records of two engines: a call from one to the other, then a caller in a queue of the other; each engine gave the same ids. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nodeId } from '@offhook/contract/ids.ts';
import { recordedIn } from '../../../../test/support/call-records.ts';
import {
  NODE,
  historyScene,
  inPieces,
  later,
  recorded,
  recordingFile,
} from '../../../../test/support/history-scene.ts';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import { e164In } from '../../../numbers/e164.ts';
import { Ingest } from './ingest.ts';
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

/** With another engine b beside that of this node. */
const besideB = ({ store, directory }: Awaited<ReturnType<typeof historyScene>>) =>
  new Ingest({
    store,
    directory,
    clock: { ...systemClock, now: () => A.at(-1)!.at_us / 1000 + 3_600_000 },
    log: silent,
    e164: e164In('DE'),
    others: ['b'],
  });
const goesOnAt = (node: string) => recordedIn(nodeId(node), recordingFile('internal-answered')).slice(0, 8);

test('history engines - a start of an engine ends its own conversations at once, and none of the other', async () => {
  for (const starts of ['b', NODE]) {
    await using scene = await historyScene();
    const ingest = besideB(scene);
    const there = goesOnAt('b');
    const after = there.at(-1)!.at_us / 1000 + 1000;
    const node = starts === 'b' ? 'b' : undefined;
    await ingest.engineBooted('first', after - 60_000, node);
    await scene.feed(...goesOnAt(NODE), ...there);
    assert.deepEqual(await scene.rows(), []);
    await ingest.engineBooted('second', after, node);
    const ended = (await scene.rows()) as readonly { readonly root: string }[];
    assert.deepEqual(
      ended.map(({ root }) => root.split(':')[0]),
      [starts, starts],
    );
  }
});

test('history engines - a call whose other half died with its engine ends without it, and not before that engine is back', async () => {
  await using scene = await historyScene();
  const ingest = besideB(scene);
  const last = A.findIndex(({ type }) => type === 'linked_end');
  const first = A.slice(0, last + 1);
  const half = B.filter(({ type, at_us }) => at_us < first.at(-1)!.at_us && type !== 'hangup').slice(0, 6);
  await ingest.engineBooted('first', half[0]!.at_us / 1000 - 60_000, 'b');
  await scene.feed(...first, ...half);
  await ingest.closeHalves();
  assert.deepEqual(await scene.rows(), []);
  await ingest.engineBooted('second', first.at(-1)!.at_us / 1000 + 1000, 'b');
  await ingest.closeHalves();
  assert.equal((await scene.rows()).length, 2);
});

test('history engines - many older calls without an end keep no half open, and each is examined again', async () => {
  await using scene = await historyScene();
  const ingest = besideB(scene);
  const last = A.findIndex(({ type }) => type === 'linked_end');
  const first = A.slice(0, last + 1);
  const half = B.filter(({ type, at_us }) => at_us < first.at(-1)!.at_us && type !== 'hangup').slice(0, 6);
  const open = recorded('internal-answered').filter(({ type }) => !['hangup', 'channel_end'].includes(type));
  await ingest.engineBooted('first', half[0]!.at_us / 1000 - 60_000, 'b');
  // As many as are examined at once.
  await scene.feed(...Array.from({ length: 50 }, (_, i) => later(open, i * 60)).flat());
  await scene.feed(...first, ...half);
  for (let i = 0; i < 2; i += 1) await ingest.closeHalves();
  assert.deepEqual(await scene.rows(), []);
  await ingest.engineBooted('second', first.at(-1)!.at_us / 1000 + 1000, 'b');
  for (let i = 0; i < 2; i += 1) await ingest.closeHalves();
  assert.equal((await scene.rows()).length, 2);
});
