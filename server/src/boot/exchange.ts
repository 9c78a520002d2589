/** The engine of this site: found, configured, started and supervised beside the service. */
import dgram from 'node:dgram';
import net from 'node:net';
import { AsteriskConfig } from '../adapters/asterisk/apply/engine-config.ts';
import { sweepShadows } from '../adapters/asterisk/apply/shadow.ts';
import { asteriskConf } from '../adapters/asterisk/conf/engine-files.ts';
import { prepareFolders, readFileOf } from '../adapters/asterisk/conf/write.ts';
import { etcDir } from '../adapters/asterisk/conf/instance.ts';
import type { AsteriskProgram, Instance, InstanceSettings } from '../adapters/asterisk/conf/instance.ts';
import { installedZone } from '../adapters/asterisk/conf/zone-data.ts';
import { consoleText } from '../adapters/asterisk/console-text.ts';
import { countCalls } from '../adapters/asterisk/count-calls.ts';
import { engineCommand } from '../adapters/asterisk/process/control.ts';
import { findLiving, lives } from '../adapters/asterisk/process/living.ts';
import { EngineProcess } from '../adapters/asterisk/process/supervise.ts';
import {
  isOnTrial,
  newestAsterisk,
  noteStart,
  obtainAsteriskEventually,
  packageAge,
} from '../adapters/asterisk/provision/asterisk.ts';
import { Languages } from '../adapters/asterisk/sounds/languages.ts';
import { createSpeak } from '../adapters/asterisk/sounds/speech.ts';
import { obtainPackages } from '../adapters/asterisk/provision/packages.ts';
import type { UnpackedPackages } from '../adapters/asterisk/provision/packages.ts';
import { TurnServer, ownAddresses } from '../adapters/asterisk/turn/server.ts';
import type { CertificateKeeper } from '../adapters/certificates/keeper.ts';
import type { Config } from './config.ts';
import { siteSecret } from './site-key.ts';
import { Backoff } from '../core/backoff.ts';
import { ServiceError, messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { bracketed } from '../core/networks.ts';
import type { CertificateState } from '../ports/certificates.ts';
import type { Site } from '../ports/site.ts';
import type { EngineConfig } from '../ports/engine-config.ts';
import type { Speak } from '../ports/speech.ts';
import type { Exchange, ExchangeStart, Finding, PackageAge } from '../ports/engine-site.ts';
import type { Common } from '../ports/common.ts';

export interface ExchangeOptions extends Common<'clock' | 'log'> {
  readonly config: Config;
  readonly instance: Instance;
  readonly certificates: CertificateKeeper;
  readonly siteKey: Buffer;
  /** See `EngineConfigOptions.here`. */
  readonly here?: ((site: Site) => Site) | undefined;
  /** Lines for people. */
  readonly say: (line: string) => void;
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
export class AsteriskExchange implements Exchange {
  readonly speak: Speak;
  readonly #options: ExchangeOptions;
  readonly #log: Log;
  readonly #config: AsteriskConfig;
  readonly #turn: TurnServer;
  #engine: EngineProcess | undefined;
  #state = 'the engine is being looked for';
  #deskPhones = true;
  #found: AsteriskProgram | null = null;
  #start: ExchangeStart | null = null;
  #done: Promise<void> = Promise.resolve();

  constructor(options: ExchangeOptions) {
    const { clock, config, instance } = options;
    this.#options = options;
    this.#log = options.log.child({ part: 'exchange' });
    const zone = installedZone(config.siteZone);
    if (zone === null)
      this.#log.error(
        { zone: config.siteZone },
        'this machine has no data of the time zone, so the engine uses UTC: install the package tzdata',
      );
    const settings: InstanceSettings = {
      sip: config.sipListen,
      sip_ipv6: config.sipListenIpv6 ?? undefined,
      sip_proxies: config.sipProxies,
      web_host: config.listen.host,
      rtp: config.rtpPorts,
      zone: zone ?? config.siteZone,
      dns_servers: config.dnsServers,
      own_addresses: ownAddresses(),
      tls_files: options.certificates.files,
      turn_secret: siteSecret(options.siteKey, 'turn'),
      doctor_secret: siteSecret(options.siteKey, 'doctor'),
      engine_secret: siteSecret(options.siteKey, 'engines'),
    };
    this.#turn = new TurnServer({
      instance,
      command: async (signal) => (await this.#packages(['coturn'], signal)).command('usr/bin/turnserver'),
      clock,
      log: this.#log,
    });
    this.speak = createSpeak((packages, signal) => this.#packages(packages, signal));
    const languages = new Languages({
      instance,
      program: () => this.#found,
      obtain: (packages, signal) => this.#packages(packages, signal),
    });
    const program = (): AsteriskProgram | null => this.#found;
    this.#config = new AsteriskConfig({
      instance,
      settings,
      here: options.here,
      program,
      clock,
      log: this.#log,
      certificates: options.certificates,
      turn: this.#turn,
      languages,
    });
  }
  begin(wanted: ExchangeStart): void {
    this.#start = wanted;
    const take = async (): Promise<void> => {
      this.#turn.takeCertificate();
      if (this.running()) await this.#config.takeCertificate(wanted.signal);
    };
    void this.#options.certificates.watch(take, wanted.signal).catch(() => undefined);
    this.#done = this.#run(wanted).catch((error: unknown) => {
      if (wanted.signal.aborted) return;
      this.#state = messageOf(error);
      this.#options.say(`The engine cannot be started: ${this.#state}`);
      this.#log.error({ error: messageOf(error) }, 'the engine cannot be started');
    });
  }
  /** Prompts that the written configuration can play and a language lacks. */
  lackingPrompts(language: string): Promise<readonly string[]> {
    return this.#config.lackingPrompts(language);
  }
  get engineConfig(): EngineConfig {
    return this.#config;
  }
  certificate(): CertificateState {
    return this.#options.certificates.state();
  }
  turn(): Finding | null {
    return this.#turn.finding();
  }
  running(): boolean {
    const now = this.#engine?.status().state;
    return now === 'running' || now === 'adopted';
  }
  deskPhones(): boolean {
    return this.#deskPhones;
  }
  /** Null until it was found. */
  program(): AsteriskProgram | null {
    return this.#found;
  }
  origin(): string | null {
    return this.#found?.origin ?? null;
  }
  state(): string {
    return this.#state;
  }
  async packageAge(): Promise<PackageAge | null> {
    return this.#found === null ? null : await packageAge(this.#found);
  }
  /** Reply of the engine's console; throws `engine_unavailable` while there is no engine. */
  async console(text: string, until: AbortSignal): Promise<string> {
    const { clock, instance } = this.#options;
    return await consoleText(instance, text, { clock, log: this.#log, signal: until });
  }
  async restartWhenConvenient(): Promise<void> {
    const program = this.#needProgram();
    const { known, signal } = this.#begun();
    await known(signal);
    await engineCommand(program, this.#options.instance, 'core stop when convenient');
  }
  async retire(): Promise<() => Promise<void>> {
    const { instance } = this.#options;
    const living = findLiving(instance);
    if (living === null) return () => Promise.resolve();
    this.#log.warn({ pid: living.pid }, 'the engine takes no new calls and ends with its last one');
    await engineCommand(living, instance, 'core stop gracefully');
    return async () => {
      if (lives(living)) await engineCommand(living, instance, 'core abort shutdown');
    };
  }
  async calls(): Promise<number> {
    const { clock, instance } = this.#options;
    return findLiving(instance) === null ? 0 : await countCalls(instance, { clock, log: this.#log });
  }
  async stop(): Promise<void> {
    await this.#done;
    await Promise.all([this.#engine?.stop(), this.#turn.stop()]);
  }
  async release(): Promise<void> {
    await this.#done;
    await Promise.all([this.#engine?.release(), this.#turn.release()]);
  }

  async #packages(packages: readonly string[], signal?: AbortSignal): Promise<UnpackedPackages> {
    const { config, say } = this.#options;
    return await obtainPackages({
      cache: config.cache,
      packages,
      mirrors: config.debianMirrors ?? undefined,
      security: config.debianSecurity ?? undefined,
      progress: say,
      signal,
    });
  }
  #begun(): ExchangeStart {
    if (this.#start === null) throw new ServiceError('engine_unavailable', 'there is no engine yet');
    return this.#start;
  }
  #needProgram(): AsteriskProgram {
    if (this.#found === null) throw new ServiceError('engine_unavailable', 'there is no engine yet');
    return this.#found;
  }
  /** The program to start. Newer packages are used only when the rendered files fit them. */
  async #choose(before: AsteriskProgram): Promise<AsteriskProgram> {
    const { config, instance } = this.#options;
    const wanted = await newestAsterisk(config.cache, before);
    if (wanted === before) return before;
    const versions = { from: before.packages?.root, to: wanted.packages?.root, version: wanted.version };
    this.#found = wanted;
    try {
      const written = async (): Promise<string> =>
        (await readFileOf(etcDir(instance), 'asterisk.conf', false)) ?? '';
      if ((await this.#begun().refit()) && (await written()).endsWith(asteriskConf(instance, wanted))) {
        this.#log.info(versions, 'the engine is started with other packages');
        return wanted;
      }
      this.#log.warn(
        versions,
        'the engine keeps its present packages: its files cannot be written for the newer ones',
      );
    } catch (error) {
      this.#log.warn({ ...versions, error: messageOf(error) }, 'the engine keeps its present packages');
    }
    this.#found = before;
    return before;
  }
  /** Retries with backoff until `work` succeeds, e.g. until the disk has room; rejects with the signal's reason. */
  async #untilDone(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#begun();
    for (const backoff = new Backoff(RETRY); ;) {
      const pause = backoff.next();
      signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        this.#state = messageOf(error);
        this.#log.error(
          { error: this.#state, next_try_ms: pause },
          'the engine cannot be made ready; trying again',
        );
      }
      await this.#options.clock.sleep(pause, signal);
    }
  }
  async #run({ signal, configure: prepare }: ExchangeStart): Promise<void> {
    const { clock, instance } = this.#options;
    const program = await this.#obtain(signal);
    const living = findLiving(instance) !== null;
    await this.#checkSipPort(living);
    let untaken: readonly string[] = [];
    const configure = async (): Promise<void> => {
      await prepareFolders(instance);
      await sweepShadows(instance.folder, clock);
      untaken = await prepare(living);
    };
    let later: Promise<void> = Promise.resolve();
    if (!living) await this.#untilDone(configure);
    else {
      // A running engine is adopted even on a full disk; its files are written as soon as there is room.
      try {
        await configure();
      } catch (error) {
        this.#log.warn(
          { error: messageOf(error) },
          'the engine was adopted, but its files could not be prepared yet',
        );
        later = this.#untilDone(configure);
        // Awaited once the engine is up; until then stopping the service must not leave its rejection unhandled.
        later.catch(() => undefined);
      }
    }
    signal.throwIfAborted();
    this.#turn.begin(signal);
    // Not awaited, because the engine must start without the download of a language.
    void this.#prepareLanguages(signal);
    for await (const state of this.#follow(program, signal)) {
      await later;
      if (state === 'adopted' && untaken.length > 0) {
        this.#log.warn(
          { untaken },
          'the adopted engine will restart with its new configuration once no call is left',
        );
        await this.restartWhenConvenient();
      }
    }
  }
  async #prepareLanguages(signal: AbortSignal): Promise<void> {
    try {
      for (const problem of (await this.#config.prepareWritten(signal)).problems)
        this.#log.warn({ ...problem }, 'the configuration names an object that the engine lacks');
    } catch (error) {
      if (!signal.aborted) this.#log.warn({ error: messageOf(error) }, 'sounds could not be prepared');
    }
  }
  async #obtain(signal: AbortSignal): Promise<AsteriskProgram> {
    const { clock, config, instance, say } = this.#options;
    const program = await obtainAsteriskEventually({
      cache: config.cache,
      explicit: config.asterisk,
      mirrors: config.debianMirrors ?? undefined,
      security: config.debianSecurity ?? undefined,
      running: findLiving(instance)?.command,
      progress: say,
      clock,
      signal,
      onFailure: (error, next) => {
        if (this.#state !== error.message) say(`The engine is not ready; trying again: ${error.message}`);
        this.#state = error.message;
        this.#log.warn({ reason: error.reason, next_try_ms: next }, error.message);
      },
    });
    this.#found = program;
    this.#log.info({ version: program.version, origin: program.origin }, 'engine program found');
    return program;
  }
  /** Warns if another program uses the address of SIP. `living`: the engine runs and uses it itself. */
  async #checkSipPort(living: boolean): Promise<void> {
    if (living) return;
    const { sipListen, sipListenIpv6: six } = this.#options.config;
    const both = [sipListen, ...(six === null ? [] : [{ host: six, port: sipListen.port }])];
    for (const { host, port } of both) {
      if (!(await sipPortTaken({ host, port }))) continue;
      this.#deskPhones = false;
      this.#options.say(
        `The address ${bracketed(host)}:${port} of SIP is used by another program: desk phones cannot register until it is free`,
      );
      this.#log.warn({ host, port }, 'the address for desk phones is taken');
    }
  }
  /** Starts or adopts the engine and supervises it; yields each time it is up. */
  async *#follow(program: AsteriskProgram, signal: AbortSignal): AsyncGenerator<'running' | 'adopted'> {
    const { clock, config, instance } = this.#options;
    this.#engine = new EngineProcess({
      program,
      instance,
      log: this.#log,
      clock,
      choose: async () => {
        const chosen = await this.#choose(this.#found ?? program);
        return { program: chosen, trial: await isOnTrial(chosen) };
      },
      tried: async (one, why) => {
        if (why !== null && (await isOnTrial(one)))
          this.#log.error(
            { why, version: one.version },
            'the newer packages of the engine did not start; the former ones are used again',
          );
        await noteStart(config.cache, one, why);
      },
    });
    this.#engine.start();
    for await (const { state, pid, restarts, last_error } of this.#engine.changes(signal)) {
      const up = state === 'running' || state === 'adopted';
      this.#state = up ? 'the engine runs' : (last_error ?? `the engine is ${state}`);
      this.#log.info({ state, pid, restarts, last_error }, 'engine process');
      if (up) yield state;
    }
  }
}
