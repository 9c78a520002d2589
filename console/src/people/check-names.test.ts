import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { REPOSITORY } from '../../../server/test/support/sources.ts';
import { CHECK_NAMES } from './check-names.ts';

/** Checks whose names are not in that file as text. */
const ELSEWHERE = ['sip', 'call', 'call_records', 'task_queues', 'store'];

test('health page - every check of the service has words', async () => {
  const texts = await Promise.all(
    ['health.ts', 'node.ts', 'bus.ts', 'drain.ts', 'web.ts'].map((file) =>
      readFile(path.join(REPOSITORY, 'server/src/boot', file), 'utf8'),
    ),
  );
  const text = texts.join('\n');
  const named = [...text.matchAll(/\bname: '([a-z_]+)'/g)].map(([, name = '']) => name);
  assert.ok(named.length > 10, `${named.length} checks were read`);
  assert.deepEqual([...CHECK_NAMES].toSorted(), [...new Set([...named, ...ELSEWHERE])].toSorted());
});
