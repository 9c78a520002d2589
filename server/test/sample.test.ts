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
/** Of the processor: the time on the clock is that of a machine which does other work as well. */
const MOST_MS = 10_000;
const PRINT_USAGE =
  'data:text/javascript,process.on("exit",()=>console.error(JSON.stringify(process.cpuUsage())))';

test('sample - the tests of an integration run on the packed SDK and simulator in less than ten seconds', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-sample-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.cpSync(SAMPLE, folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const packages = [packSdk(folder), await packSimulator(folder)];
  const run = promisify(execFile);
  const install = ['install', '--offline', '--no-audit', '--no-fund', ...packages];
  await run('npm', install, { cwd: folder });
  const began = performance.now();
  // As a program of its own, not as a part of the test run that starts it.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--no-experimental-strip-types', '--import', PRINT_USAGE, '--test', '--test-isolation=none'];
  const { stdout, stderr } = await run(process.execPath, [...args, '--test-reporter=tap'], {
    cwd: folder,
    env,
  }).catch((error: { stdout: string }) => assert.fail(error.stdout));
  const ms = Math.round(performance.now() - began);
  const { user, system } = JSON.parse(stderr) as NodeJS.CpuUsage;
  assert.match(stdout, /^# pass 5$/m, stdout);
  const worked = Math.round((user + system) / 1000);
  t.diagnostic(`${ms} ms, ${worked} ms of the processor`);
  assert.ok(worked < MOST_MS, `${worked} ms`);
});
