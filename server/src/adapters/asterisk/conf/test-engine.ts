/** A real engine of its own for a test: rendered, booted on free ports, asked by its console, stopped and removed. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import type { Site } from '../../../ports/site.ts';
import { etcDir, logDir } from '../instance.ts';
import type { AsteriskProgram, Instance, InstanceSettings } from '../instance.ts';
import { engineCommand } from '../process/control.ts';
import { createInstance } from '../process/instance-file.ts';
import { superviseEngine } from '../process/supervise.ts';
import { obtainAsterisk } from '../provision/asterisk.ts';
import { renderSite } from './render.ts';
import { prepareFolders, writeFiles } from './write.ts';

export interface TestEngine extends AsyncDisposable {
  readonly program: AsteriskProgram;
  readonly instance: Instance;
  readonly settings: InstanceSettings;
  /** Where desk phones register. */
  readonly server: { readonly host: string; readonly port: number };
  /** From the start of the program to fully booted. */
  readonly boot_ms: number;
  /** What the console answers. */
  cli(text: string): Promise<string>;
  /** The engine's own log so far. */
  log(): Promise<string>;
  /** Renders and writes another site; returns the files that changed. Nothing is reloaded. */
  write(site: Site): Promise<readonly string[]>;
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function startTestEngine(site: Site): Promise<TestEngine> {
  const cache = process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook');
  const program = await obtainAsterisk({ cache, explicit: process.env['OFFHOOK_ASTERISK'] ?? '' });
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-conf-'));
  const instance = await createInstance(folder);
  const server = { host: '127.0.0.1', port: await freePort() };
  const settings: InstanceSettings = {
    sip: server,
    rtp: { from: 30_000, to: 30_999 },
    zone: 'Europe/Istanbul',
  };
  const write = (s: Site): Promise<readonly string[]> =>
    writeFiles(etcDir(instance), renderSite(s, instance, program, settings));
  await prepareFolders(instance);
  await write(site);
  const engine = superviseEngine({ program, instance, log: silent, clock: systemClock });
  const from = performance.now();
  engine.start();
  await engine.up(AbortSignal.timeout(30_000));
  return {
    program,
    instance,
    settings,
    server,
    boot_ms: performance.now() - from,
    cli: async (text) => (await engineCommand(program, instance, text)).stdout,
    log: () => readFile(path.join(logDir(instance), 'messages.log'), 'utf8'),
    write,
    async [Symbol.asyncDispose]() {
      await engine.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
