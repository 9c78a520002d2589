/** The process edge: signals, exit code, hard deadline. */
import { ConfigError, readConfig } from '../boot/config.ts';
import { ServiceError, StartError, messageOf } from '../core/errors.ts';
import { endOnFault } from '../core/last-resort.ts';
import { startService } from '../boot/service.ts';

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

let data: string | null = null;
endOnFault({ data: () => data, end: () => stopping.abort('fault') });

try {
  const config = readConfig(process.env, process.argv.slice(2));
  data = config.data;
  const service = await startService(config, stopping.signal);
  await service.closed;
  // After an internal error too: the calls continue, and the next service adopts the engine.
  if (stopping.signal.reason === 'SIGUSR2' || stopping.signal.reason === 'fault' || service.failure !== null)
    service.keepEngine();
  if (service.failure !== null) {
    process.exitCode = 1;
    process.stderr.write(`Offhook ends: ${service.failure}\n`);
  }
  await service[Symbol.asyncDispose]();
  process.stdout.write('  Stopped.\n');
} catch (error) {
  process.exitCode ??= 1;
  const code = error instanceof StartError || error instanceof ServiceError ? ` (${error.code})` : '';
  const what = error instanceof ConfigError ? 'Wrong settings:\n' : `Offhook could not start${code}: `;
  process.stderr.write(`${what}${messageOf(error)}\n`);
}
