import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallRecords } from '../ports/call-records.ts';
import { watchedSources } from './records.ts';

const idle: CallRecords = { async *read() {} };

test('records - the call records of each engine are watched, and the time of their end is that of their source', async () => {
  const own: CallRecords = { ...idle, caughtUpAt: () => 1 };
  const far: CallRecords = { ...idle, caughtUpAt: () => 2 };
  const found: CallRecords[] = [];
  const { records, others } = watchedSources(
    {
      records: own,
      others: new Map([
        ['far', far],
        ['old', idle],
      ]),
    },
    async (source) => {
      found.push(source);
      return source;
    },
  );
  for (const source of [records, ...others.values()])
    for await (const _ of source.read(null, new AbortController().signal)) assert.fail('no batch is given');
  assert.deepEqual(found, [own, far, idle]);
  assert.deepEqual([records.caughtUpAt?.(), others.get('far')?.caughtUpAt?.()], [1, 2]);
  assert.equal('caughtUpAt' in others.get('old')!, false);
});
