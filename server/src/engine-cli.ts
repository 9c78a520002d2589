import { engineCommand } from './adapters/asterisk/process/control.ts';
import { loadInstance } from './adapters/asterisk/process/instance-file.ts';
import { findLiving } from './adapters/asterisk/process/living.ts';
import { SETTINGS } from './config.ts';
import { messageOf } from './core/errors.ts';

/**
 * `npm run engine -- "queue show"`: prints what this site's own Asterisk answers. Several arguments are one command,
 * joined by blanks. The exit code is 1 when no engine of this site runs or it did not answer, 2 for a wrong use.
 */
async function main(args: readonly string[]): Promise<number> {
  const text = args.join(' ').trim();
  if (text === '') {
    console.error('Usage: npm run engine -- "queue show"');
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
