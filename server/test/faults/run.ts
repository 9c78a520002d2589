/**
 * `npm run faults -- --seeds 20 --minutes 30 [--from 1]`: a site in PostgreSQL for each seed, its service and its database killed,
 * frozen and restarted by chance of the seed; each seed gets an equal part of the time. Prints what happened, and ends with 1 where
 * something was lost or doubled.
 *
 * `npm run faults -- --failovers 2`: two engine nodes behind a SIP proxy instead; the one that leads is killed, frozen and cut off from
 * the database, twice each, while calls, agents and clients of the stream are at work.
 */
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/core/errors.ts';
import { startPostgres } from '../support/postgres.ts';
import { runFailovers } from './failovers.ts';
import { noFaults, runServerFaults } from '../support/server-faults.ts';
import type { FaultCounts } from '../support/server-faults.ts';
import { startSite } from '../support/site.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '5' },
    from: { type: 'string', default: '1' },
    failovers: { type: 'string' },
  },
});
const number = (name: keyof typeof values): number => {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name}: expected a number from 1`);
  return value;
};
if (values.failovers !== undefined) {
  await runFailovers(number('failovers'), console.log);
  process.exit(0);
}
const [seeds, minutes, from] = [number('seeds'), number('minutes'), number('from')];
const total = noFaults();
const failed: number[] = [];

for (let seed = from; seed < from + seeds; seed += 1) {
  await using server = await startPostgres();
  const url = await server.createDatabase();
  await using site = await startSite({
    env: { OFFHOOK_DATABASE_URL: url, OFFHOOK_SITE_STORE: 'postgres' },
  });
  for (const extension of ['1003', '1004', '1005']) await (await site.person(extension)).agent('login');
  const until = performance.now() + (minutes * 60_000) / seeds;
  const over = (): boolean => performance.now() > until;
  try {
    const counts = await runServerFaults({ site, server, url, seed, over });
    for (const name of Object.keys(total) as (keyof FaultCounts)[])
      if (name !== 'codes') total[name] += counts[name];
    console.log(`seed ${seed}: ${JSON.stringify(counts)}`);
  } catch (error) {
    failed.push(seed);
    console.log(`seed ${seed} FAILED: ${messageOf(error)}\n${site.tail()}`);
  }
}
console.log(
  `${seeds} seeds from ${from}: ${total.service_kills + total.database_kills} kills (${total.service_kills} of the service, ` +
    `${total.database_kills} of PostgreSQL), ${total.freezes} freezes, ${total.restarts} restarts; ${total.events} events, ` +
    `${total.calls} calls, ${total.changes} confirmed changes (${total.refused} requests refused, ${total.unanswered} unanswered). ` +
    (failed.length === 0 ? 'Nothing lost, nothing doubled.' : `Failed seeds: ${failed.join(', ')}.`),
);
process.exitCode = failed.length === 0 ? 0 : 1;
