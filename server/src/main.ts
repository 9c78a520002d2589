/** The process edge: signals, exit code, hard deadline. */
import { ConfigError, readConfig } from './config.ts';
import { messageOf } from './core/errors.ts';
import { startService } from './service.ts';

const STOP_DEADLINE_MS = 30_000;

const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    if (stopping.signal.aborted) return;
    process.stdout.write(`\n  ${name === 'SIGINT' ? 'Ctrl-C' : name}: stopping…\n`);
    stopping.abort(name);
  });
}

try {
  await using service = await startService(readConfig(process.env, process.argv.slice(2)), stopping.signal);
  await service.closed;
  setTimeout(() => {
    process.stderr.write(`the stop took longer than ${STOP_DEADLINE_MS / 1000} s; ending\n`);
    process.kill(process.pid, 'SIGKILL');
  }, STOP_DEADLINE_MS).unref();
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(
    `${error instanceof ConfigError ? 'Wrong settings:\n' : 'Offhook could not start: '}${messageOf(error)}\n`,
  );
}
