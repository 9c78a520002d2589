import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Backoff } from '../../../core/backoff.ts';
import { messageOf } from '../../../core/errors.ts';
import { processStart } from '../../../core/folder-lock.ts';
import type { Log } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import { asteriskConf } from '../instance.ts';
import type { AsteriskProgram, Instance } from '../instance.ts';
import { consoleFile, consoleTail, openConsole, trimConsole } from './console-log.ts';
import { engineCommand } from './control.ts';
import { findLiving, FOREGROUND, lives, noteLiving } from './living.ts';
import type { Living } from './living.ts';
import { makeRunDir } from './run-dir.ts';

/*
 * stopped ──start()──> starting ──booted──> running ──┐
 *    ^                    ^  │                         ├─ it ends ─> backoff ──(0.5 s … 30 s)──> starting
 *    │                    │  └──── ends at once ───────┘                ^
 *    └── stop() from any state      adopted (was there already) ────────┘
 */
export type EngineState = 'stopped' | 'starting' | 'running' | 'backoff' | 'adopted';
export interface EngineProcessStatus {
  readonly state: EngineState;
  readonly pid: number | null;
  /** Start of this state, milliseconds since 1970. */
  readonly since: number;
  /** Number of restarts since `start()`. */
  readonly restarts: number;
  /** Why it last ended or did not start, with its last lines; null without a failure. */
  readonly last_error: string | null;
}
export interface StopOptions {
  /** Waits for the calls in progress first (`core stop gracefully`), at most `patience_ms`. */
  readonly graceful?: boolean;
  readonly patience_ms?: number;
}
export interface EngineProcess extends AsyncDisposable {
  /** Starts supervision: adopts a running engine, else starts one. Never throws; see `status()`. */
  start(): void;
  status(): EngineProcessStatus;
  /** The present status, then every change, until the signal aborts. A slow reader misses the oldest. */
  changes(signal: AbortSignal): AsyncIterable<EngineProcessStatus>;
  /** Resolves when it was started or adopted; rejects when it ended or failed first, or with the signal's reason. */
  up(signal?: AbortSignal): Promise<EngineProcessStatus>;
  /** Ends supervision and the engine, by its own command, then SIGTERM, then SIGKILL. Resolves when it has ended. */
  stop(options?: StopOptions): Promise<void>;
  /** Ends supervision and leaves the engine and its calls to the next service. */
  release(): Promise<void>;
}
export interface SuperviseOptions {
  readonly program: AsteriskProgram;
  readonly instance: Instance;
  readonly log: Log;
  readonly clock: Clock;
  /** Aborting is the same as `release()`: the engine continues. */
  readonly signal?: AbortSignal;
  /**
   * Called before each start; returns the program to start, e.g. of newer packages. `trial`: the program has not run here
   * before.
   */
  readonly choose?: () => Promise<{ readonly program: AsteriskProgram; readonly trial: boolean }>;
  /** Called after each start; `why` is the reason of a failed boot, null after a successful one. */
  readonly tried?: (program: AsteriskProgram, why: string | null) => Promise<void>;
  /** Boot timeout of a program on trial, in ms; 2 min by default. */
  readonly trial_ms?: number;
  /** 0 to below 1, for the jitter of the waits. */
  readonly random?: () => number;
}

/** Spread by a quarter so that many sites do not act as one. */
const BACKOFF = { first_ms: 500, most_ms: 30_000, spread: [0.75, 1.25] } as const;
/** Life of an engine after which the next failure counts as the first. */
const STEADY_MS = 60_000;
const POLL_MS = 250;
const STOP_MS = { command: 3_000, ends: 8_000, term: 4_000, kill: 4_000, patience: 30 * 60_000 };
const QUEUE = 64;
const TRIAL_MS = 120_000;

/** Environment of the engine: without the service's own settings. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
  return Object.fromEntries(kept.flatMap((key) => (process.env[key] ? [[key, process.env[key]]] : [])));
}

interface Ended {
  /** For people: `exit code 1`, `signal SIGKILL`, or that it disappeared. */
  readonly how: string;
}

export function superviseEngine(options: SuperviseOptions): EngineProcess {
  const { instance, clock } = options;
  let { program } = options;
  let trial = false;
  const log = options.log.child({ part: 'engine-process' });
  const random = options.random ?? Math.random;
  const over = new AbortController();
  const readers = new Set<(status: EngineProcessStatus) => void>();
  let status: EngineProcessStatus = {
    state: 'stopped',
    pid: null,
    since: clock.now(),
    restarts: 0,
    last_error: null,
  };
  let living: Living | null = null;
  let loop: Promise<void> | null = null;

  const become = (state: EngineState, more: Partial<EngineProcessStatus> = {}): void => {
    status = { ...status, pid: living?.pid ?? null, ...more, state, since: clock.now() };
    for (const reader of readers) reader(status);
  };

  /** A failed write is only logged: on a full disk the engine's own pid file still leads to the process. */
  function note(born: Living): void {
    try {
      noteLiving(instance, born);
    } catch (error) {
      log.warn({ pid: born.pid, error: messageOf(error) }, 'the process of the engine could not be noted');
    }
  }

  /** Starts the engine in a session of its own, so that neither Ctrl-C nor the end of this service reaches it. */
  async function launch(): Promise<{ living: Living; ended: Promise<Ended>; from: number }> {
    if (options.choose) ({ program, trial } = await options.choose());
    makeRunDir(instance.run_dir);
    const [command = '', ...leading] = program.command;
    const { fd, from } = openConsole(instance);
    try {
      const child = spawn(command, [...leading, '-C', asteriskConf(instance), ...FOREGROUND], {
        cwd: instance.folder,
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
      const born: Living = { pid, start: processStart(pid) ?? '', command: program.command };
      note(born);
      return { living: born, ended, from };
    } finally {
      fs.closeSync(fd);
    }
  }

  /** An adopted engine is not our child process, so its end is polled. */
  async function gone(adopted: Living): Promise<Ended> {
    while (lives(adopted)) await clock.sleep(POLL_MS, over.signal);
    return { how: 'it is gone' };
  }

  /** Resolves true when the engine reports that it has booted, false when it ended first. */
  async function booted(born: Living, ended: Promise<Ended>): Promise<boolean> {
    let dead = false;
    void ended.then(() => (dead = true));
    const socket = path.join(instance.run_dir, 'asterisk.ctl');
    while (!dead && lives(born)) {
      if (fs.existsSync(socket)) {
        const answer = await engineCommand(program, instance, 'core waitfullybooted', {
          timeout_ms: 60_000,
          signal: over.signal,
        }).catch(() => null);
        over.signal.throwIfAborted();
        if (answer?.stdout.includes('fully booted')) return true;
      }
      await clock.sleep(50, over.signal);
    }
    return false;
  }

  /** As `booted`; kills a program on trial that hangs, so that the previous one can start. */
  async function bootedInTime(born: Living, ended: Promise<Ended>): Promise<boolean> {
    if (!trial) return await booted(born, ended);
    const late = new AbortController();
    const patience = clock
      .sleep(options.trial_ms ?? TRIAL_MS, AbortSignal.any([late.signal, over.signal]))
      .then(() => signalTo(born, 'SIGKILL'))
      .catch(() => undefined);
    try {
      return await booted(born, ended);
    } finally {
      late.abort();
      await patience;
    }
  }
  async function tried(why: string | null): Promise<void> {
    await options.tried?.(program, why).catch((error: unknown) => {
      log.error({ error: messageOf(error) }, 'whether the engine’s program started could not be noted');
    });
  }

  async function trimNowAndThen(life: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(60_000, life);
      trimConsole(instance);
    }
  }

  /** One run of the engine, from start or adoption to its end; resolves with its duration and the reason of its end. */
  async function live(restarts: number): Promise<{ up_ms: number; why: string; booted: boolean }> {
    const found = findLiving(instance);
    let ended: Promise<Ended>;
    let from = 0;
    let upSince: number | null = null;
    if (found) {
      living = found;
      ended = gone(found);
      from = fs.statSync(consoleFile(instance), { throwIfNoEntry: false })?.size ?? 0;
      note(found);
      upSince = clock.now();
      become('adopted');
      log.info({ pid: found.pid }, 'a living engine was adopted');
    } else {
      living = null;
      become('starting', { restarts });
      const launched = await launch();
      living = launched.living;
      ({ ended, from } = launched);
      become('starting');
      log.info({ pid: living.pid, version: program.version }, 'the engine was started');
      if (await bootedInTime(living, ended)) {
        upSince = clock.now();
        become('running', { last_error: null });
        log.info({ pid: living.pid }, 'the engine has booted');
        await tried(null);
      }
    }
    const life = new AbortController();
    void trimNowAndThen(AbortSignal.any([life.signal, over.signal])).catch(() => undefined);
    try {
      const { how } = await untilOver(ended);
      const tail = consoleTail(instance, from);
      const told = tail.length > 0 ? `; its last lines:\n${tail.join('\n')}` : '';
      const what = upSince === null ? 'did not boot' : 'ended';
      return {
        up_ms: upSince === null ? 0 : clock.now() - upSince,
        booted: upSince !== null,
        why: `the engine ${what} (${how})${told}`,
      };
    } finally {
      life.abort();
    }
  }

  /** As the promise, but rejects once supervision is over. */
  function untilOver<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(over.signal.reason as Error);
      if (over.signal.aborted) abort();
      over.signal.addEventListener('abort', abort, { once: true });
      promise.then(resolve, reject).finally(() => over.signal.removeEventListener('abort', abort));
    });
  }

  async function keep(): Promise<void> {
    const backoff = new Backoff({ ...BACKOFF, random });
    for (let restarts = 0; ; restarts++) {
      let why: string;
      try {
        const life = await live(restarts);
        why = life.why;
        if (!life.booted) await tried(why);
        if (life.up_ms >= STEADY_MS) backoff.reset();
      } catch (error) {
        if (over.signal.aborted) return;
        why = `the engine cannot be started: ${messageOf(error)}`;
        await tried(why);
      }
      living = null;
      const pause = backoff.next();
      log.error({ why, next_try_ms: pause }, 'the engine is not running; it is started again');
      become('backoff', { last_error: why });
      await clock.sleep(pause, over.signal);
    }
  }

  async function release(): Promise<void> {
    over.abort(new Error('supervision of the engine is over'));
    await loop?.catch(() => undefined);
  }
  options.signal?.addEventListener('abort', () => void release(), { once: true });

  async function goneWithin(target: Living, ms: number): Promise<boolean> {
    const deadline = clock.now() + ms;
    while (lives(target)) {
      if (clock.now() >= deadline) return false;
      await clock.sleep(25);
    }
    return true;
  }
  const signalTo = (target: Living, signal: NodeJS.Signals): void => {
    try {
      // Checked again right before: the pid alone could belong to another process.
      if (lives(target)) process.kill(target.pid, signal);
    } catch {
      // It ended by itself meanwhile.
    }
  };

  async function end(target: Living, stopping: StopOptions): Promise<void> {
    const command = async (text: string): Promise<boolean> =>
      await engineCommand({ command: target.command }, instance, text, { timeout_ms: STOP_MS.command }).then(
        () => true,
        () => false,
      );
    if (stopping.graceful && (await command('core stop gracefully'))) {
      if (await goneWithin(target, stopping.patience_ms ?? STOP_MS.patience)) return;
    }
    if ((await command('core stop now')) && (await goneWithin(target, STOP_MS.ends))) return;
    signalTo(target, 'SIGTERM');
    if (await goneWithin(target, STOP_MS.term)) return;
    log.warn({ pid: target.pid }, 'the engine did not stop in time and is killed');
    signalTo(target, 'SIGKILL');
    if (!(await goneWithin(target, STOP_MS.kill)))
      throw new Error(`engine process ${target.pid} cannot be ended`);
  }

  async function stop(stopping: StopOptions = {}): Promise<void> {
    await release();
    const target = findLiving(instance) ?? (living && lives(living) ? living : null);
    if (target) await end(target, stopping);
    living = null;
    become('stopped');
  }

  async function* changes(signal: AbortSignal): AsyncGenerator<EngineProcessStatus> {
    const waiting: EngineProcessStatus[] = [status];
    let wake: () => void = () => undefined;
    const read = (next: EngineProcessStatus): void => {
      waiting.push(next);
      if (waiting.length > QUEUE) waiting.shift();
      wake();
    };
    const abort = (): void => wake();
    readers.add(read);
    signal.addEventListener('abort', abort, { once: true });
    try {
      while (!signal.aborted) {
        const next = waiting.shift();
        if (next) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      readers.delete(read);
      signal.removeEventListener('abort', abort);
    }
  }

  async function up(signal?: AbortSignal): Promise<EngineProcessStatus> {
    const watching = signal ?? new AbortController().signal;
    for await (const now of changes(watching)) {
      if (now.state === 'running' || now.state === 'adopted') return now;
      if (now.state === 'backoff' || (now.state === 'stopped' && over.signal.aborted)) {
        throw new Error(now.last_error ?? 'the engine is stopped');
      }
    }
    throw watching.reason as Error;
  }

  return {
    start() {
      if (over.signal.aborted || options.signal?.aborted) return;
      loop ??= keep().catch((error: unknown) => {
        if (!over.signal.aborted) log.error({ error: messageOf(error) }, 'supervision of the engine failed');
      });
    },
    status: () => status,
    changes,
    up,
    stop,
    release,
    [Symbol.asyncDispose]: () => stop(),
  };
}
