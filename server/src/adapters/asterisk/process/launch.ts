import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { processStart } from '../../../core/folder-lock.ts';
import type { Clock } from '../../../ports/clock.ts';
import { asteriskConf } from '../conf/instance.ts';
import type { AsteriskProgram, Instance } from '../conf/instance.ts';
import { consoleFile, openConsole } from './console-log.ts';
import { engineCommand } from './control.ts';
import { FOREGROUND, lives } from './living.ts';
import type { Living } from './living.ts';
import { makeRunDir } from './run-dir.ts';

export interface Ended {
  /** For people: `exit code 1`, `signal SIGKILL`, or that it disappeared. */
  readonly how: string;
}
export interface Launched {
  readonly living: Living;
  readonly ended: Promise<Ended>;
  /** Offset in the console file of the lines of this run. */
  readonly from: number;
}

/** Environment of the engine: without the service's own settings. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
  return Object.fromEntries(kept.flatMap((key) => (process.env[key] ? [[key, process.env[key]]] : [])));
}

/** Starts a program in a session of its own, so that neither Ctrl-C nor the end of this service reaches it. */
export async function launchKept(
  command: readonly string[],
  marks: readonly string[],
  { cwd, console }: { readonly cwd: string; readonly console: string },
): Promise<Launched> {
  const [program = '', ...leading] = command;
  const { fd, from } = openConsole(console);
  try {
    const child = spawn(program, [...leading, ...marks], {
      cwd,
      env: plainEnvironment(),
      detached: true,
      stdio: ['ignore', fd, fd],
    });
    const ended = new Promise<Ended>((resolve) => {
      child.once('exit', (code, signal) =>
        resolve({ how: signal ? `signal ${signal}` : `exit code ${code}` }),
      );
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    const pid = child.pid!;
    return { living: { pid, start: processStart(pid) ?? '', command }, ended, from };
  } finally {
    fs.closeSync(fd);
  }
}
export function launch(program: AsteriskProgram, instance: Instance): Promise<Launched> {
  makeRunDir(instance.run_dir);
  const at = { cwd: instance.folder, console: consoleFile(instance) };
  return launchKept(program.command, ['-C', asteriskConf(instance), ...FOREGROUND], at);
}

/** Resolves true when the engine reports that it has booted, false when it ended first. */
export async function untilBooted(
  { living, ended }: Launched,
  engine: { readonly program: AsteriskProgram; readonly instance: Instance; readonly clock: Clock },
  signal: AbortSignal,
): Promise<boolean> {
  const { program, instance, clock } = engine;
  let dead = false;
  void ended.then(() => (dead = true));
  const socket = path.join(instance.run_dir, 'asterisk.ctl');
  while (!dead && lives(living)) {
    if (fs.existsSync(socket)) {
      const answer = await engineCommand(program, instance, 'core waitfullybooted', {
        timeout_ms: 60_000,
        signal,
      }).catch(() => null);
      signal.throwIfAborted();
      if (answer?.stdout.includes('fully booted')) return true;
    }
    await clock.sleep(50, signal);
  }
  return false;
}
