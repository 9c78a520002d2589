import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { STARTED, recordOf } from '../../../../test/support/conversation-record.ts';
import { authenticatorWithKeys } from '../../../../test/support/host-fixture.ts';
import { streamRig } from '../../../../test/support/stream-rig.ts';
import { until } from '../../../../test/support/until.ts';
import { summaryOf } from './view.ts';

const final = (n: number, from: string, to: string, more: readonly string[] = []): DomainEvent => {
  const record = recordOf({ id: `ast1:${n}.1`, caller: { extension: from }, called: { extension: to } });
  const row = { root: record.id, change: n, revision: 1, state: 'final', erased: 0 } as const;
  const conversation = summaryOf(row, record);
  return {
    type: 'conversation.finalised',
    subject: `conversations/${record.id}`,
    at: STARTED,
    observed: 'live',
    data: { extensions: [...conversation.extensions, ...more], conversation },
  };
};

test('conversation stream - a person hears its own, a supervisor all, a key its extensions', async (t) => {
  const rig = await streamRig(t, {
    host: {
      authenticator: authenticatorWithKeys({
        one: { scopes: ['history:read'], extensions: ['1003', '1005'] },
        all: { scopes: ['history:read'] },
        blind: { scopes: ['calls:read'] },
      }),
    },
  });
  const subscribe = async (token: string, topic: string) => {
    const client = await rig.open('', { token });
    client.send({ op: 'subscribe', id: 1, topics: [topic] });
    return client;
  };
  const hears = [
    ['token-user', 'history/mine', [3, 5]],
    ['token-agent', 'history/mine', [2, 3, 5]],
    ['token-supervisor', 'history', [1, 2, 3, 4, 5]],
    ['token-supervisor', 'history/mine', [1, 5]],
    ['key-one', 'history', [2, 3, 5]],
    ['key-all', 'history', [1, 2, 3, 4, 5]],
  ] as const;
  const clients = await Promise.all(hears.map(([token, topic]) => subscribe(token, topic)));
  for (const client of clients) await client.next('subscribed');
  rig.commit(
    final(1, '1001', '1002'),
    final(2, '1003', '1001'),
    final(3, '1005', '1003'),
    final(4, '1001', '1004'),
    // All of them took part in the last one: its event ends the wait of each reader.
    final(5, '1002', '1003', ['1005']),
  );
  for (const [i, [token, topic, expected]] of hears.entries()) {
    await until(`${token} heard the last of ${topic}`, () => clients[i]!.seqs().includes(5));
    assert.deepEqual(clients[i]!.seqs(), expected, `${token} ${topic}`);
  }
  for (const [token, topic] of [
    ['token-user', 'history'],
    ['key-blind', 'history'],
    ['key-one', 'history/mine'],
  ] as const) {
    const client = await subscribe(token, topic);
    assert.equal((await client.next('error')).code, 'forbidden', `${token} ${topic}`);
  }
});
