/** The process edge: signals, exit code, hard deadline. */
import { ConfigError, readConfig } from '../boot/config.ts';
import { ServiceError, StartError, messageOf } from '../core/errors.ts';
import { unlockFolder } from '../core/folder-lock.ts';
import { endOnFault } from '../core/last-resort.ts';
import { startService } from '../boot/service.ts';
import { runHome } from '../boot/home.ts';
import { standBy } from '../boot/standby.ts';
import { startWebNode } from '../boot/web.ts';
import type { Config } from '../boot/config.ts';

const STOP_DEADLINE_MS = 30_000;

// Files of a site are for its owner only, whatever the permissions of their folder.
process.umask(0o077);

const stopping = new AbortController();
/** SIGUSR2 stops only the service, for an update: the engine and its calls continue, and the next service adopts it. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;
for (const name of SIGNALS) {
  process.on(name, () => {
    if (stopping.signal.aborted) return;
    process.stdout.write(`\n  ${name === 'SIGINT' ? 'Ctrl-C' : name}: stopping…\n`);
    stopping.abort(name);
    setTimeout(() => {
      process.stderr.write(`the stop took longer than ${STOP_DEADLINE_MS / 1000} s; ending\n`);
      process.kill(process.pid, 'SIGKILL');
    }, STOP_DEADLINE_MS).unref();
  });
}

/** Replaces this process by a fresh one with the same pid, which stands by. */
function beginAnew(folder: string): never {
  unlockFolder(folder);
  const [program, ...args] = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  return process.execve!(program, [program, ...args], process.env);
}
/** Waits, where the site has several nodes, until this one leads it; false at the stop. */
const leads = async (config: Config): Promise<boolean> =>
  config.node === null ||
  (await standBy({
    config,
    signal: stopping.signal,
    print: (text) => void process.stdout.write(text),
  }));

/** Runs a web node until the stop; the process begins anew if its copy of the events differs from the log. */
async function runWebNode(config: Config): Promise<void> {
  const print = (text: string): void => void process.stdout.write(text);
  const node = await startWebNode({ config, signal: stopping.signal, print });
  if (node === null) return;
  await node.closed;
  const { failure } = node;
  if (failure !== null) process.stderr.write(`Offhook begins anew: ${failure}\n`);
  await node[Symbol.asyncDispose]();
  if (failure !== null && !stopping.signal.aborted) beginAnew(config.data);
}
let data: string | null = null;
endOnFault({ data: () => data, end: () => stopping.abort('fault') });

try {
  const config = readConfig(process.env, process.argv.slice(2));
  data = config.data;
  if (config.nodeRole === 'web') await runWebNode(config);
  else if (config.nodeRole === 'home')
    await runHome({ config, signal: stopping.signal, print: (text) => void process.stdout.write(text) });
  else if (await leads(config)) {
    const service = await startService(config, stopping.signal);
    await service.closed;
    const { anew, standsBy, deposed, failure } = service;
    if (failure !== null)
      process.stderr.write(`Offhook ${standsBy ? 'no longer leads the site' : 'ends'}: ${failure}\n`);
    // The unwritten events of a deposed process are no longer valid, and waiting for them would only delay its clients.
    if (deposed && !stopping.signal.aborted) beginAnew(config.data);
    // After an internal error too: the calls continue, and the next service adopts the engine.
    if (
      stopping.signal.reason === 'SIGUSR2' ||
      stopping.signal.reason === 'fault' ||
      failure !== null ||
      anew ||
      standsBy
    )
      service.keepEngine();
    if (failure !== null) process.exitCode = 1;
    await service[Symbol.asyncDispose]();
    if ((anew || standsBy) && !stopping.signal.aborted) beginAnew(config.data);
  }
  process.stdout.write('  Stopped.\n');
} catch (error) {
  process.exitCode ??= 1;
  const code = error instanceof StartError || error instanceof ServiceError ? ` (${error.code})` : '';
  const what = error instanceof ConfigError ? 'Wrong settings:\n' : `Offhook could not start${code}: `;
  process.stderr.write(`${what}${messageOf(error)}\n`);
}
