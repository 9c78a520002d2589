import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { packSimulator } from '../../../scripts/pack-simulator.ts';
import type * as declared from '../../../scripts/simulator.d.ts';
import { createSimulator } from './simulator.ts';

/** The types of the package are written by hand: these hold only where they are the module's own. */
const asDeclared: typeof declared.createSimulator = createSimulator;
const asOwn: typeof createSimulator = asDeclared;

const PROGRAM = `
import { createSimulator } from '@offhook/simulator';
const simulators = await Promise.all([createSimulator(), createSimulator()]);
for (const { base, key, play } of simulators.map((one) => ({ ...one, base: one.base, key: one.key, play: (s) => one.play(s) }))) {
  const { calls } = await play('inbound answered');
  const headers = { authorization: 'Bearer ' + key };
  const reply = await (await fetch(base + '/api/v1/conversations', { headers })).json();
  console.log(calls.length, reply.conversations.length, new URL(base).port);
}
await Promise.all(simulators.map((one) => one.close()));
`;

test('simulator - the types of the package are those of its module', () => {
  assert.equal(asOwn, createSimulator);
});

test('simulator - packed it installs offline and runs in plain Node, as a program and in a test', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-consumer-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const tarball = await packSimulator(folder);
  const write = (name: string, text: string): void => fs.writeFileSync(path.join(folder, name), text);
  write('package.json', JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  const run = promisify(execFile);
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: folder });
  write('program.js', PROGRAM);
  const plain = '--no-experimental-strip-types';
  const { stdout } = await run(process.execPath, [plain, 'program.js'], { cwd: folder, timeout: 60_000 });
  const [first, second] = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  assert.deepEqual(
    [first?.slice(0, 2), second?.slice(0, 2)],
    [
      ['1', '1'],
      ['1', '1'],
    ],
  );
  assert.notEqual(first?.[2], second?.[2]);

  const bin = path.join(folder, 'node_modules/.bin/simulator');
  assert.ok(fs.statSync(bin).mode & 0o100, 'npx needs a file that can be run');
  const program = spawn(process.execPath, [plain, bin, '--port', '0'], { cwd: folder });
  t.after(() => program.kill('SIGKILL'));
  const [line] = (await once(program.stdout, 'data')) as [Buffer];
  const { base, key, users } = JSON.parse(line.toString('utf8')) as {
    base: string;
    key: string;
    users: unknown[];
  };
  assert.equal(users.length, 12);
  const contacts = await fetch(`${base}/api/v1/calls`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(contacts.status, 200);
  const exit = once(program, 'exit');
  program.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);

  const older = 'Object.defineProperty(process, "versions", { value: { node: "20.1.0" } })';
  const refused = run(process.execPath, ['--import', `data:text/javascript,${older}`, bin], { cwd: folder });
  await assert.rejects(refused, { code: 1, stderr: /needs Node 24 or later; this is 20\.1\.0/ });
});
