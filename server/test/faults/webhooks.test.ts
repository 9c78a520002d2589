import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { WebhookDeliveries, WebhookReply, WebhookSecretReply } from '@offhook/contract/webhooks.ts';
import { openSqliteJournal } from '../../src/adapters/sqlite/journal.ts';
import { openJournal } from '../../src/journal/journal.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { until } from '../support/until.ts';
import { ok, silence, startSink } from '../support/webhook-sink.ts';
import { presence } from '../support/webhooks-rig.ts';

const EVENTS = 1_000;
// Runs without an engine, because the journal already contains the events.
const WITHOUT_ENGINE = {
  wait: 'answers',
  env: { OFFHOOK_ASTERISK: '/nonexistent/asterisk', OFFHOOK_WEBHOOK_ALLOW: '127.0.0.1' },
} as const;

/** Commits `count` events to the journal of a stopped site; returns the first and the last seq. */
function happened(site: Site, count: number, word = 'note'): [from: number, to: number] {
  const store = openSqliteJournal(path.join(site.dataDir, 'journal.db'));
  const journal = openJournal({ store, node: nodeId('ast1') });
  const before = journal.head;
  journal.append(Array.from({ length: count }, (_, i) => presence('1003', `${word} ${i}`)));
  journal.close();
  return [before + 1, before + count];
}
/** Requests for webhooks, as an administrator. */
async function webhooksOf(site: Site) {
  const { token } = await site.person('1001');
  return async (method: string, url: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${site.base}/api/v1/webhooks${url}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${response.status} ${await response.clone().text()}`);
    return response.json();
  };
}

test('webhook faults - killed repeatedly between sending and writing: the same ids again, in order, none lost', async () => {
  await using sink = await startSink(silence);
  await using site = await startSite(WITHOUT_ENGINE);
  await site.stop();
  const [from, to] = happened(site, EVENTS);
  const before = from - 1;
  await site.start('answers');
  const call = await webhooksOf(site);
  // Each is received and never answered before the service is killed.
  const kills = [1, 600];
  const silentFrom = (most: number): void => {
    sink.answer = (one, response) => (one.seq! - before >= most ? silence : ok)(one, response);
  };
  silentFrom(kills[0]!);
  const made = await call('POST', '', { url: sink.url, topics: ['presence'] });
  const { id } = WebhookSecretReply.parse(made).webhook;
  await call('POST', `/${id}/replay`, { from, to });
  for (const [i, most] of kills.entries()) {
    await until(
      'the request that stays open',
      () => sink.received.at(-1)?.seq === before + most && sink.open === 1,
      { every: 1 },
    );
    await site.kill('SIGKILL');
    silentFrom(kills[i + 1] ?? Infinity);
    await site.start('answers');
  }
  await until('the last event', () => sink.received.at(-1)?.seq === to);
  await until('the end of the replay', async () => {
    const { webhook } = WebhookReply.parse(await call('GET', `/${id}`));
    return webhook.replay === null;
  });

  const ids = new Map<number, string>();
  let newest = before;
  for (const { seq, id: event } of sink.received) {
    assert.ok(seq! <= newest + 1, `${seq} came before ${newest + 1}`);
    assert.equal(ids.get(seq!) ?? event, event, 'another id for the same event');
    ids.set(seq!, event);
    newest = Math.max(newest, seq!);
  }
  assert.equal(newest, to);
  assert.equal(ids.size, EVENTS);
  for (const most of kills) {
    assert.ok(
      sink.received.filter(({ seq }) => seq === before + most).length > 1,
      `${most} was sent once only`,
    );
  }
});

test('webhook faults - a restored folder: a repeated delivery has its old id, lost ones are named, and the rest has a new epoch', async () => {
  await using sink = await startSink();
  await using site = await startSite(WITHOUT_ENGINE);
  const call = await webhooksOf(site);
  const made = await call('POST', '', { url: sink.url, topics: ['presence'] });
  const { id } = WebhookSecretReply.parse(made).webhook;
  await site.stop();
  const [first, last] = happened(site, 20);
  const seen = first + 14;
  sink.answer = (one, response) => (one.seq! > seen ? silence : ok)(one, response);
  await site.start('answers');
  await until('a delivery that stays open', () => sink.received.at(-1)?.seq === seen + 1);
  await site.kill('SIGKILL');
  const aside = fs.mkdtempSync(`${site.dataDir}-copy-`);
  try {
    fs.cpSync(site.dataDir, aside, { recursive: true });
    const [, newest] = happened(site, 30, 'lost');
    sink.answer = ok;
    await site.start('answers');
    await until('the newest event of before', () => sink.received.at(-1)?.seq === newest);
    await site.stop();
    const before = new Map(sink.received.map((one) => [one.id, one.body]));
    const received = sink.received.length;

    fs.cpSync(aside, site.dataDir, { recursive: true });
    await site.start('answers');
    await site.stop();
    const [, after] = happened(site, 5, 'new');
    await site.start('answers');
    await until('the newest event of all', () => sink.received.at(-1)?.seq === after);

    const again = sink.received.slice(received);
    const former = again.filter(({ id: event }) => before.has(event));
    const begins = former[0]?.seq ?? Infinity;
    // Deliveries of the last 250 ms before the kill are missing in the copy too.
    assert.ok(begins <= seen + 1, 'the copy does not know that these were delivered');
    assert.deepEqual(
      former.map(({ seq }) => seq),
      Array.from({ length: last + 1 - begins }, (_, i) => begins + i),
    );
    for (const { id: event, body } of former) assert.equal(body, before.get(event));
    const fresh = again.filter(({ id: event }) => !before.has(event));
    const epochs = [...before.keys(), ...fresh.map((one) => one.id)].map((event) => event.split(':')[0]);
    assert.equal(new Set(epochs).size, 2, 'the receiver is told by the epoch of the ids');
    assert.ok(fresh.length >= 5 && fresh.every(({ seq }) => seq! > newest), 'no number a second time');
    const deliveries = await until('the gap in the log of deliveries', async () => {
      const found = WebhookDeliveries.parse(await call('GET', `/${id}/deliveries?state=gap`)).deliveries;
      return found.length > 0 && found;
    });
    assert.equal(deliveries.length, 1);
    assert.equal(deliveries[0]!.seq, last + 1);
    assert.ok(deliveries[0]!.to_seq >= newest, 'what was lost is named');
  } finally {
    fs.rmSync(aside, { recursive: true });
  }
});
