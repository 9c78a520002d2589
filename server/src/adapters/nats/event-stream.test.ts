import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { jetstreamManager } from '@nats-io/jetstream';
import { startNats } from '../../../test/support/nats.ts';
import type { TestNats } from '../../../test/support/nats.ts';
import { until } from '../../../test/support/until.ts';
import { silent } from '../../core/log.ts';
import type { JournalRow } from '../../ports/journal-store.ts';
import { NatsEventStream } from './event-stream.ts';
import { NatsLink } from './link.ts';

let server: TestNats;
before(async () => {
  server = await startNats();
});
after(() => server[Symbol.asyncDispose]());

const rowsOf = (from: number, to: number, epoch = 'e'): JournalRow[] =>
  Array.from({ length: to - from + 1 }, (_, i) => {
    const seq = from + i;
    const json = JSON.stringify({ specversion: '1.0', id: `${epoch}:${seq}`, seq });
    return { seq, type: 'agent.ready', subject: 'agents/1003', at: seq, topics: 'agents', json };
  });
async function open(t: TestContext, name: string, site = name) {
  const link = new NatsLink({ urls: server.url, name: 'test', log: silent });
  t.after(() => link.close());
  await until('the connection', () => link.connection !== null);
  return new NatsEventStream(link, { name, site });
}
const stored = async (name: string): Promise<(readonly [string, number])[]> => {
  await using connection = await server.connect();
  const { streams } = await jetstreamManager(connection);
  const { state } = await streams.info(name);
  const found: (readonly [string, number])[] = [];
  for (let seq = 1; seq <= state.last_seq; seq += 1) {
    const message = await streams.getMessage(name, { seq });
    found.push([message!.header.get('Nats-Msg-Id'), (message!.json() as { seq: number }).seq]);
  }
  return found;
};

test('nats event stream - two writers at once store each event once, in order', async (t) => {
  const writers = [await open(t, 'race'), await open(t, 'race')];
  assert.deepEqual(await writers[0]!.open(), { at: 'begin' });
  const all = rowsOf(1, 300);
  let refused = 0;
  await Promise.all(
    writers.map(async (writer, i) => {
      for (let at = 0; at < 300;) {
        try {
          const end = await writer.open();
          at = end.at === 'event' ? end.event.seq : 0;
          while (at < 300) {
            const some = all.slice(at, at + 7 + i * 4);
            await writer.append(some);
            at = some.at(-1)!.seq;
          }
        } catch {
          refused += 1;
        }
      }
    }),
  );
  assert.deepEqual(
    await stored('race'),
    all.map(({ seq }) => [`e:${seq}`, seq]),
  );
  assert.ok(refused > 0, 'they met');
});
test('nats event stream - a repeat of what is stored is refused, and the next one goes on there', async (t) => {
  const writer = await open(t, 'again');
  await writer.open();
  await writer.append(rowsOf(1, 3));
  await assert.rejects(writer.append(rowsOf(2, 4)));
  const end = await writer.open();
  assert.deepEqual(end.at === 'event' && end.event.seq, 3);
  await writer.append(rowsOf(4, 4));
  assert.deepEqual(
    (await stored('again')).map(([, seq]) => seq),
    [1, 2, 3, 4],
  );
});
test('nats event stream - one of another site, or a server that is away, is refused', async (t) => {
  await (await open(t, 'mine', 'site-1')).open();
  await assert.rejects((await open(t, 'mine', 'site-2')).open(), /not one of this site/);
  const away = new NatsLink({ urls: 'nats://127.0.0.1:1', name: 'test', log: silent });
  t.after(() => away.close());
  await assert.rejects(new NatsEventStream(away, { name: 'x', site: 'x' }).open(), /127\.0\.0\.1:1/);
});
