import { writeFile } from 'node:fs/promises';
import { diagnose } from '../adapters/asterisk/doctor/doctor.ts';
import { loadInstance } from '../adapters/asterisk/process/instance-file.ts';
import { findLiving } from '../adapters/asterisk/process/living.ts';
import { SETTINGS } from '../boot/config.ts';
import { doctorFile } from '../boot/doctor-file.ts';
import { siteKey, siteSecret } from '../boot/site-key.ts';
import { systemClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';

/**
 * `npm run doctor`: proves each way to this site's engine by a registration, a call and its media, and prints a sentence for
 * each. The exit code is 1 when one of them fails or no engine of this site runs.
 */
async function main(): Promise<number> {
  const data = SETTINGS.data.parse(process.env[SETTINGS.data.name] ?? SETTINGS.data.initial);
  const instance = data === undefined ? null : loadInstance(data);
  if (data === undefined || instance === null || findLiving(instance) === null) {
    console.error(`No engine of this site runs (data folder ${data}); start it with: npm start`);
    return 1;
  }
  const turnSecret = siteSecret(await siteKey(data), 'turn');
  const ways = await diagnose(instance, { clock: systemClock, turnSecret });
  for (const { way, ok, detail } of ways) console.log(`${ok ? 'ok  ' : 'FAIL'} ${way.padEnd(5)} ${detail}`);
  await writeFile(doctorFile(data), JSON.stringify({ at: Date.now(), ways }), { mode: 0o600 });
  return ways.every(({ ok }) => ok) ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
