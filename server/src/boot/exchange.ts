/** The engine of this site: found, configured, started and supervised beside the service. */
import dgram from 'node:dgram';
import net from 'node:net';
import { createEngineConfig } from '../adapters/asterisk/apply/engine-config.ts';
import { sweepShadows } from '../adapters/asterisk/apply/shadow.ts';
import { asteriskConf } from '../adapters/asterisk/conf/engine-files.ts';
import { prepareFolders, readFileOf } from '../adapters/asterisk/conf/write.ts';
import { etcDir } from '../adapters/asterisk/instance.ts';
import type { AsteriskProgram, Instance, InstanceSettings } from '../adapters/asterisk/instance.ts';
import { engineCommand } from '../adapters/asterisk/process/control.ts';
import { findLiving } from '../adapters/asterisk/process/living.ts';
import { EngineProcess } from '../adapters/asterisk/process/supervise.ts';
import {
  isOnTrial,
  newestAsterisk,
  noteStart,
  obtainAsteriskEventually,
  packageAge,
} from '../adapters/asterisk/provision/asterisk.ts';
import type { PackageAge } from '../adapters/asterisk/provision/asterisk.ts';
import type { Config } from './config.ts';
import { Backoff } from '../core/backoff.ts';
import { ServiceError, messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineConfig } from '../ports/engine-config.ts';

export interface Exchange {
  /** True once the engine's process runs; its AMI may still be booting. */
  /** Finds the engine and keeps it running, in the background; never throws. */
  begin(start: ExchangeStart): void;
  running(): boolean;
  /** False where another program uses the address of desk phones. */
  deskPhones(): boolean;
  /** Null until it was found. */
  program(): AsteriskProgram | null;
  /** Age of the engine's packages; null for a program of the machine, or before it was found. */
  packageAge(): Promise<PackageAge | null>;
  /** Current activity or problem, one sentence for people. */
  state(): string;
  /** Reply of the engine's console; throws `engine_unavailable` while there is no engine. */
  console(text: string, signal: AbortSignal): Promise<string>;
  /** How configuration reaches the engine. */
  readonly engineConfig: EngineConfig;
  /** Resolves once the engine's process runs for the first time. */
  readonly started: Promise<void>;
  /** Stops the engine once no call is left, and starts it again at once. */
  restartWhenConvenient(): Promise<void>;
  /** Stops the engine too; abort the signal first. */
  stop(): Promise<void>;
  /** Leaves the engine and its calls to the next service; abort the signal first. */
  release(): Promise<void>;
}
export interface ExchangeOptions {
  readonly config: Config;
  readonly instance: Instance;
  readonly log: Log;
  readonly clock: Clock;
  /** Lines for people. */
  readonly say: (line: string) => void;
}
export interface ExchangeStart {
  /** Aborting it leaves a running engine to the next service. */
  readonly signal: AbortSignal;
  /**
   * Called before an engine is started or adopted. `lives`: an earlier one still runs. Returns the files that take effect only
   * at a restart.
   */
  readonly configure: (lives: boolean) => Promise<readonly string[]>;
  /** Renders the engine's files for another program while no engine runs. False where an apply is under way. */
  readonly refit: () => Promise<boolean>;
  /** Resolves once the state of an adopted engine is known here, so that restarting it loses nothing. */
  readonly known: (signal: AbortSignal) => Promise<void>;
}

/** Whether UDP and TCP of this address are taken; the engine would start without them and report it only in its log. */
async function sipPortTaken({ host, port }: Config['sipListen']): Promise<boolean> {
  const udp = dgram.createSocket(net.isIPv6(host) ? 'udp6' : 'udp4');
  const tcp = net.createServer();
  try {
    await Promise.all([
      new Promise<void>(
        (resolve, reject) =>
          void udp.once('error', reject).bind({ port, address: host, exclusive: true }, resolve),
      ),
      new Promise<void>(
        (resolve, reject) => void tcp.once('error', reject).listen({ port, host, exclusive: true }, resolve),
      ),
    ]);
    return false;
  } catch {
    return true;
  } finally {
    udp.close();
    tcp.close();
  }
}

const RETRY = { first_ms: 500, most_ms: 5_000 } as const;

/** The engine of this site; there is none before `begin`. */
export function createExchange(options: ExchangeOptions): Exchange {
  const { config, instance, clock, say } = options;
  const log = options.log.child({ part: 'exchange' });
  const first = Promise.withResolvers<void>();
  const settings: InstanceSettings = {
    sip: config.sipListen,
    web_host: config.listen.host,
    rtp: config.rtpPorts,
    zone: config.siteZone,
  };
  let engine: EngineProcess | undefined;
  let state = 'the engine is being looked for';
  let deskPhones = true;
  let found: AsteriskProgram | null = null;
  const running = (): boolean => {
    const now = engine?.status().state;
    return now === 'running' || now === 'adopted';
  };

  let start: ExchangeStart | null = null;
  const begun = (): ExchangeStart => {
    if (start === null) throw new ServiceError('engine_unavailable', 'there is no engine yet');
    return start;
  };

  const restart = async (program: AsteriskProgram): Promise<void> => {
    const { known, signal } = begun();
    await known(signal);
    await engineCommand(program, instance, 'core stop when convenient');
  };

  /** The program to start. Newer packages are used only when the rendered files fit them. */
  async function choose(before: AsteriskProgram): Promise<AsteriskProgram> {
    const wanted = await newestAsterisk(config.cache, before);
    if (wanted === before) return before;
    const versions = { from: before.packages?.root, to: wanted.packages?.root, version: wanted.version };
    found = wanted;
    try {
      const written = async (): Promise<string> =>
        (await readFileOf(etcDir(instance), 'asterisk.conf', false)) ?? '';
      if ((await begun().refit()) && (await written()).endsWith(asteriskConf(instance, wanted))) {
        log.info(versions, 'the engine is started with other packages');
        return wanted;
      }
      log.warn(
        versions,
        'the engine keeps its packages for now: its files cannot be written for the newer ones',
      );
    } catch (error) {
      log.warn({ ...versions, error: messageOf(error) }, 'the engine keeps its packages for now');
    }
    found = before;
    return before;
  }

  /** Retries with backoff until `work` succeeds, e.g. until the disk has room; rejects with the signal's reason. */
  async function untilDone(work: () => Promise<void>): Promise<void> {
    const { signal } = begun();
    for (const backoff = new Backoff(RETRY); ;) {
      const pause = backoff.next();
      signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        state = messageOf(error);
        log.error({ error: state, next_try_ms: pause }, 'the engine cannot be made ready; trying again');
      }
      await clock.sleep(pause, signal);
    }
  }

  async function run({ signal, configure: prepare }: ExchangeStart): Promise<void> {
    const program = await obtainAsteriskEventually({
      cache: config.cache,
      explicit: config.asterisk,
      mirrors: config.debianMirrors ?? undefined,
      security: config.debianSecurity ?? undefined,
      running: findLiving(instance)?.command,
      progress: say,
      clock,
      signal,
      onFailure(error, next) {
        if (state !== error.message) say(`No engine yet, but it is tried again: ${error.message}`);
        state = error.message;
        log.warn({ reason: error.reason, next_try_ms: next }, error.message);
      },
    });
    found = program;
    log.info({ version: program.version, origin: program.origin }, 'engine program found');
    const living = findLiving(instance);
    deskPhones = living !== null || !(await sipPortTaken(config.sipListen));
    if (!deskPhones) {
      const { host, port } = config.sipListen;
      say(
        `OFFHOOK_SIP_LISTEN ${host}:${port} is used by another program: desk phones cannot register until it is free`,
      );
      log.warn({ host, port }, 'the address for desk phones is taken');
    }
    let untaken: readonly string[] = [];
    const configure = async (): Promise<void> => {
      await prepareFolders(instance);
      await sweepShadows(instance.folder, clock);
      untaken = await prepare(living !== null);
    };
    let later: Promise<void> = Promise.resolve();
    if (living === null) await untilDone(configure);
    else {
      // A running engine is adopted even on a full disk; its files are written as soon as there is room.
      try {
        await configure();
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'the engine is adopted; its files cannot be looked after yet');
        later = untilDone(configure);
        // Awaited once the engine is up; until then stopping the service must not leave its rejection unhandled.
        later.catch(() => undefined);
      }
    }
    signal.throwIfAborted();
    engine = new EngineProcess({
      program,
      instance,
      log,
      clock,
      choose: async () => {
        const chosen = await choose(found ?? program);
        return { program: chosen, trial: await isOnTrial(chosen) };
      },
      async tried(one, why) {
        if (why !== null && (await isOnTrial(one)))
          log.error(
            { why, version: one.version },
            'the newer packages of the engine did not start; back to the ones before',
          );
        await noteStart(config.cache, one, why);
      },
    });
    engine.start();
    for await (const status of engine.changes(signal)) {
      const up = status.state === 'running' || status.state === 'adopted';
      state = up ? 'the engine runs' : (status.last_error ?? `the engine is ${status.state}`);
      log.info(
        { state: status.state, pid: status.pid, restarts: status.restarts, last_error: status.last_error },
        'engine process',
      );
      if (!up) continue;
      first.resolve();
      await later;
      if (status.state === 'adopted' && untaken.length > 0) {
        log.warn(
          { untaken },
          'the adopted engine is started anew with its new configuration once no call is left',
        );
        await restart(program);
      }
    }
  }

  let done: Promise<void> = Promise.resolve();
  return {
    begin(wanted) {
      start = wanted;
      done = run(wanted).catch((error: unknown) => {
        if (wanted.signal.aborted) return;
        state = messageOf(error);
        say(`The engine cannot be started: ${state}`);
        log.error({ error: messageOf(error) }, 'the engine cannot be started');
      });
    },
    running,
    deskPhones: () => deskPhones,
    program: () => found,
    state: () => state,
    packageAge: async () => (found === null ? null : await packageAge(found)),
    engineConfig: createEngineConfig({ instance, settings, program: () => found, clock, log }),
    started: first.promise,
    async console(text, until) {
      if (found === null) throw new ServiceError('engine_unavailable', 'there is no engine yet');
      return (await engineCommand(found, instance, text, { signal: until })).stdout;
    },
    async restartWhenConvenient() {
      if (found === null) throw new ServiceError('engine_unavailable', 'there is no engine yet');
      await restart(found);
    },
    async stop() {
      await done;
      await engine?.stop();
    },
    async release() {
      await done;
      await engine?.release();
    },
  };
}
