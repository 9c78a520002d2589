import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectChange } from '@offhook/contract/config-applies.ts';
import { foldVersions } from './fold-versions.ts';

const change = (
  key: string,
  kind: ObjectChange['change'],
  before: unknown,
  after: unknown,
): ObjectChange => ({
  kind: 'queue',
  key,
  change: kind,
  fields: [{ field: 'title', secret: false, before, after }],
});
test('admin versions - several together: the first before and the last after, and nothing for a reverted change', () => {
  const got = foldVersions([
    [change('a', 'changed', '1', '2'), change('b', 'changed', '1', '2'), change('c', 'added', null, 'x')],
    [change('a', 'changed', '2', '3'), change('b', 'changed', '2', '1'), change('c', 'removed', 'x', null)],
    [change('d', 'added', null, 'n')],
  ]);
  assert.deepEqual(
    got.map(({ key, change: what, fields }) => [key, what, fields[0]?.before, fields[0]?.after]),
    [
      ['a', 'changed', '1', '3'],
      ['d', 'added', null, 'n'],
    ],
  );
});
