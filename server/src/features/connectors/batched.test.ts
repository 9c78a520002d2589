import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batched } from './batched.ts';

test('connectors - requests that come during a commit share the next one; one that fails rejects its own', async () => {
  const batches: string[][] = [];
  const held = Promise.withResolvers<void>();
  const write = batched(async (all: readonly string[]) => {
    batches.push([...all]);
    if (batches.length === 1) await held.promise;
    if (all.includes('bad')) throw new Error('refused');
    return all.map((one) => one.toUpperCase());
  });
  const first = write('a');
  await Promise.resolve();
  const second = Promise.allSettled([write('b'), write('bad')]);
  const third = second.then(() => Promise.all([write('c'), write('d')]));
  held.resolve();
  assert.equal(await first, 'A');
  assert.deepEqual(
    (await second).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.deepEqual(await third, ['C', 'D']);
  assert.deepEqual(batches, [['a'], ['b', 'bad'], ['c', 'd']]);
});
