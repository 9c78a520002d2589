/**
 * `npm run node -- server/test/faults/bus-delay.ts [--events 400]`: the delay from the leading node to clients of two web nodes, one
 * woken by NATS and one that polls, in one run: for each event the time at the client of each web node less that at a client of the
 * leading node. Prints the quantiles in ms.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { signIn } from '../support/api.ts';
import { startNats } from '../support/nats.ts';
import { startPostgres } from '../support/postgres.ts';
import { startSite } from '../support/site.ts';
import { openWs } from '../support/ws-client.ts';

const { values } = parseArgs({ options: { events: { type: 'string', default: '400' } } });
const events = Number(values.events);
await using server = await startPostgres();
await using nats = await startNats();
const url = await server.createDatabase();
const env = { OFFHOOK_DATABASE_URL: url, OFFHOOK_SITE_STORE: 'postgres' };
const woken = { ...env, OFFHOOK_NATS: nats.url };
await using leader = await startSite({ env: { ...woken, OFFHOOK_NODE: 'a' } });
await using byNats = await startSite({ env: { ...woken, OFFHOOK_NODE: 'w1', OFFHOOK_NODE_ROLE: 'web' } });
await using polling = await startSite({ env: { ...env, OFFHOOK_NODE: 'w2', OFFHOOK_NODE_ROLE: 'web' } });
const { password } = (await leader.credentials()).find((one) => one.extension === '1001')!;
const boss = await signIn(leader.base, '1001', password);
await (await leader.person('1003')).agent('login');

/** Times of arrival by seq, read as soon as the bytes are there. */
async function listen(base: string) {
  const client = await openWs({ port: Number(new URL(base).port), token: boss.token });
  client.send({ op: 'subscribe', id: 1, topics: ['agents'] });
  await client.next('subscribed');
  const at = new Map<number, number>();
  let read = client.frames.length;
  client.socket.on('data', () => {
    const now = performance.now();
    for (; read < client.frames.length; read += 1) {
      const frame = client.frames[read]!;
      if (frame.op === 'event') at.set(frame.event.seq, now);
    }
  });
  return { client, at };
}
const [home, one, two] = [await listen(leader.base), await listen(byNats.base), await listen(polling.base)];
for (let n = 0; home.at.size < events; n += 1) {
  const [verb, body] = n % 2 === 0 ? ['pause', '{"reason":"training"}'] : ['unpause', '{}'];
  await fetch(`${leader.base}/api/v1/agents/1003/${verb}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${boss.token}`, 'content-type': 'application/json' },
    body,
  });
  // No multiple of the interval of polls.
  await wait(31 + (n % 47));
}
await wait(500);
const delays = (at: ReadonlyMap<number, number>): number[] =>
  [...home.at].flatMap(([seq, then]) => (at.has(seq) ? [at.get(seq)! - then] : [])).toSorted((a, b) => a - b);
for (const [what, { at }] of [
  ['woken by NATS', one],
  ['polling', two],
] as const) {
  const all = delays(at);
  const quantile = (share: number): string => all[Math.floor(share * (all.length - 1))]!.toFixed(1);
  console.log(
    `${what}: p50 ${quantile(0.5)}, p99 ${quantile(0.99)} ms of ${all.length} of ${home.at.size} events`,
  );
}
for (const { client } of [home, one, two]) await client[Symbol.asyncDispose]();
