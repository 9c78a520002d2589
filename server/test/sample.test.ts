import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { packSdk } from '../../scripts/pack-sdk.ts';
import { packSimulator } from '../../scripts/pack-simulator.ts';

const SAMPLE = path.resolve(import.meta.dirname, '../../client/sample');
test('sample - the tests of an integration run on the packed SDK and simulator', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-sample-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.cpSync(SAMPLE, folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const packages = [packSdk(folder), await packSimulator(folder)];
  const run = promisify(execFile);
  const install = ['install', '--offline', '--no-audit', '--no-fund', ...packages];
  await run('npm', install, { cwd: folder });
  // As a program of its own, not as a part of the test run that starts it.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--no-experimental-strip-types', '--test', '--test-isolation=none', '--test-reporter=tap'];
  const { stdout } = await run(process.execPath, args, { cwd: folder, env }).catch(
    (error: { stdout: string }) => assert.fail(error.stdout),
  );
  assert.match(stdout, /^# pass 5$/m, stdout);
});
