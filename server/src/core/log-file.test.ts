import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { openLog } from './log-file.ts';

test('log - a line of a part within a part names the inner one, once', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'log-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'offhook.log');
  const opened = openLog(file, 'info');
  opened.log.child({ part: 'outer', node: 'ast1' }).child({ part: 'inner' }).info({ a: 1 }, 'said');
  const line = await until('the line', () => fs.existsSync(file) && fs.readFileSync(file, 'utf8'));
  opened.close();
  assert.equal(line.match(/"part"/g)?.length, 1, line);
  const { part, node, a, msg } = JSON.parse(line) as Record<string, unknown>;
  assert.deepEqual([part, node, a, msg], ['inner', 'ast1', 1, 'said']);
});
