/** P19: signing in, with its limit, the key derivation alone. */
import { startFakeAmi } from '../../server/test/support/fake-ami.ts';
import { signIn, together } from '../http-client.ts';
import {
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  ask,
  atLeast,
  atMost,
  cpuOf,
  end,
  figure,
  firstLine,
  interleave,
  ratiosOf,
  start,
  temporaryFolder,
} from '../lib.ts';
import type { Row } from '../lib.ts';
import { PASSWORD, extensionOf, fillSite } from '../site-data.ts';

const CONCURRENCY = 16;
const LOGINS = 60;
const PEOPLE = 200;

export async function p19(): Promise<Row> {
  using folder = temporaryFolder();
  const data = folder.path;
  await using engine = await startFakeAmi();
  await fillSite(data, { extensions: PEOPLE, queues: 0, agentsPerQueue: 0 });
  const service = start('service-subject.ts', [data, engine.port], SUBJECT_CORE, SERVICE_FLAGS);
  try {
    const { port } = await firstLine<{ port: number }>(service);
    const delays: number[] = [];
    let next = 0;
    const measure = async (who: string): Promise<{ cpu: number; rate: number }> => {
      const before = cpuOf(service.pid!);
      const began = performance.now();
      let count = LOGINS;
      if (who === 'hashes') {
        ({ count } = await ask<{ count: number }>(service, {
          ask: 'hashes',
          concurrency: CONCURRENCY,
          ms: 1_500,
        }));
      } else {
        await ask(service, { ask: 'delay' });
        const names = Array.from({ length: LOGINS }, () => extensionOf(next++ % PEOPLE));
        await together(names, CONCURRENCY, async (name) => {
          await signIn(`http://127.0.0.1:${port}`, name, PASSWORD);
        });
        delays.push((await ask<{ p99: number }>(service, { ask: 'delay' })).p99);
      }
      const seconds = (performance.now() - began) / 1000;
      return { cpu: (cpuOf(service.pid!) - before) / count, rate: count / seconds };
    };
    await measure('logins');
    delays.length = 0;
    const costs = await interleave(['logins', 'hashes'], ROUNDS, measure);
    const cpu = (who: string): number[] => (costs.get(who) ?? []).map((c) => c.cpu);
    const rate = (who: string): number[] => (costs.get(who) ?? []).map((c) => c.rate);
    const share = ratiosOf(cpu('hashes'), cpu('logins'));
    return {
      id: 'P19',
      title: 'Signing in, 16 at once on one core',
      figures: [
        figure('Offhook', 'sign-ins/s', 'ours', rate('logins')),
        figure('Offhook', 'µs CPU/sign-in', 'ours', cpu('logins')),
        figure('argon2id alone', 'hashes/s', 'limit', rate('hashes')),
        figure('argon2id alone', 'µs CPU/hash', 'limit', cpu('hashes')),
        figure('share of the key derivation alone', '×', 'ours', share, 'lower'),
        figure('delay of the event loop meanwhile, p99', 'ms', 'ours', delays),
      ],
      gates: [
        atLeast('share of the key derivation alone', 0.9, share, '×'),
        atMost('delay of the event loop meanwhile, p99', 20, delays, ' ms'),
      ],
    };
  } finally {
    await end(service);
  }
}
