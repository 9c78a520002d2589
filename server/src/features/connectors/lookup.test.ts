import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorLookup } from '@offhook/contract/connectors.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { NO_CUSTOMER } from './format/customers.ts';
import { Lookups } from './lookup.ts';
import type { Running } from './running.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { until } from '../../../test/support/until.ts';
import { numberSubject } from '../../numbers/subject.ts';

test('connectors - a lookup asks once for ten minutes, once a minute for a stranger, and waits 1.5 s at most', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  const lookup = async (number: string, token = 'token-user') => {
    const reply = await rig.call(
      'GET',
      `connector-lookup?number=${encodeURIComponent(number)}`,
      undefined,
      token,
    );
    assert.equal(reply.status, 200, JSON.stringify(reply.json));
    const { e164, matches } = ConnectorLookup.parse(reply.json);
    return [
      e164,
      ...matches.map(({ customers, words }) => words ?? customers.map(({ name }) => name).join()),
    ];
  };
  const asked = () => rig.crm.requests.filter((request) => request === 'GET /customers').length;
  const both = [lookup('030 901820'), lookup('+4930901820')];
  assert.deepEqual(await Promise.all(both), [
    ['+4930901820', 'Anna Müller'],
    ['+4930901820', 'Anna Müller'],
  ]);
  assert.equal(asked(), 1);
  await rig.clock.advance(599_000);
  await lookup('030901820');
  assert.equal(asked(), 1);
  await rig.clock.advance(2_000);
  await lookup('030901820');
  assert.equal(asked(), 2);
  assert.deepEqual(await lookup('0301111'), ['+49301111', '']);
  await lookup('0301111');
  assert.equal(asked(), 3);
  await rig.clock.advance(61_000);
  await lookup('0301111');
  assert.equal(asked(), 4);
  assert.deepEqual(await lookup('anonymous'), [null]);

  rig.crm.mood = () => 'silent';
  const late = lookup('0302222');
  await until('the request', () => asked() === 5);
  await rig.clock.advance(1_500);
  assert.deepEqual(await late, ['+49302222', 'no answer within 1.5 s']);
  rig.crm.mood = () => 'works';
  assert.deepEqual(await lookup('0302222'), ['+49302222', ''], 'a failure is not kept');
  assert.equal((await rig.call('GET', 'connector-lookup?number=1', undefined, 'key-reads')).status, 403);
});

test('connectors - an erasure drops the answers to lookups, also one that is on its way', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  const asked = () => rig.crm.requests.filter((request) => request === 'GET /customers').length;
  const lookup = () => rig.call('GET', 'connector-lookup?number=030901820', undefined, 'token-user');
  const erase = () =>
    rig.connectors.data.erase(numberSubject('+4930901820', 'DE')!, 'erased-1', new AbortController().signal);
  await lookup();
  await erase();
  await lookup();
  assert.equal(asked(), 2);

  rig.crm.customers.set('+4930777', 'c7');
  const answered = Promise.withResolvers<void>();
  const { customers } = rig.crm;
  const get = customers.get.bind(customers);
  customers.get = (number) => {
    void erase().then(() => answered.resolve());
    return get(number);
  };
  rig.connectors.service.seek('+4930777');
  await answered.promise;
  customers.get = get;
  await until('the end of the lookup', async () => {
    await rig.connectors.service.lookup('+4930777');
    return asked() === 4;
  });
  assert.equal(rig.events.length, 0, 'nothing entered the phonebook');
});

test('connectors - long answers of a system to lookups take at most some megabytes', async () => {
  const asked: string[] = [];
  const value = Array.from({ length: 50 }, (_, n) => ({
    ...NO_CUSTOMER,
    id: `${n}`,
    emails: Array.from({ length: 20 }, () => 'e'.repeat(300)),
  }));
  const lookup = async (number: string) => {
    asked.push(number);
    return { kind: 'done', value } as const;
  };
  const running = { row: { id: 1, enabled: true }, session: { lookup } } as unknown as Running;
  const lookups = new Lookups(createVirtualClock());
  const ask = async (n: number): Promise<void> => {
    const [answer] = await lookups.find([running], `+4930000${n}`);
    assert.deepEqual(answer!.found, { kind: 'done', value });
  };
  for (let n = 0; n < 100; n += 1) await ask(n);
  assert.equal(asked.length, 100);
  await ask(99);
  await ask(90);
  assert.equal(asked.length, 100, 'the newest answers are kept');
  await ask(0);
  assert.equal(asked.length, 101, 'the oldest are not');
});
