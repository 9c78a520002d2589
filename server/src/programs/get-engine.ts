/**
 * `node scripts/start.mjs get-engine`: downloads the engine into the cache and ends, for an image or for a machine that
 * will have no network.
 */
import { readConfig } from '../boot/config.ts';
import { messageOf } from '../core/errors.ts';
import { obtainAsterisk } from '../adapters/asterisk/provision/asterisk.ts';

try {
  const { cache, asterisk, debianMirrors, debianSecurity } = readConfig(process.env);
  const program = await obtainAsterisk({
    cache,
    explicit: asterisk,
    mirrors: debianMirrors ?? undefined,
    security: debianSecurity ?? undefined,
    progress: (line) => console.error(line),
  });
  console.log(`Asterisk ${program.version} (${program.origin}): ${program.command.at(-1)}`);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
