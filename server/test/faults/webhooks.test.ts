import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { WebhookReply, WebhookSecretReply } from '@offhook/contract/webhooks.ts';
import { openSqliteJournal } from '../../src/adapters/sqlite/journal.ts';
import { openJournal } from '../../src/journal/journal.ts';
import { startSite } from '../support/site.ts';
import { until } from '../support/until.ts';
import { ok, silence, startSink } from '../support/webhook-sink.ts';
import { presence } from '../support/webhooks-rig.ts';

const EVENTS = 1_000;

test('webhook faults - killed again and again between sending and writing: the same ids again, in order, none lost', async () => {
  await using sink = await startSink(silence);
  await using site = await startSite({
    wait: 'answers',
    // No engine: what is delivered lies in the journal already.
    env: { OFFHOOK_ASTERISK: '/nonexistent/asterisk', OFFHOOK_WEBHOOK_ALLOW: '127.0.0.1' },
  });
  await site.stop();
  const journal = openJournal({
    store: openSqliteJournal(path.join(site.dataDir, 'journal.db')),
    node: nodeId('ast1'),
  });
  const before = journal.head;
  journal.append(Array.from({ length: EVENTS }, (_, i) => presence('1003', `note ${i}`)));
  const [from, to] = [before + 1, journal.head];
  journal.close();

  await site.start('answers');
  const { token } = await site.person('1001');
  const call = async (method: string, url: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${site.base}/api/v1/webhooks${url}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${response.status} ${await response.clone().text()}`);
    return response.json();
  };
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
