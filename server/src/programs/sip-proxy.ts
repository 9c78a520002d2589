/**
 * `npm run sip-proxy`: Kamailio in front of the engine nodes of a site (docs/nodes.md), until Ctrl-C or SIGTERM.
 * SIGUSR2 ends only this program, for an update: the next one on the same data folder adopts the running proxy.
 */
import { ConfigError, readConfig } from '../boot/config.ts';
import { runSipProxy } from '../boot/sip-proxy.ts';
import { StartError, messageOf } from '../core/errors.ts';

process.umask(0o077);
const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const)
  process.on(name, () => stopping.abort(name));

try {
  await runSipProxy(readConfig(process.env, process.argv.slice(2)), stopping.signal, (text) => {
    process.stdout.write(text);
  });
  process.stdout.write('  Stopped.\n');
} catch (error) {
  process.exitCode = 1;
  const code = error instanceof StartError ? ` (${error.code})` : '';
  const what = error instanceof ConfigError ? 'Wrong settings:\n' : `The SIP proxy could not start${code}: `;
  if (!stopping.signal.aborted) process.stderr.write(`${what}${messageOf(error)}\n`);
}
