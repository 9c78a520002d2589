import { engineCommand } from '../adapters/asterisk/process/control.ts';
import { loadInstance } from '../adapters/asterisk/process/instance-file.ts';
import { findLiving } from '../adapters/asterisk/process/living.ts';
import { ownAsterisk, packageAge, updateAsterisk } from '../adapters/asterisk/provision/asterisk.ts';
import { SETTINGS } from '../boot/settings.ts';
import { readConfig } from '../boot/config.ts';
import { PACKAGES_OLD_MS } from '../ports/engine-site.ts';
import { messageOf } from '../core/errors.ts';

const USAGE = 'Usage: npm run engine -- "queue show"   or   npm run engine -- --update';

/**
 * `npm run engine -- --update`: downloads newer packages of the engine into the cache. The engine uses them at its next
 * start; the previous ones stay until it ran. The exit code is 1 if they are not available, or if the site runs an
 * Asterisk that this service did not install.
 */
async function update(): Promise<number> {
  const { cache, asterisk, debianMirrors, debianSecurity } = readConfig(process.env);
  const own = await ownAsterisk({ cache, explicit: asterisk });
  if (own !== null) {
    console.error(`This site runs ${own}, which comes from this machine: update it there`);
    return 1;
  }
  const { program, changes } = await updateAsterisk({
    cache,
    mirrors: debianMirrors ?? undefined,
    security: debianSecurity ?? undefined,
    progress: (line) => console.error(line),
  });
  if (changes.length === 0) {
    console.log(`Asterisk ${program.version}: nothing newer`);
    const age = await packageAge(program);
    if (age !== null && Date.now() - age.as_of >= PACKAGES_OLD_MS)
      console.log(
        `The newest index of the mirror is of ${new Date(age.as_of).toISOString().slice(0, 10)}; name a mirror that is up to date in ${SETTINGS.debianMirrors.name}.`,
      );
    return 0;
  }
  console.log(`Asterisk ${program.version}: ${changes.length} packages are newer`);
  for (const line of changes) console.log(`  ${line}`);
  console.log(
    'The engine takes them at its next start; npm run engine -- "core stop when convenient" brings that about once no call is left.',
  );
  return 0;
}

/**
 * `npm run engine -- "queue show"`: prints the reply of this site's own Asterisk. Several arguments form one command,
 * joined by blanks. The exit code is 1 when no engine of this site runs or it did not answer, 2 for wrong usage.
 */
async function main(args: readonly string[]): Promise<number> {
  const text = args.join(' ').trim();
  if (text === '--update') return await update();
  if (text === '' || text.startsWith('--')) {
    console.error(USAGE);
    return 2;
  }
  const data = SETTINGS.data.parse(process.env[SETTINGS.data.name] ?? SETTINGS.data.initial);
  if (data === undefined) {
    console.error(`${SETTINGS.data.name}: expected ${SETTINGS.data.expects}`);
    return 2;
  }
  const instance = loadInstance(data);
  const living = instance === null ? null : findLiving(instance);
  if (instance === null || living === null) {
    console.error(`No engine of this site runs (data folder ${data}); start it with: npm start`);
    return 1;
  }
  const { stdout } = await engineCommand(living, instance, text, { timeout_ms: 30_000 });
  process.stdout.write(stdout);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
