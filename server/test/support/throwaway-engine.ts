/** A real engine for a test: rendered, booted on free ports, queried by its console, stopped and removed. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { AmiConnection } from '../../src/adapters/asterisk/ami/connection.ts';
import { AsteriskConfig } from '../../src/adapters/asterisk/apply/engine-config.ts';
import type { EngineConfigOptions } from '../../src/adapters/asterisk/apply/engine-config.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silent } from '../../src/core/log.ts';
import type { Site } from '../../src/ports/site.ts';
import { celFile, etcDir, tlsDir } from '../../src/adapters/asterisk/conf/instance.ts';
import type {
  AsteriskProgram,
  Instance,
  InstanceSettings,
} from '../../src/adapters/asterisk/conf/instance.ts';
import { consoleFile } from '../../src/adapters/asterisk/process/console-log.ts';
import { createInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import { EngineProcess } from '../../src/adapters/asterisk/process/supervise.ts';
import { obtainAsterisk } from '../../src/adapters/asterisk/provision/asterisk.ts';
import { renderSite } from '../../src/adapters/asterisk/conf/render.ts';
import { prepareFolders, writeFiles } from '../../src/adapters/asterisk/conf/write.ts';
import { engineConsole } from './engine-console.ts';
import { enginePorts, freePort } from './ports.ts';
import { withShortSounds } from './short-sounds.ts';
import { PATIENCE_MS, until } from './until.ts';

/** Members of a scripted phone that are used here. */
interface Dialling {
  readonly extension: string;
  invite(
    number: string,
  ): Promise<{ readonly state: string; readonly status: number; hangup(): Promise<void> }>;
}
export interface TestEngine extends AsyncDisposable {
  readonly program: AsteriskProgram;
  readonly instance: Instance;
  readonly settings: InstanceSettings;
  /** SIP address of desk phones. */
  readonly server: { readonly host: string; readonly port: number };
  /** From the start of the program to fully booted. */
  readonly boot_ms: number;
  /** Reply of the console. */
  readonly cli: (text: string) => Promise<string>;
  /** Warnings and errors in the engine's log so far. */
  warnings(): Promise<string[]>;
  /** Lines of the engine's call records so far. */
  records(): Promise<string[]>;
  /** The engine's members of a queue, e.g. `1003 paused:break Not in use`. */
  members(queue: string): Promise<string[]>;
  /** Prompts played to an extension so far. */
  heard(extension: string): Promise<string[]>;
  /** Waits until this is the last prompt of an extension: the engine's records follow the phones. */
  hears(extension: string, prompt: string): Promise<void>;
  /** Waits until the engine has forgotten every channel; it counts one for a moment after its phone hung up. */
  idle(): Promise<void>;
  /** Dials a code and returns the prompt that answers it, or an empty text. */
  dial(from: Dialling, code: string): Promise<string>;
  /** Renders and writes another site; returns the files that changed. Nothing is reloaded. */
  write(site: Site): Promise<readonly string[]>;
  /** A connection for actions, without events. The caller closes it, or its signal does. */
  ami(signal?: AbortSignal): Promise<AmiConnection>;
  /** Stops the engine cleanly and starts it again. */
  restart(): Promise<void>;
}

const PROMPT = /^"STREAM_BEGIN","[0-9.]+","FILE_STREAM_BEGIN","PJSIP\/(\w+)-.*""sound"":""([^"]*)""/;
const CHANNEL_END = /^"CHAN_END","[0-9.]+","[^"]*","PJSIP\/(\w+)-/;
const MEMBER = /^ +(\d+) \(Local\/\1@queue-agent from hint:\1@hints\)(.*) has taken /gm;

/** A race inside the engine, in any configuration: it updates the connected line after sending a CANCEL. */
const LEG_GONE = /update_connected_line_information: Session already DISCONNECTED/;
/** A caller hangs up while music is being written to it; no configuration prevents this. */
const MUSIC_CUT = /moh_files_generator: Failed to write frame/;
/** The first SIP packet came before the last SIP module was loaded: the engine waits for the module and continues. */
const EARLY_PACKET = ['sip_endpoint.c Warning: Module "', '" registered during operation.'];
/** A race inside the engine: a subscription of its message bus was removed already. No configuration names such a subscription. */
const BUS_RACE = /stasis_unsubscribe: Internal error: subscription has invalid topic/;
/** The machine is slower than the messages of the engine's bus; the engine keeps them all. No configuration is the cause. */
const BACKLOG = /taskprocessor_push: Taskprocessor '[^']+' queue reached \d+ scheduled tasks/;
const harmless = (line: string): boolean =>
  BACKLOG.test(line) ||
  LEG_GONE.test(line) ||
  BUS_RACE.test(line) ||
  MUSIC_CUT.test(line) ||
  EARLY_PACKET.every((part) => line.includes(part));

/** The configuration of this engine as a service that was just started has it. */
export const configOf = (engine: TestEngine, more: Partial<EngineConfigOptions> = {}): AsteriskConfig =>
  new AsteriskConfig({
    instance: engine.instance,
    settings: engine.settings,
    program: () => engine.program,
    clock: systemClock,
    log: silent,
    ...more,
  });

export async function startTestEngine(
  site: Site,
  {
    host = '127.0.0.1',
    node,
    port,
    ...more
  }: Pick<InstanceSettings, 'doctor_secret' | 'engine_secret' | 'sip_proxies'> & {
    readonly zone?: string;
    readonly host?: string | undefined;
    readonly node?: string;
    readonly port?: number;
  } = {},
): Promise<TestEngine> {
  const cache = process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook');
  const found = await obtainAsterisk({ cache, explicit: process.env['OFFHOOK_ASTERISK'] ?? '' });
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-conf-'));
  const program = await withShortSounds(found, path.join(folder, 'program'));
  const instance = await createInstance(folder, {
    ports: await enginePorts(),
    ...(node === undefined ? {} : { node }),
  });
  const server = { host, port: port ?? (await freePort()) };
  const settings: InstanceSettings = {
    sip: server,
    rtp: { from: 30_000, to: 30_999 },
    zone: 'Europe/Istanbul',
    ...more,
    tls_files: {
      certificate: path.join(tlsDir(instance), 'certificate.pem'),
      key: path.join(tlsDir(instance), 'key.pem'),
      trusted: path.join(tlsDir(instance), 'trusted.pem'),
    },
  };
  const write = (s: Site): Promise<readonly string[]> =>
    writeFiles(etcDir(instance), renderSite(s, instance, program, settings));
  await prepareFolders(instance);
  await write(site);
  const boot = async () => {
    const engine = new EngineProcess({ program, instance, log: silent, clock: systemClock });
    const from = performance.now();
    engine.start();
    await engine.up(AbortSignal.timeout(PATIENCE_MS)).catch(async (error: unknown) => {
      await engine.stop();
      throw error;
    });
    return { engine, boot_ms: performance.now() - from };
  };
  let running = await boot();
  const cli = (text: string): Promise<string> => engineConsole(program, instance, text);
  const read = (file: string): Promise<string[]> =>
    readFile(file, 'utf8').then(
      (text) => text.split('\n'),
      () => [],
    );
  const records = (): Promise<string[]> => read(celFile(instance));
  const heard = async (extension: string): Promise<string[]> =>
    (await records()).flatMap((line) => {
      const m = PROMPT.exec(line);
      return m?.[1] === extension ? [m[2]!] : [];
    });
  return {
    program,
    instance,
    settings,
    server,
    get boot_ms() {
      return running.boot_ms;
    },
    cli,
    records,
    heard,
    write,
    ami: (signal) =>
      AmiConnection.forActions(instance, {
        clock: systemClock,
        log: silent,
        ...(signal === undefined ? {} : { signal }),
      }),
    async warnings() {
      const lines = await read(consoleFile(instance));
      return lines.filter((line) => / (WARNING|ERROR)\[/.test(line) && !harmless(line));
    },
    async members(queue) {
      const shown = await cli(`queue show ${queue}`);
      return [...shown.matchAll(MEMBER)]
        .map(([, extension, rest]) => {
          const paused = /\(paused:?([a-z]*)/.exec(rest!);
          const state = /\(([A-Z][A-Za-z ]+)\)$/.exec(rest!)?.[1];
          return `${extension}${paused ? ` paused:${paused[1]}` : ''} ${state}`;
        })
        .sort();
    },
    async hears(extension, prompt) {
      let all: string[] = [];
      await until(
        `${extension} to hear ${prompt} last`,
        async () => (all = await heard(extension)).at(-1) === prompt,
        { seen: () => all.slice(-5) },
      );
    },
    async idle() {
      await until('an engine without channels', async () =>
        /^0 active channels/m.test(await cli('core show channels count')),
      );
    },
    async dial(from, code) {
      const ends = async (): Promise<number> =>
        (await records()).filter((line) => CHANNEL_END.exec(line)?.[1] === from.extension).length;
      const [before, ended] = [(await heard(from.extension)).length, await ends()];
      const call = await from.invite(code);
      let prompts: string[] = [];
      await until(`a prompt for ${code} from ${from.extension}, or its end`, async () => {
        // A call that was answered has records up to its end.
        const over = call.state === 'ended' && (call.status !== 200 || (await ends()) > ended);
        prompts = (await heard(from.extension)).slice(before);
        return prompts.length > 0 || over;
      });
      await call.hangup();
      return prompts.join(' ');
    },
    async restart() {
      await running.engine.stop();
      running = await boot();
    },
    async [Symbol.asyncDispose]() {
      await running.engine.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
