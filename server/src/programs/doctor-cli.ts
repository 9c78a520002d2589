import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { diagnose } from '../adapters/asterisk/doctor/doctor.ts';
import { diagnoseFrom, passOf, readPass } from '../adapters/asterisk/doctor/outside.ts';
import type { PathFinding } from '@offhook/contract/path-check.ts';
import { loadInstance } from '../adapters/asterisk/process/instance-file.ts';
import { findLiving } from '../adapters/asterisk/process/living.ts';
import { SETTINGS } from '../boot/settings.ts';
import { doctorFile, ownOrigins, webOrigin } from '../boot/origins.ts';
import { siteKey, siteSecret } from '../boot/site-key.ts';
import { systemClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import { replaceFile } from '../core/files.ts';
import { turnLogin } from '../features/sessions/turn.ts';

/** Prints a line for each way; returns the exit code, which is 1 if a way fails. */
function report(ways: readonly PathFinding[]): number {
  const width = Math.max(5, ...ways.map(({ way }) => way.length));
  for (const { way, ok, detail } of ways)
    console.log(`${ok ? 'ok  ' : 'FAIL'} ${way.padEnd(width)} ${detail}`);
  return ways.every(({ ok }) => ok) ? 0 : 1;
}
/** Settings of the service; this command reads them from the same environment variables. */
function listening() {
  const of = ({ name, initial }: { readonly name: string; readonly initial: string }): string =>
    process.env[name] ?? initial;
  const { publicUrl, listen, httpsListen } = SETTINGS;
  return {
    publicUrl: publicUrl.parse(of(publicUrl)) ?? '',
    listen: listen.parse(of(listen)) ?? { host: '127.0.0.1', port: 8080 },
    httpsListen: httpsListen.parse(of(httpsListen)) ?? null,
  };
}

/**
 * `npm run doctor`: proves each way to this site's engine by a registration, a call and its media, and prints a line
 * for each. `--pass [host]` instead prints the data with which `--from <file>` proves the ways from another machine.
 * The exit code is 1 when a way fails or no engine of this site runs.
 */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { pass: { type: 'boolean' }, from: { type: 'string' } },
    allowPositionals: true,
  });
  if (values.from !== undefined) {
    const pass = readPass(await readFile(values.from, 'utf8'));
    const { findings, untried } = await diagnoseFrom(pass, systemClock);
    const code = report(findings);
    for (const why of untried) console.log(`Not tried: ${why}`);
    return code;
  }
  const data = SETTINGS.data.parse(process.env[SETTINGS.data.name] ?? SETTINGS.data.initial);
  const instance = data === undefined ? null : loadInstance(data);
  if (data === undefined || instance === null || findLiving(instance) === null) {
    console.error(`No engine of this site runs (data folder ${data}); start it with: npm start`);
    return 1;
  }
  const secret = siteSecret(await siteKey(data), 'turn');
  const signIn = (user: string, seconds: number) => turnLogin(secret, { user, now: Date.now(), seconds });
  if (values.pass === true) {
    const [host = null] = positionals;
    const web = webOrigin(listening());
    const pass = await passOf(instance, { host, web, signIn });
    console.log(JSON.stringify(pass, null, 2));
    return 0;
  }
  const ways: PathFinding[] = [];
  await diagnose(instance, {
    clock: systemClock,
    signIn,
    web: ownOrigins(listening().listen),
    found: (finding) => ways.push(finding),
    signal: new AbortController().signal,
  });
  await replaceFile(doctorFile(data), JSON.stringify({ at: Date.now(), ways }));
  return report(ways);
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
