import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../../../core/clock.ts';
import { ServiceError } from '../../../core/errors.ts';
import { silent } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import { asteriskConf } from '../conf/instance.ts';
import type { AsteriskProgram, Instance } from '../conf/instance.ts';
import { engineCommand } from './control.ts';
import { engineAt, findLiving } from './living.ts';
import { BOOT_MS, EngineProcess } from './supervise.ts';
import type { EngineProcessStatus } from './status.ts';
import {
  configure,
  fakeProgram,
  realProgram,
  temporary,
  testInstance,
} from '../../../../test/support/engine-instance.ts';
import { freeze } from '../../../../test/support/steps.ts';
import { PATIENCE_MS, until } from '../../../../test/support/until.ts';

/** Runs; one that ended but was not yet collected by its parent does not. */
const exists = (pid: number): boolean => {
  try {
    return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};
/** Waits longer than a third of a second are noted and cut short, but for the limit of a boot. */
function hastyClock(): Clock & { readonly waits: number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: systemClock.now,
    sleep(ms, signal) {
      if (ms === BOOT_MS) return systemClock.sleep(ms, signal);
      if (ms > 300) waits.push(ms);
      return systemClock.sleep(Math.min(ms, 20), signal);
    },
  };
}
function supervise(
  t: TestContext,
  program: AsteriskProgram,
  instance: Instance,
  clock: Clock = systemClock,
): EngineProcess {
  const engine = new EngineProcess({ program, instance, clock, log: silent, random: () => 0.5 });
  t.after(() => engine.release());
  return engine;
}
const soon = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS);

test('engine process - it boots, answers its console, and stop ends it cleanly', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  const seen: EngineProcessStatus[] = [];
  const engine = supervise(t, program, instance);
  assert.equal(engine.status().state, 'stopped');
  const watching = new AbortController();
  const watched = (async () => {
    for await (const status of engine.changes(watching.signal)) seen.push(status);
  })();
  engine.start();
  const up = await engine.up(soon());
  assert.equal(up.state, 'running');
  assert.ok(exists(up.pid!));
  // On a busy machine the engine said once that it was fully booted and did not have this command yet.
  await until('its version', async () => {
    const { stdout } = await engineCommand(program, instance, 'core show version');
    return stdout.startsWith(`Asterisk ${program.version}`);
  });
  await engine.stop();
  assert.ok(!exists(up.pid!));
  assert.equal(engine.status().state, 'stopped');
  assert.equal(engine.status().pid, null);
  watching.abort();
  await watched;
  assert.deepEqual([...new Set(seen.map((s) => s.state))], ['stopped', 'starting', 'running']);
  assert.equal(seen.at(-1)?.state, 'stopped');
  await assert.rejects(engineCommand(program, instance, 'core show version'), (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, 'engine_unavailable');
    return true;
  });
});

test('engine process - an engine that was killed is started again', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  await using engine = supervise(t, program, instance);
  engine.start();
  const first = await engine.up(soon());
  process.kill(first.pid!, 'SIGKILL');
  await until('the end of the engine to be seen', () => engine.status().state === 'backoff', { every: 10 });
  assert.match(engine.status().last_error ?? '', /ended \(signal SIGKILL\)/);
  await until('the next engine', () => engine.status().state === 'running', { every: 10 });
  const second = engine.status();
  assert.notEqual(second.pid, first.pid);
  assert.equal(second.restarts, 1);
});

const SERVICE = `
import { EngineProcess } from ${JSON.stringify(path.join(import.meta.dirname, 'supervise.ts'))};
import { systemClock } from ${JSON.stringify(path.join(import.meta.dirname, '../../../core/clock.ts'))};
import { silent } from ${JSON.stringify(path.join(import.meta.dirname, '../../../core/log.ts'))};
const engine = new EngineProcess({ ...JSON.parse(process.argv[1]), log: silent, clock: systemClock });
engine.start();
console.log(JSON.stringify(await engine.up()));
`;

test('engine process - a service killed with -9 leaves the engine, and the next one adopts it and can stop it', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  const service = spawn(
    process.execPath,
    ['--input-type=module-typescript', '-e', SERVICE, JSON.stringify({ program, instance })],
    { stdio: ['ignore', 'pipe', 'inherit'], detached: true },
  );
  const [line] = (await once(service.stdout, 'data')) as [Buffer];
  const { pid } = JSON.parse(line.toString()) as { pid: number };
  // The whole process group, as a terminal or a test harness would.
  process.kill(-service.pid!, 'SIGKILL');
  await once(service, 'exit');
  assert.ok(exists(pid), 'the engine lives on');
  const next = supervise(t, program, instance);
  next.start();
  const adopted = await next.up(soon());
  assert.equal(adopted.state, 'adopted');
  assert.equal(adopted.pid, pid);
  assert.equal(adopted.restarts, 0);
  await next.release();
  assert.ok(exists(pid), 'release leaves it too');

  // Without the note of the service before (killed before it wrote it), Asterisk's own pid file does.
  fs.rmSync(path.join(instance.folder, 'process.json'));
  const third = supervise(t, program, instance);
  third.start();
  assert.equal((await third.up(soon())).pid, pid);
  process.kill(pid, 'SIGKILL');
  await until('an adopted engine that ended to be replaced', () => third.status().state === 'running', {
    every: 10,
  });
  assert.notEqual(third.status().pid, pid);
  await third.stop();
  assert.equal(findLiving(instance), null);
});

test('engine process - a living engine is adopted though nothing can be written, as on a full disk', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  const first = supervise(t, program, instance);
  first.start();
  const { pid } = await first.up(soon());
  await first.release();
  // Makes the write of the note fail for every user, as a full disk does.
  fs.mkdirSync(path.join(instance.folder, 'process.json.new'));
  const second = supervise(t, program, instance);
  second.start();
  const adopted = await second.up(soon());
  assert.deepEqual([adopted.state, adopted.pid], ['adopted', pid]);
  await second.stop();
});

test('engine process - neither a recycled pid nor a console nor another instance is taken for the engine', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  const other = await testInstance(t, program);
  await using engine = supervise(t, program, other);
  engine.start();
  const { pid } = await engine.up(soon());
  assert.equal(findLiving(other)?.pid, pid);
  const note = (content: object): void =>
    fs.writeFileSync(path.join(instance.folder, 'process.json'), JSON.stringify(content));
  const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  for (const stranger of [process.pid, pid!, 999_999_999]) {
    note({ pid: stranger, start: '1', boot });
    fs.writeFileSync(path.join(instance.run_dir, 'asterisk.pid'), String(stranger));
    assert.equal(findLiving(instance), null, `pid ${stranger}`);
  }
  const console = spawn(process.execPath, [
    '-e',
    'setTimeout(()=>{},60000)',
    '--',
    '-C',
    asteriskConf(instance),
    '-rx',
    'x',
  ]);
  await once(console, 'spawn');
  assert.equal(engineAt(instance, console.pid!), null);
  console.kill('SIGKILL');
  // The same pid at another start time is another life of it.
  const own = JSON.parse(fs.readFileSync(path.join(other.folder, 'process.json'), 'utf8')) as {
    start: string;
  };
  fs.writeFileSync(path.join(other.folder, 'process.json'), JSON.stringify({ ...own, start: '1' }));
  fs.rmSync(path.join(other.run_dir, 'asterisk.pid'));
  assert.equal(findLiving(other), null);
  fs.writeFileSync(path.join(other.folder, 'process.json'), JSON.stringify(own));
});

test('engine process - a broken configuration is reported with its last lines and tried again', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program, ['require = nonsense.so']);
  const clock = hastyClock();
  await using engine = supervise(t, program, instance, clock);
  engine.start();
  await assert.rejects(engine.up(soon()), /did not boot \(exit code \d+\)[^]*nonsense\.so/);
  const { state, last_error, pid } = engine.status();
  assert.equal(state, 'backoff');
  assert.equal(pid, null);
  assert.match(last_error ?? '', /nonsense\.so/);
  configure(instance, program);
  await until('the engine once its configuration is whole', () => engine.status().state === 'running', {
    every: 10,
  });
});

test('engine process - one that ends at once again and again is waited for longer and longer', async (t) => {
  const folder = temporary(t);
  const program = fakeProgram(folder, `console.error('cannot go on'); process.exitCode = 3;`);
  const instance = await testInstance(t, program);
  const clock = hastyClock();
  await using engine = supervise(t, program, instance, clock);
  engine.start();
  await until('four waits', () => clock.waits.filter((ms) => ms < 60_000).length >= 4, { every: 10 });
  assert.deepEqual(clock.waits.filter((ms) => ms < 60_000).slice(0, 4), [500, 1000, 2000, 4000]);
  assert.match(engine.status().last_error ?? '', /exit code 3[^]*cannot go on/);
});

test('engine process - after a minute of running the waits begin anew', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  let ahead = 0;
  const hasty = hastyClock();
  const clock = { ...hasty, now: () => systemClock.now() + ahead };
  await using engine = supervise(t, program, instance, clock);
  engine.start();
  for (const expected of [500, 1000, 500]) {
    await until('a running engine', () => engine.status().state === 'running', { every: 10 });
    if (expected === 500) ahead += 61_000;
    const waits = hasty.waits.length;
    process.kill(engine.status().pid!, 'SIGKILL');
    await until('a wait', () => hasty.waits.slice(waits).some((ms) => ms < 60_000), { every: 10 });
    assert.equal(
      hasty.waits.slice(waits).find((ms) => ms < 60_000),
      expected,
    );
    await until('its restart', () => engine.status().state === 'running', { every: 10 });
  }
});

test('engine process - a program that cannot be run is reported, not thrown', async (t) => {
  const program: AsteriskProgram = { ...fakeProgram(temporary(t), ''), command: ['/nowhere/asterisk'] };
  const instance = await testInstance(t, program);
  await using engine = supervise(t, program, instance);
  engine.start();
  await assert.rejects(engine.up(soon()), /cannot be started: .*ENOENT/);
});

test('engine process - an engine that hangs while it boots is killed and started again', async (t) => {
  const hung = fakeProgram(temporary(t), `setInterval(() => {}, 1000);`);
  const said: (string | null)[] = [];
  await using engine = new EngineProcess({
    program: hung,
    instance: await testInstance(t, hung),
    log: silent,
    clock: systemClock,
    random: () => 0.5,
    boot_ms: 500,
    tried: async (_program, why) => void said.push(why),
  });
  engine.start();
  await until('the end of two', () => said.length > 1);
  for (const why of said) assert.match(why ?? '', /did not boot \(signal SIGKILL\)/);
});
test('engine process - a program on trial that ends at once, or hangs, gives way to the one before', async (t) => {
  const good = await realProgram();
  for (const [body, why, trial_ms] of [
    [`process.exitCode = 3;`, /did not boot \(exit code 3\)/, PATIENCE_MS],
    [`setInterval(() => {}, 1000);`, /did not boot \(signal SIGKILL\)/, 500],
  ] as const) {
    const bad = fakeProgram(temporary(t), body);
    const instance = await testInstance(t, good);
    const reported: (readonly [string, string | null])[] = [];
    let refused = false;
    await using engine = new EngineProcess({
      program: bad,
      instance,
      log: silent,
      clock: systemClock,
      random: () => 0.5,
      trial_ms,
      choose: async () => (refused ? { program: good, trial: false } : { program: bad, trial: true }),
      async tried(program, said) {
        reported.push([program === bad ? 'bad' : 'good', said]);
        refused ||= said !== null;
      },
    });
    engine.start();
    await until('the engine of before', () => engine.status().state === 'running', { every: 10 });
    assert.deepEqual(
      reported.map(([which]) => which),
      ['bad', 'good'],
    );
    assert.match(reported[0]?.[1] ?? '', why);
    assert.equal(reported[1]?.[1], null);
    await engine.stop();
  }
});

test('engine process - one that hears neither its console nor SIGTERM is killed', async (t) => {
  const folder = temporary(t);
  const program = fakeProgram(
    folder,
    `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('deaf');`,
  );
  const instance = await testInstance(t, program);
  const clock = { now: () => systemClock.now() * 20, sleep: systemClock.sleep };
  const engine = supervise(t, program, instance, clock);
  engine.start();
  const log = path.join(instance.folder, 'log', 'console.log');
  await until('the deaf program', () => fs.existsSync(log) && fs.readFileSync(log, 'utf8').includes('deaf'), {
    every: 10,
  });
  const { pid } = engine.status();
  await engine.stop();
  assert.ok(!exists(pid!));
});

test('engine process - a frozen engine (SIGSTOP) is not restarted, and stop still ends it', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  const clock = { now: () => systemClock.now() * 10, sleep: systemClock.sleep };
  const engine = supervise(t, program, instance, clock);
  engine.start();
  const { pid } = await engine.up(soon());
  await freeze(pid!);
  await assert.rejects(
    engineCommand(program, instance, 'core show uptime', { timeout_ms: 200 }),
    /did not answer within/,
  );
  assert.equal(engine.status().state, 'running');
  await engine.stop();
  assert.ok(!exists(pid!));
});

test('engine process - a stop while it boots leaves nothing behind', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  const engine = supervise(t, program, instance);
  engine.start();
  await until('a pid', () => engine.status().pid !== null, { every: 10 });
  const { pid } = engine.status();
  await engine.stop();
  assert.ok(!exists(pid!));
  await assert.rejects(engine.up(soon()), /stopped/);
});

test('engine process - a console command is one argument and one line', async (t) => {
  const program = await realProgram();
  const instance = await testInstance(t, program);
  await using engine = supervise(t, program, instance);
  engine.start();
  await engine.up(soon());
  const canary = path.join(instance.folder, 'canary');
  const { stdout } = await engineCommand(program, instance, `nothing; touch ${canary} $(touch ${canary})`);
  assert.match(stdout, /No such command/);
  assert.ok(!fs.existsSync(canary));
  await assert.rejects(engineCommand(program, instance, 'core show uptime\ncore stop now'), /one line/);
});
