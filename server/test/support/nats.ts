import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { connect } from '@nats-io/transport-node';
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node';
import { SETTINGS } from '../../src/boot/settings.ts';
import { makeNatsServer } from '../../src/boot/nats-server.ts';
import { freePort } from './ports.ts';
import { PATIENCE_MS, until } from './until.ts';

/** A real server for a test, on a free loopback port, removed with the test. */
export interface TestNats extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** A connection of a program of the test's own. */
  connect(): Promise<NatsConnection & AsyncDisposable>;
  /** Stops the server, as on a machine that hangs, until `resume`. */
  freeze(): void;
  resume(): void;
  kill(): Promise<void>;
  /** Starts it again on its data, with these lines of a configuration file instead of the former ones where they are given. */
  start(lines?: string): Promise<void>;
}
/** `config`: lines of a configuration file, for what the command line cannot say; `access`: how a test's own program connects then. */
export async function startNats(config = '', access: ConnectionOptions = {}): Promise<TestNats> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-nats-'));
  const { command, url } = await makeNatsServer({
    cache: SETTINGS.cache.parse(process.env['OFFHOOK_CACHE'] ?? SETTINGS.cache.initial)!,
    folder,
    port: await freePort(),
    progress: (line) => console.error(`NATS for tests: ${line}`),
  });
  const configFile = path.join(folder, 'nats.conf');
  let child: ChildProcess;
  const open = async () => {
    const connection = await connect({
      servers: url.replace('nats://', ''),
      timeout: PATIENCE_MS,
      reconnect: false,
      ...access,
    });
    return Object.assign(connection, { [Symbol.asyncDispose]: () => connection.close() });
  };
  async function start(lines?: string): Promise<void> {
    if (lines !== undefined) await writeFile(configFile, lines);
    const [file = '', ...args] = command;
    let said = '';
    child = spawn(file, [...args, '--config', configFile], { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr!.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-2_000)));
    await until(
      'NATS to answer',
      async () => {
        await (await open()).close();
        return true;
      },
      { every: 50, seen: () => ({ said }) },
    );
  }
  async function kill(): Promise<void> {
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }
  await start(config);
  return {
    url,
    get pid() {
      return child.pid!;
    },
    connect: open,
    freeze: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    kill,
    start,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
