/** P30: the desk phones of a site fetch their configuration after a power cut, with the limit: their files from memory. */
import http from 'node:http';
import { once } from 'node:events';
import path from 'node:path';
import { openSqliteStore } from '../../server/src/adapters/sqlite/store.ts';
import { putObjects } from '../../server/src/features/pbx-config/put.ts';
import { startExchange } from '../exchange.ts';
import { request, signIn, together } from '../http-client.ts';
import { QUICK, ROUNDS, atMost, count, figure, interleave, quantile } from '../lib.ts';
import type { Row } from '../lib.ts';
import { PASSWORD, extensionOf } from '../site-data.ts';

const PHONES = QUICK ? 100 : 1_000;
const AT_ONCE = 50;
const macOf = (i: number): string => `805ec0${i.toString(16).padStart(6, '0')}`;

interface Round {
  readonly seconds: number;
  readonly p99: number;
}
export async function p30(): Promise<Row> {
  await using site = await startExchange({ extensions: PHONES, queues: 0, agentsPerQueue: 0 }, true, {
    async prepare(data) {
      const store = await openSqliteStore(path.join(data, 'offhook.db'));
      await putObjects(store, {
        phone_layout: [
          {
            name: 'desk',
            title: 'Desk',
            keys: Array.from({ length: 10 }, (_, i) => ({
              does: 'extension' as const,
              value: extensionOf(i),
            })),
          },
        ],
        phone: Array.from({ length: PHONES }, (_, i) => ({
          name: `phone-${i}`,
          vendor: 'yealink',
          mac: macOf(i),
          extensions: [extensionOf(i)],
          layout: 'desk',
        })),
      });
      await store.close();
    },
  });
  const token = await signIn(site.base, '1001', PASSWORD);
  const files = new Map<string, string>();
  const phones = Array.from({ length: PHONES }, (_, i) => i);
  await together(phones, AT_ONCE, async (i) => {
    const answer = await request(`${site.base}/api/v1/phones/phone-${i}/hand-over`, {
      method: 'POST',
      token,
    });
    const { address } = JSON.parse(answer.body) as { address?: string };
    if (address === undefined) throw new Error(`${answer.status} ${answer.body}`);
    files.set(`${address.replace(/\/$/, '')}/${macOf(i)}.cfg`, '');
  });
  const fetchAll = async (
    urls: readonly string[],
    keep: (url: string, body: string) => void,
  ): Promise<Round> => {
    const ms: number[] = [];
    const began = performance.now();
    await together(urls, AT_ONCE, async (url) => {
      const from = performance.now();
      const { status, body } = await request(url);
      ms.push(performance.now() - from);
      if (status !== 200 || !body.includes('account.1.')) throw new Error(`${status} ${body.slice(0, 200)}`);
      keep(url, body);
    });
    return { seconds: (performance.now() - began) / 1_000, p99: quantile(ms, 0.99) };
  };
  const own = [...files.keys()];
  await fetchAll(own, (url, body) => files.set(url, body));
  // The same bytes from memory, as a folder of files behind a web server at its best.
  const plain = http.createServer(({ url = '' }, response) => response.end(files.get(site.base + url)));
  plain.listen(0, '127.0.0.1');
  await once(plain, 'listening');
  try {
    const there = `http://127.0.0.1:${(plain.address() as { port: number }).port}`;
    const urls = { ours: own, memory: own.map((url) => there + new URL(url).pathname) };
    const rounds = await interleave(Object.keys(urls), ROUNDS, (who) =>
      fetchAll(urls[who as keyof typeof urls], () => undefined),
    );
    const seconds = (who: string): number[] => (rounds.get(who) ?? []).map((one) => one.seconds);
    const p99 = (rounds.get('ours') ?? []).map((one) => one.p99);
    return {
      id: 'P30',
      title: `${count(PHONES)} desk phones fetch their configuration, ${AT_ONCE} at once`,
      figures: [
        figure('Offhook, until the last', 's', 'ours', seconds('ours')),
        figure('Offhook, one fetch, p99', 'ms', 'ours', p99),
        figure('the same files from memory', 's', 'limit', seconds('memory')),
      ],
      gates: [
        atMost('until the last phone has its configuration', 60, seconds('ours'), ' s'),
        atMost('one fetch, p99', 1_000, p99, ' ms'),
      ],
      notes: ['Files of Yealink with ten keys, made anew for each fetch; token and MAC address are checked.'],
    };
  } finally {
    plain.close();
    plain.closeAllConnections();
  }
}
