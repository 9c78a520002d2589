import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { REPOSITORY } from '../../../server/test/support/sources.ts';
import { CHECK_NAMES } from './check-names.ts';

const BOOT = path.join(REPOSITORY, 'server/src/boot');
/** Files of this folder with names of features, and with checks that no console shows. */
const OTHERS = ['home.ts', 'manifest.ts', 'sip-proxy.ts', 'standby.ts'];
/** Checks whose names are not in that folder as text. */
const ELSEWHERE = ['sip', 'call', 'call_records', 'task_queues', 'store'];

test('health page - every check of the service has words', async () => {
  const files = (await readdir(BOOT)).filter((file) => !file.includes('.test.') && !OTHERS.includes(file));
  const texts = await Promise.all(files.map((file) => readFile(path.join(BOOT, file), 'utf8')));
  const text = texts.join('\n');
  const named = [...text.matchAll(/\bname: '([a-z_]+)'/g)].map(([, name = '']) => name);
  assert.ok(named.length > 10, `${named.length} checks were read`);
  assert.deepEqual([...CHECK_NAMES].toSorted(), [...new Set([...named, ...ELSEWHERE])].toSorted());
});
