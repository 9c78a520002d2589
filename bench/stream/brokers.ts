/** Message servers of Debian's packages as peers: Redis, and NATS with JetStream. Their clients speak to them directly. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SETTINGS } from '../../server/src/boot/settings.ts';
import { obtainPackages } from '../../server/src/adapters/asterisk/provision/packages.ts';
import { startNats } from '../../server/test/support/nats.ts';
import { freePort } from '../../server/test/support/ports.ts';
import { until } from '../../server/test/support/until.ts';
import { SUBJECT_CORE, atExit, moveTo, temporaryFolder } from '../lib.ts';
import { openRedis } from './redis.ts';

export type BrokerName = 'redis' | 'jetstream';
/** A running server, bound to the core of the subjects. */
export interface Broker extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}
/** More clients than any row has. */
const MOST_CLIENTS = 20_000;

/**
 * The append-only file is flushed once a second, because the system flushes our journal too, and not for each event.
 */
async function startRedis(): Promise<Broker> {
  const tree = await obtainPackages({
    cache: SETTINGS.cache.parse(process.env['OFFHOOK_CACHE'] ?? SETTINGS.cache.initial)!,
    packages: ['redis-server'],
    progress: (line) => process.stderr.write(`Redis for the figures: ${line}\n`),
  });
  const folder = temporaryFolder();
  const port = await freePort();
  const [program = '', ...args] = tree.command('usr/bin/redis-server');
  const settings = {
    bind: '127.0.0.1',
    port,
    dir: folder.path,
    maxclients: MOST_CLIENTS,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
  };
  const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(program, [...args, ...words], { stdio: ['ignore', 'ignore', 'inherit'] });
  const closed = once(child, 'close');
  const forget = atExit(() => child.kill('SIGKILL'));
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await closed;
    forget();
    folder[Symbol.dispose]();
  };
  try {
    await until('Redis to answer', async () => {
      const client = await openRedis(port).catch(() => null);
      client?.close();
      return client !== null;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  moveTo(SUBJECT_CORE, child.pid!);
  return { port, pid: child.pid!, [Symbol.asyncDispose]: stop };
}
/** The server flushes its files every two minutes. `max_pending` has room for all events that a client missed. */
async function startJetStream(): Promise<Broker> {
  const server = await startNats('max_pending: 256MB');
  const forget = atExit(() => process.kill(server.pid, 'SIGKILL'));
  moveTo(SUBJECT_CORE, server.pid);
  return {
    port: Number(new URL(server.url).port),
    pid: server.pid,
    async [Symbol.asyncDispose]() {
      forget();
      await server[Symbol.asyncDispose]();
    },
  };
}
export const startBroker = (name: BrokerName): Promise<Broker> =>
  name === 'redis' ? startRedis() : startJetStream();
