import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { historyScene, recorded } from '../../test/support/history-scene.ts';
import { run } from '../adapters/asterisk/provision/run.ts';
import { lockFolder } from '../core/folder-lock.ts';

const rebuild = (data: string, ...args: string[]) =>
  run([process.execPath, path.join(import.meta.dirname, 'rebuild.ts'), ...args], {
    env: { PATH: process.env['PATH'], OFFHOOK_DATA: data },
  });
const RANGE = ['--from', '2026-11-01', '--to', '2026-12-31T00:00:00Z'];

test('rebuild command - tells a range anew; refuses a running service, an empty folder and no range', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('internal-answered'), ...recorded('queue-abandoned'));
  const result = await rebuild(scene.folder, ...RANGE);
  assert.equal(result.code, 0, result.stderr);
  assert.match(result.stdout, /2 of 2 conversations rebuilt in .* s; \d of them changed/);
  for (const wrong of [[], ['--from', 'yesterday', '--to', '2026-12-01'], [...RANGE].reverse()]) {
    assert.ok([1, 2].includes((await rebuild(scene.folder, ...wrong)).code ?? 0), wrong.join(' '));
  }
  const lock = lockFolder(scene.folder);
  const refused = await rebuild(scene.folder, ...RANGE);
  lock.release();
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /another Offhook \(process \d+\) uses .* stop that one/);
  const none = await rebuild(path.join(scene.folder, 'nowhere'), ...RANGE);
  assert.match(none.stderr, /there is no site in/);
});
