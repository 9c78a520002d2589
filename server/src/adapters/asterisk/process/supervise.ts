import fs from 'node:fs';
import { Backoff } from '../../../core/backoff.ts';
import { messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Common } from '../../../ports/common.ts';
import type { AsteriskProgram, Instance } from '../conf/instance.ts';
import { consoleFile, consoleTail, trimConsole } from './console-log.ts';
import { linkData } from '../sounds/data-folder.ts';
import { endEngine, signalTo } from './end.ts';
import { launch, untilBooted } from './launch.ts';
import type { Ended, Launched } from './launch.ts';
import { findLiving, lives, noteLiving } from './living.ts';
import type { Living } from './living.ts';
import { ProcessStatus } from './status.ts';
import type { EngineProcessStatus, EngineState } from './status.ts';

export interface SuperviseOptions extends Common<'clock' | 'log'> {
  readonly program: AsteriskProgram;
  readonly instance: Instance;
  /**
   * Called before each start; returns the program to start, e.g. of newer packages. `trial`: the program has not run here
   * before.
   */
  readonly choose?: () => Promise<{ readonly program: AsteriskProgram; readonly trial: boolean }>;
  /** Called after each start; `why` is the reason of a failed boot, null after a successful one. */
  readonly tried?: (program: AsteriskProgram, why: string | null) => Promise<void>;
  /** Boot timeout of a program on trial, in ms; 2 min by default. */
  readonly trial_ms?: number;
  /** Boot time of every other program; 10 min by default. */
  readonly boot_ms?: number;
  /** 0 to below 1, for the jitter of the waits. */
  readonly random?: () => number;
}

/** Spread by a quarter so that many sites do not act as one. */
const BACKOFF = { first_ms: 500, most_ms: 30_000, spread: [0.75, 1.25] } as const;
/** Life of an engine after which the next failure counts as the first. */
const STEADY_MS = 60_000;
const POLL_MS = 250;
const TRIM_MS = 60_000;
const TRIAL_MS = 120_000;
/** Chosen far beyond every boot that was seen: an engine that takes longer hangs. */
export const BOOT_MS = 600_000;

/** A run of the engine that this service watches; `upSince` is null until it has booted. */
interface Run extends Launched {
  readonly upSince: number | null;
}

/** The engine's process: adopted or started, and started again whenever it ends, until `stop` or `release`. */
export class EngineProcess implements AsyncDisposable {
  readonly #options: SuperviseOptions;
  readonly #instance: Instance;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #over = new AbortController();
  readonly #status: ProcessStatus;
  #program: AsteriskProgram;
  #trial = false;
  #living: Living | null = null;
  #loop: Promise<void> | null = null;

  constructor(options: SuperviseOptions) {
    this.#options = options;
    this.#instance = options.instance;
    this.#clock = options.clock;
    this.#log = options.log.child({ part: 'engine-process' });
    this.#status = new ProcessStatus(options.clock);
    this.#program = options.program;
  }

  /** Starts supervision: adopts a running engine, else starts one. Never throws; see `status()`. */
  start(): void {
    if (this.#over.signal.aborted) return;
    this.#loop ??= this.#keepRunning().catch((error: unknown) => {
      if (!this.#over.signal.aborted)
        this.#log.error({ error: messageOf(error) }, 'supervision of the engine failed');
    });
  }
  status(): EngineProcessStatus {
    return this.#status.now;
  }
  /** The present status, then every change, until the signal aborts. A slow reader misses the oldest. */
  changes(signal: AbortSignal): AsyncIterable<EngineProcessStatus> {
    return this.#status.changes(signal);
  }
  /** Resolves when it was started or adopted; rejects when it ended or failed first, or with the signal's reason. */
  async up(signal: AbortSignal = new AbortController().signal): Promise<EngineProcessStatus> {
    for await (const now of this.changes(signal)) {
      if (now.state === 'running' || now.state === 'adopted') return now;
      if (now.state === 'backoff' || (now.state === 'stopped' && this.#over.signal.aborted))
        throw new Error(now.last_error ?? 'the engine is stopped');
    }
    throw signal.reason as Error;
  }
  /** Ends supervision and the engine. Resolves when it has ended. */
  async stop(): Promise<void> {
    await this.release();
    const target = findLiving(this.#instance) ?? (this.#living && lives(this.#living) ? this.#living : null);
    if (target) await endEngine(target, { instance: this.#instance, clock: this.#clock, log: this.#log });
    this.#living = null;
    this.#enter('stopped');
  }
  /** Ends supervision and leaves the engine and its calls to the next service. */
  async release(): Promise<void> {
    this.#over.abort(new Error('supervision of the engine is over'));
    await this.#loop?.catch(() => undefined);
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #enter(state: EngineState, more?: Parameters<ProcessStatus['enter']>[2]): void {
    this.#status.enter(state, this.#living?.pid ?? null, more);
  }
  async #keepRunning(): Promise<void> {
    const backoff = new Backoff({ ...BACKOFF, random: this.#options.random ?? Math.random });
    for (let restarts = 0; ; restarts++) {
      let why: string;
      try {
        const life = await this.#live(restarts);
        why = life.why;
        if (!life.booted) await this.#reportTrial(why);
        if (life.up_ms >= STEADY_MS) backoff.reset();
      } catch (error) {
        if (this.#over.signal.aborted) return;
        why = `the engine cannot be started: ${messageOf(error)}`;
        await this.#reportTrial(why);
      }
      this.#living = null;
      const pause = backoff.next();
      this.#log.error({ why, next_try_ms: pause }, 'the engine is not running; restarting it');
      this.#enter('backoff', { last_error: why });
      await this.#clock.sleep(pause, this.#over.signal);
    }
  }
  /** One run of the engine, from start or adoption to its end; resolves with its duration and the reason of its end. */
  async #live(restarts: number): Promise<{ up_ms: number; why: string; booted: boolean }> {
    const found = findLiving(this.#instance);
    const { ended, from, upSince } = found ? this.#adopt(found) : await this.#boot(restarts);
    const life = new AbortController();
    void this.#trimConsole(AbortSignal.any([life.signal, this.#over.signal])).catch(() => undefined);
    try {
      const { how } = await this.#unlessOver(ended);
      const lines = consoleTail(consoleFile(this.#instance), from);
      const lastLines = lines.length > 0 ? `; its last lines:\n${lines.join('\n')}` : '';
      const what = upSince === null ? 'did not boot' : 'ended';
      return {
        up_ms: upSince === null ? 0 : this.#clock.now() - upSince,
        booted: upSince !== null,
        why: `the engine ${what} (${how})${lastLines}`,
      };
    } finally {
      life.abort();
    }
  }
  #adopt(found: Living): Run {
    this.#living = found;
    const from = fs.statSync(consoleFile(this.#instance), { throwIfNoEntry: false })?.size ?? 0;
    this.#note(found);
    this.#enter('adopted');
    this.#log.info({ pid: found.pid }, 'a running engine was adopted');
    return { living: found, ended: this.#untilGone(found), from, upSince: this.#clock.now() };
  }
  async #boot(restarts: number): Promise<Run> {
    this.#living = null;
    this.#enter('starting', { restarts });
    const { choose } = this.#options;
    if (choose) ({ program: this.#program, trial: this.#trial } = await choose());
    await linkData(this.#instance, this.#program);
    const launched = await launch(this.#program, this.#instance);
    const { living } = launched;
    this.#living = living;
    this.#note(living);
    this.#enter('starting');
    this.#log.info({ pid: living.pid, version: this.#program.version }, 'the engine was started');
    if (!(await this.#booted(launched))) return { ...launched, upSince: null };
    const upSince = this.#clock.now();
    this.#enter('running', { last_error: null });
    this.#log.info({ pid: living.pid }, 'the engine has booted');
    await this.#reportTrial(null);
    return { ...launched, upSince };
  }
  /** As `untilBooted`; kills an engine that hangs: it, or after a trial the previous program, is started again. */
  async #booted(launched: Launched): Promise<boolean> {
    const over = this.#over.signal;
    const engine = { program: this.#program, instance: this.#instance, clock: this.#clock };
    const { trial_ms = TRIAL_MS, boot_ms = BOOT_MS } = this.#options;
    const done = new AbortController();
    const patience = this.#clock
      .sleep(this.#trial ? trial_ms : boot_ms, AbortSignal.any([done.signal, over]))
      .then(() => signalTo(launched.living, 'SIGKILL'))
      .catch(() => undefined);
    try {
      return await untilBooted(launched, engine, over);
    } finally {
      done.abort();
      await patience;
    }
  }
  async #reportTrial(why: string | null): Promise<void> {
    await this.#options.tried?.(this.#program, why).catch((error: unknown) => {
      this.#log.error({ error: messageOf(error) }, 'the start of the engine’s program could not be stored');
    });
  }
  /** A failed write is only logged: on a full disk the engine's own pid file still leads to the process. */
  #note(living: Living): void {
    try {
      noteLiving(this.#instance, living);
    } catch (error) {
      this.#log.warn(
        { pid: living.pid, error: messageOf(error) },
        'the process id of the engine could not be stored',
      );
    }
  }
  /** An adopted engine is not our child process, so its end is polled. */
  async #untilGone(adopted: Living): Promise<Ended> {
    while (lives(adopted)) await this.#clock.sleep(POLL_MS, this.#over.signal);
    return { how: 'it is gone' };
  }
  async #trimConsole(life: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(TRIM_MS, life);
      trimConsole(consoleFile(this.#instance));
    }
  }
  /** As the promise, but rejects once supervision is over. */
  #unlessOver<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this.#over;
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error);
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
  }
}
