/**
 * `node scripts/start.mjs get-engine`: gets the engine into the cache and ends, so that an image can hold it and a
 * machine can be prepared before it loses its network.
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
