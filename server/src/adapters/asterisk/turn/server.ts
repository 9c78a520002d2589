/** The TURN server of the site as a process: started, adopted and ended as `turnserver.conf` wants it. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { networkInterfaces } from 'node:os';
import { Backoff } from '../../../core/backoff.ts';
import { messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Finding } from '../../../ports/engine-site.ts';
import { etcDir, logDir } from '../conf/instance.ts';
import type { Instance } from '../conf/instance.ts';
import { TURN_FILE, turnPidFile } from '../conf/turn-file.ts';
import { readFileOf } from '../conf/write.ts';
import { consoleTail, trimConsole } from '../process/console-log.ts';
import { endBySignal, signalTo } from '../process/end.ts';
import { launchKept } from '../process/launch.ts';
import { findKept, lives, noteKept } from '../process/living.ts';
import type { Kept, Living } from '../process/living.ts';
import { makeRunDir } from '../process/run-dir.ts';
import { askStun } from './stun.ts';

export interface TurnOptions {
  readonly instance: Instance;
  /** Command of the program; gets its packages first where they are missing. */
  readonly command: (signal?: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Log;
}
/** Settings from the file; null where the site has no TURN server. */
interface Wanted {
  readonly hash: string;
  readonly host: string;
  readonly port: number;
  /** Own addresses that are known only now, as arguments. */
  readonly own: readonly string[];
}
const BACKOFF = { first_ms: 500, most_ms: 30_000, spread: [0.75, 1.25] } as const;
const POLL_MS = 250;
const PROBE_EVERY = 20;
const PROBE_MS = 3_000;
/** It holds no state; with relays it takes its time to end. */
const TERM_MS = 500;
/** An apply waits this long for an answer of the server with the new file. */
const TAKE_MS = 15_000;

const valueOf = (text: string, key: string): string | undefined =>
  text
    .split('\n')
    .find((line) => line.startsWith(`${key}=`))
    ?.slice(key.length + 1);
/** Addresses at which the engine's media is reached. */
export const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((one) => one ?? [])
    .filter(({ internal, scopeid }) => !internal && !scopeid)
    .map(({ address }) => address)
    .sort();
export function readWanted(text: string): Wanted | null {
  const port = valueOf(text, 'listening-port');
  if (port === undefined) return null;
  const host = valueOf(text, 'listening-ip');
  const addresses = ownAddresses();
  // A relay at a loopback address would reach the engine, whose answers come from that address and are refused.
  const own = addresses.flatMap((one) => [`--relay-ip=${one}`, `--allowed-peer-ip=${one}`]);
  const hash = createHash('sha256')
    .update(`${text}\0${own.join(' ')}`)
    .digest('hex');
  return { hash, host: host ?? addresses[0] ?? '127.0.0.1', port: Number(port), own };
}

export class TurnServer {
  readonly #options: TurnOptions;
  readonly #log: Log;
  readonly #kept: Kept;
  readonly #console: string;
  readonly #over = new AbortController();
  readonly #backoff = new Backoff(BACKOFF);
  #loop: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;
  /** State of the server that was started with the file of this hash; null for none wanted. */
  #state: { readonly hash: string | null; readonly finding: Finding | null } | null = null;

  constructor(options: TurnOptions) {
    const { instance } = options;
    this.#options = options;
    this.#log = options.log.child({ part: 'turn' });
    this.#console = path.join(logDir(instance), 'turn.log');
    this.#kept = {
      note: path.join(instance.folder, 'turn.json'),
      pidFile: turnPidFile(instance),
      marks: ['-c', path.join(etcDir(instance), TURN_FILE)],
    };
  }
  /** Keeps the server as the file wants it, until `stop` or `release`. */
  begin(signal: AbortSignal): void {
    signal.addEventListener('abort', () => this.#over.abort(), { once: true });
    if (signal.aborted) return;
    this.#loop = this.#keep().catch((error: unknown) => {
      if (!this.#over.signal.aborted)
        this.#log.error({ error: messageOf(error) }, 'TURN server is not supervised');
    });
  }
  /** Null where the site has none. */
  finding(): Finding | null {
    return this.#state === null ? null : this.#state.finding;
  }
  /** Gets what the file will need; nothing for a file without a server. */
  async prepare(text: string, signal?: AbortSignal): Promise<void> {
    if (readWanted(text) !== null) await this.#options.command(signal);
  }
  /** Takes in the file as it is now. Resolves with the reason where the server does not answer, else with null. */
  async take(signal: AbortSignal = new AbortController().signal): Promise<string | null> {
    const hash = (await this.#wanted())?.hash ?? null;
    const { clock } = this.#options;
    this.#backoff.reset();
    this.#wake();
    for (const until = clock.now() + TAKE_MS; clock.now() < until; await clock.sleep(50, signal)) {
      const state = this.#state;
      if (state?.hash !== hash || this.#over.signal.aborted) continue;
      if (state.finding?.ok ?? true) return null;
    }
    return this.#state?.finding?.detail ?? 'it did not start in time';
  }
  /** A renewed certificate is read from the same files; relayed calls stay. */
  takeCertificate(): void {
    const living = findKept(this.#kept);
    if (living !== null) signalTo(living, 'SIGUSR2');
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

  async #wanted(): Promise<Wanted | null> {
    return readWanted((await readFileOf(etcDir(this.#options.instance), TURN_FILE, false)) ?? '');
  }
  async #end(): Promise<void> {
    const living = findKept(this.#kept);
    if (living !== null) await endBySignal(living, { clock: this.#options.clock, log: this.#log }, TERM_MS);
  }
  /** Resolves after `ms`, or once the file has changed. */
  async #pause(ms: number): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    const { signal } = this.#over;
    await this.#options.clock.sleep(ms, AbortSignal.any([woken.signal, signal])).catch(() => undefined);
    signal.throwIfAborted();
  }
  async #keep(): Promise<void> {
    for (;;) {
      const wanted = await this.#wanted();
      try {
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
        this.#log.error({ error: detail, next_try_ms }, 'the TURN server does not run; it is started again');
        this.#state = { hash: wanted?.hash ?? null, finding: { ok: false, detail } };
        await this.#pause(next_try_ms);
      }
    }
  }
  /** The process that runs with this file: the one that does already, else a new one. */
  async #ensure(wanted: Wanted): Promise<{ readonly living: Living; readonly from: number }> {
    const { clock, command, instance } = this.#options;
    const found = findKept(this.#kept);
    if (found?.config === wanted.hash) {
      this.#log.info({ pid: found.pid }, 'a running TURN server was adopted');
      return { living: found, from: 0 };
    }
    const program = await command(this.#over.signal);
    if (found !== null) await endBySignal(found, { clock, log: this.#log }, TERM_MS);
    makeRunDir(instance.run_dir);
    const at = { cwd: instance.folder, console: this.#console };
    const { living, from } = await launchKept(program, [...this.#kept.marks, ...wanted.own], at);
    noteKept(this.#kept, { ...living, config: wanted.hash });
    this.#log.info({ pid: living.pid }, 'the TURN server was started');
    return { living, from };
  }
  /** Returns once the file wants something else; throws when the process has ended. */
  async #follow(
    wanted: Wanted,
    { living, from }: { readonly living: Living; readonly from: number },
  ): Promise<void> {
    for (let round = 0; lives(living); round++) {
      if (round % PROBE_EVERY === 0 || this.#state?.finding?.ok === false) {
        this.#state = { hash: wanted.hash, finding: await this.#probe(wanted) };
        trimConsole(this.#console);
        if (this.#state.finding?.ok) this.#backoff.reset();
      }
      await this.#pause(POLL_MS);
      if ((await this.#wanted())?.hash !== wanted.hash) return;
    }
    const lines = consoleTail(this.#console, from);
    throw new Error(
      `the TURN server ended${lines.length > 0 ? `; its last lines:\n${lines.join('\n')}` : ''}`,
    );
  }
  async #probe({ host, port }: Wanted): Promise<Finding> {
    try {
      await askStun({ host, port }, PROBE_MS);
      return { ok: true, detail: `answers at ${host}:${port}` };
    } catch (error) {
      return { ok: false, detail: `TURN at ${host}:${port}: ${messageOf(error)}` };
    }
  }
}
