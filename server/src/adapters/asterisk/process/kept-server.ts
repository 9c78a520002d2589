/** A server beside the engine that outlives the service: started, adopted, probed and ended as its configuration wants it. */
import { Backoff } from '../../../core/backoff.ts';
import { messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Finding } from '../../../ports/engine-site.ts';
import { consoleTail, trimConsole } from './console-log.ts';
import { endBySignal, signalTo } from './end.ts';
import { launchKept } from './launch.ts';
import { findKept, lives, noteKept, strayOf } from './living.ts';
import type { Kept, Living } from './living.ts';
import { makeRunDir } from './run-dir.ts';

/** A process with another hash is replaced. */
export interface WantedServer {
  readonly hash: string;
  /** Arguments beside the marks of `Kept`. */
  readonly args: readonly string[];
}
export interface KeptServerOptions<W extends WantedServer> {
  /** As logs call it, e.g. `TURN server`. */
  readonly title: string;
  readonly kept: Kept;
  /** File of its standard output and error. */
  readonly console: string;
  readonly cwd: string;
  /** Folder of its pid file and sockets. */
  readonly runDir: string;
  /** Its configuration as it is now; null for none. Throws where it cannot be read, which changes nothing at a running process. */
  readonly wanted: () => Promise<W | null>;
  /** Command of the program; gets its packages first where they are missing. */
  readonly command: (signal?: AbortSignal) => Promise<readonly string[]>;
  /** Resolves with where it answers; throws with the reason where it does not. */
  readonly probe: (wanted: W) => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
}
const BACKOFF = { first_ms: 500, most_ms: 30_000, spread: [0.75, 1.25] } as const;
const POLL_MS = 250;
const PROBE_EVERY = 20;
/** It holds no state; with open connections it takes its time to end. */
const TERM_MS = 500;
/** A change waits this long for an answer of the server with its new configuration. */
const TAKE_MS = 15_000;

/** The configuration could not be read, which says nothing about the process. */
class UnreadableError extends Error {}

export class KeptServer<W extends WantedServer> {
  readonly #options: KeptServerOptions<W>;
  readonly #over = new AbortController();
  #begun = false;
  readonly #backoff = new Backoff(BACKOFF);
  #loop: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;
  #starts = 0;
  /** State of the server that was started with the configuration of this hash; null for none wanted. */
  #state: { readonly hash: string | null; readonly finding: Finding | null } | null = null;

  constructor(options: KeptServerOptions<W>) {
    this.#options = options;
  }
  /** Keeps the server as its configuration wants it, until `stop` or `release`. */
  begin(signal: AbortSignal): void {
    this.#begun = true;
    signal.addEventListener('abort', () => this.#over.abort(), { once: true });
    if (signal.aborted) return;
    const { log, title } = this.#options;
    this.#loop = this.#keep().catch((error: unknown) => {
      if (!this.#over.signal.aborted)
        log.error({ error: messageOf(error) }, `supervision of the ${title} failed`);
    });
  }
  /** Null where none is wanted. */
  finding(): Finding | null {
    return this.#state === null ? null : this.#state.finding;
  }
  /** Processes that this service started. */
  get starts(): number {
    return this.#starts;
  }
  /**
   * Takes in the configuration as it is now. Resolves with the reason where the server does not answer, else with null; at once
   * before `begin`, which reads the configuration itself.
   */
  async take(signal: AbortSignal = new AbortController().signal): Promise<string | null> {
    if (!this.#begun) return null;
    const { clock, wanted } = this.#options;
    const hash = (await wanted())?.hash ?? null;
    this.#backoff.reset();
    this.#wake();
    for (const until = clock.now() + TAKE_MS; clock.now() < until; await clock.sleep(50, signal)) {
      const state = this.#state;
      if (state?.hash !== hash || this.#over.signal.aborted) continue;
      if (state.finding?.ok ?? true) return null;
    }
    return this.#state?.finding?.detail ?? 'it did not start in time';
  }
  signal(name: NodeJS.Signals): void {
    const living = findKept(this.#options.kept);
    if (living !== null) signalTo(living, name);
  }
  /** Ends the server too. */
  async stop(): Promise<void> {
    await this.release();
    await this.#end();
  }
  /** Leaves the server to the next service. */
  async release(): Promise<void> {
    this.#over.abort();
    await this.#loop;
  }

  async #end(): Promise<void> {
    const { clock, kept, log } = this.#options;
    const living = findKept(kept);
    if (living !== null) await endBySignal(living, { clock, log }, TERM_MS);
    for (const one of strayOf(kept)) await endBySignal(one, { clock, log }, TERM_MS);
  }
  /** Resolves after `ms`, or once the configuration has changed. */
  async #pause(ms: number): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    const { signal } = this.#over;
    await this.#options.clock.sleep(ms, AbortSignal.any([woken.signal, signal])).catch(() => undefined);
    signal.throwIfAborted();
  }
  async #keep(): Promise<void> {
    const { log, title } = this.#options;
    for (;;) {
      let wanted: W | null = null;
      try {
        wanted = await this.#wanted();
        if (wanted === null) {
          await this.#end();
          this.#state = { hash: null, finding: null };
          await this.#pause(POLL_MS * PROBE_EVERY);
          continue;
        }
        await this.#follow(wanted, await this.#ensure(wanted));
      } catch (error) {
        this.#over.signal.throwIfAborted();
        const detail = messageOf(error);
        const next_try_ms = this.#backoff.next();
        const what =
          error instanceof UnreadableError
            ? `the configuration of the ${title} cannot be read; a running one stays as it is`
            : `the ${title} is not running; restarting it`;
        log.error({ error: detail, next_try_ms }, what);
        this.#state = { hash: wanted?.hash ?? null, finding: { ok: false, detail } };
        await this.#pause(next_try_ms);
      }
    }
  }
  /** The configuration as it is now; throws `UnreadableError`. */
  async #wanted(): Promise<W | null> {
    try {
      return await this.#options.wanted();
    } catch (error) {
      throw new UnreadableError(messageOf(error), { cause: error });
    }
  }
  /** The process that runs with this configuration: the one that does already, else a new one. */
  async #ensure(wanted: W): Promise<{ readonly living: Living; readonly from: number }> {
    const { command, console, cwd, kept, log, runDir, title } = this.#options;
    const found = findKept(kept);
    if (found?.config === wanted.hash) {
      log.info({ pid: found.pid }, `a running ${title} was adopted`);
      return { living: found, from: 0 };
    }
    const program = await command(this.#over.signal);
    await this.#end();
    makeRunDir(runDir);
    const { living, from } = await launchKept(program, [...kept.marks, ...wanted.args], { cwd, console });
    noteKept(kept, { ...living, config: wanted.hash });
    this.#starts += 1;
    log.info({ pid: living.pid }, `the ${title} was started`);
    return { living, from };
  }
  /** Returns once the configuration wants something else; throws when the process has ended. */
  async #follow(
    wanted: W,
    { living, from }: { readonly living: Living; readonly from: number },
  ): Promise<void> {
    const { console, title } = this.#options;
    for (let round = 0; lives(living); round++) {
      if (round % PROBE_EVERY === 0 || this.#state?.finding?.ok === false) {
        this.#state = { hash: wanted.hash, finding: await this.#probe(wanted) };
        trimConsole(console);
        if (this.#state.finding?.ok) this.#backoff.reset();
      }
      await this.#pause(POLL_MS);
      if ((await this.#wanted())?.hash !== wanted.hash) return;
    }
    const lines = consoleTail(console, from);
    throw new Error(`the ${title} ended${lines.length > 0 ? `; its last lines:\n${lines.join('\n')}` : ''}`);
  }
  async #probe(wanted: W): Promise<Finding> {
    try {
      return { ok: true, detail: `answers at ${await this.#options.probe(wanted)}` };
    } catch (error) {
      return { ok: false, detail: messageOf(error) };
    }
  }
}
