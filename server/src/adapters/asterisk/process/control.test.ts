import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { realProgram, testInstance } from '../../../../test/support/engine-instance.ts';
import { PATIENCE_MS } from '../../../../test/support/until.ts';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import { consoleText } from '../console-text.ts';
import { etcDir } from '../conf/instance.ts';
import { managerConf } from '../conf/manager-files.ts';
import { engineCommand } from './control.ts';
import { EngineProcess } from './supervise.ts';

const STEPS = 1_000;

test('engine console - a reply is whole by both ways, however late this process reads it', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program, ['load => pbx_config.so']);
  const steps = Array.from({ length: STEPS }, (_, i) => `exten => 1,${i + 1},Hangup()`);
  fs.writeFileSync(path.join(etcDir(instance), 'extensions.conf'), `[long]\n${steps.join('\n')}\n`);
  fs.writeFileSync(path.join(etcDir(instance), 'manager.conf'), managerConf(instance));
  await using engine = new EngineProcess({ program, instance, log: silent, clock: systemClock });
  engine.start();
  await engine.up(AbortSignal.timeout(PATIENCE_MS));

  // A busy process: its event loop turns twice a second.
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const busy = setInterval(() => void Atomics.wait(cell, 0, 0, 500), 1);
  try {
    const { stdout } = await engineCommand(program, instance, 'dialplan show long');
    assert.equal(stdout.match(/Hangup\(\)/g)?.length, STEPS);
    const print = (command: string): Promise<string> =>
      consoleText(instance, command, { clock: systemClock, log: silent });
    assert.deepEqual((await print('dialplan show long')).trimEnd().split('\n'), stdout.trimEnd().split('\n'));
    assert.match(await print('no such command'), /^No such command 'no such command'/);
  } finally {
    clearInterval(busy);
  }
});
