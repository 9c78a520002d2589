import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { run } from '../adapters/asterisk/provision/run.ts';
import { EngineProcess } from '../adapters/asterisk/process/supervise.ts';
import { realProgram, temporary, testInstance } from '../../test/support/engine-instance.ts';
import { PATIENCE_MS } from '../../test/support/until.ts';
import { systemClock } from '../core/clock.ts';
import { silent } from '../core/log.ts';

const ask = (data: string, ...args: string[]) =>
  run([process.execPath, path.join(import.meta.dirname, 'engine-cli.ts'), ...args], {
    env: { ...process.env, OFFHOOK_DATA: data },
  });

test('engine command - it prints what this site’s own engine answers', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  await using engine = new EngineProcess({ program, instance, log: silent, clock: systemClock });
  engine.start();
  await engine.up(AbortSignal.timeout(PATIENCE_MS));
  const data = path.dirname(instance.folder);
  const answered = await ask(data, 'core show version');
  assert.equal(answered.code, 0, answered.stderr);
  assert.match(answered.stdout, new RegExp(`^Asterisk ${program.version.replaceAll('.', '\\.')}`));
  assert.equal((await ask(data, 'core', 'show', 'version')).stdout, answered.stdout);
  const canary = path.join(instance.folder, 'canary');
  assert.match((await ask(data, `x; touch ${canary}`)).stdout, /No such command/);
  assert.ok(!fs.existsSync(canary));
});

test('engine command - without an engine of this site it fails and says what to do', async (t) => {
  const data = temporary(t);
  const none = await ask(data, 'core show version');
  assert.equal(none.code, 1);
  assert.equal(none.stdout, '');
  assert.match(none.stderr, /No engine of this site runs.*npm start/);
  assert.ok(none.stderr.includes(data));
  assert.deepEqual(fs.readdirSync(data), [], 'asking makes nothing');
  assert.equal((await ask(data)).code, 2);
});
