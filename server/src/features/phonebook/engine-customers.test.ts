import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { phonebookRig } from '../../../test/support/phonebook-rig.ts';
import { until } from '../../../test/support/until.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import type { CustomerVerbs, StoredCustomer } from '../../ports/engine-verbs.ts';
import { numberSubject } from '../../numbers/subject.ts';
import { EngineCustomers } from './engine-customers.ts';

const NUMBERS = [{ number: '030 901820' }];

/** The phonebook, and the store of an engine that follows it. `refuses` is thrown by the engine's next verbs. */
async function rig(t: TestContext, most?: number) {
  const base = await phonebookRig(t);
  const kept = new Map<string, StoredCustomer>();
  const seen = { compared: 0, written: 0 };
  const fault = { refuses: null as Error | null, refused: 0 };
  const check = (): void => {
    if (fault.refuses === null) return;
    fault.refused += 1;
    throw fault.refuses;
  };
  const engine: CustomerVerbs = {
    async storedCustomers(each) {
      await Promise.resolve();
      check();
      seen.compared += 1;
      for (const [number, customer] of kept) each(number, customer);
    },
    async keepCustomers(customers) {
      await Promise.resolve();
      for (const [number, customer] of customers) {
        check();
        seen.written += 1;
        if (customer === null) kept.delete(number);
        else kept.set(number, customer);
      }
    },
  };
  const customers = new EngineCustomers({
    store: base.phonebook.store,
    engine,
    country: 'DE',
    clock: base.clock,
    log: silent,
    ...(most !== undefined && { most }),
  });
  t.after(() => customers.close());
  const connect = (): void => customers.onEvent({ type: 'engine.link_up' } as DomainEvent);
  const gauges = new Map<string, () => number>();
  customers.gauges({ gauge: (name, _help, read) => void gauges.set(name, read), gaugeBy: () => {} });
  /** The number that is to be blocked. */
  let blocked = '';
  const blocks = (number: string): void => void (blocked = number);
  const has = (...wanted: [number: string, name: string, owner?: string][]) =>
    until(
      `the engine to have ${JSON.stringify(wanted)}`,
      () => {
        assert.deepEqual(
          new Map(kept),
          new Map(
            wanted.map(([number, name, owner = null]) => [
              number,
              { name, owner, blocked: number === blocked },
            ]),
          ),
        );
        return true;
      },
      { seen: () => [...kept] },
    );
  return { ...base, blocks, kept, seen, fault, connect, gauges, has };
}

test('engine customers - every change of the phonebook follows, in each spelling of a number', async (t) => {
  const { blocks, connect, create, call, has, gauges, phonebook } = await rig(t);
  await create({ name: 'Before', numbers: [{ number: '+90 212 555 1234' }], shared: true });
  connect();
  await has(['+902125551234', 'Before']);
  const { id } = await create({ numbers: NUMBERS, shared: true });
  const before = ['+902125551234', 'Before'] as [string, string];
  await has(before, ['+4930901820', 'Anna Müller'], ['030901820', 'Anna Müller']);
  const anna = { name: 'Anna Öz', numbers: [{ number: '030 901821' }], shared: true };
  await call('PUT', `customers/${id}`, anna);
  await has(before, ['+4930901821', 'Anna Öz'], ['030901821', 'Anna Öz']);

  await call('PUT', `customers/${id}`, { ...anna, owner: '1003' });
  await has(before, ['+4930901821', 'Anna Öz', '1003'], ['030901821', 'Anna Öz', '1003']);
  await call('PUT', `customers/${id}`, anna);
  await has(before, ['+4930901821', 'Anna Öz'], ['030901821', 'Anna Öz']);
  const turkish = await create({
    name: 'Rude',
    numbers: [{ number: '+902125551299' }],
    blocked: true,
    shared: true,
  });
  blocks('+902125551299');
  await has(before, ['+4930901821', 'Anna Öz'], ['030901821', 'Anna Öz'], ['+902125551299', 'Rude']);
  await call('DELETE', `customers/${turkish.id}`);
  await create({ name: 'Mine', numbers: [{ number: '030 901822' }] });
  const second = await create({ name: 'Newer', numbers: [{ number: '+4930901821' }], shared: true });
  await has(before, ['+4930901821', 'Newer'], ['030901821', 'Newer']);
  await call('DELETE', `customers/${second.id}`);
  await has(before, ['+4930901821', 'Anna Öz'], ['030901821', 'Anna Öz']);

  const { signal } = new AbortController();
  await phonebook.data.erase(numberSubject('+4930901821', 'DE')!, 'e-1', signal);
  await has(before);
  const synced = {
    kind: 'person',
    company: null,
    emails: [],
    vip: false,
    blocked: false,
    url: null,
  } as const;
  await phonebook.sources.store('connector:crm', [
    { ...synced, external_id: '1', name: 'Of a system', numbers: ['+4930901823', '110'] },
  ]);
  await has(before, ['+4930901823', 'Of a system'], ['030901823', 'Of a system']);
  assert.equal(gauges.get('offhook_engine_customer_numbers')!(), 3);
  assert.equal(gauges.get('offhook_engine_customer_numbers_behind')!(), 0);
  await phonebook.sources.removeAll('connector:crm');
  await has(before);
});

test('engine customers - a connect compares the whole store and writes only what differs', async (t) => {
  const { connect, create, has, kept, seen } = await rig(t);
  await create({ numbers: NUMBERS, shared: true });
  kept
    .set('+4930901820', { name: 'Anna Müller', owner: null, blocked: false })
    .set('030901820', { name: 'Anna Müller', owner: '1003', blocked: false })
    .set('+49301', { name: 'Nobody any more', owner: null, blocked: false });
  connect();
  await has(['+4930901820', 'Anna Müller'], ['030901820', 'Anna Müller']);
  assert.deepEqual(seen, { compared: 1, written: 2 });
  kept.clear();
  connect();
  await has(['+4930901820', 'Anna Müller'], ['030901820', 'Anna Müller']);
});

test('engine customers - a store that is lost without a word is filled again within the hour', async (t) => {
  const { clock, connect, create, has, kept } = await rig(t);
  await create({ numbers: NUMBERS, shared: true });
  connect();
  await has(['+4930901820', 'Anna Müller'], ['030901820', 'Anna Müller']);
  kept.clear();
  await until('the wait for the next comparison', () => clock.sleepers > 0);
  await clock.advance(3_600_000);
  await has(['+4930901820', 'Anna Müller'], ['030901820', 'Anna Müller']);
});

test('engine customers - what the engine refuses is tried again, and all is compared then', async (t) => {
  const { clock, connect, create, fault, has, kept, seen } = await rig(t);
  connect();
  await until('the first comparison', () => seen.compared === 1);
  fault.refuses = new ServiceError('store_unavailable', 'the disk is full');
  await create({ numbers: NUMBERS, shared: true });
  await until('the wait before the next attempt', () => fault.refused > 0 && clock.sleepers > 0);
  assert.equal(kept.size, 0);
  fault.refuses = null;
  await clock.advance(60_000);
  await has(['+4930901820', 'Anna Müller'], ['030901820', 'Anna Müller']);
  assert.ok(seen.compared >= 2);
});

test('engine customers - an engine that comes back is not kept waiting for the next attempt', async (t) => {
  const { clock, connect, create, fault, has } = await rig(t);
  fault.refuses = new ServiceError('engine_unavailable', 'it is away');
  await create({ numbers: NUMBERS, shared: true });
  connect();
  await until('the wait before the next attempt', () => fault.refused > 0 && clock.sleepers > 0);
  fault.refuses = null;
  connect();
  await has(['+4930901820', 'Anna Müller'], ['030901820', 'Anna Müller']);
});

test('engine customers - a name that the engine cannot be given is left out, a long one is cut', async (t) => {
  const { connect, has, phonebook, seen } = await rig(t);
  connect();
  await until('the first comparison', () => seen.compared === 1);
  const synced = {
    kind: 'person',
    company: null,
    emails: [],
    vip: false,
    blocked: false,
    url: null,
  } as const;
  await phonebook.sources.store('connector:crm', [
    { ...synced, external_id: '1', name: 'a\u2028b', numbers: ['+4930901824'] },
    { ...synced, external_id: '2', name: '花'.repeat(10_000), numbers: ['+905321234567'] },
  ]);
  await has(['+905321234567', '花'.repeat(80)]);
});

test('engine customers - the engine keeps a bounded number of the newest customers', async (t) => {
  const { connect, create, has, kept } = await rig(t, 3);
  const one = (name: string, number: string) => create({ name, numbers: [{ number }], shared: true });
  for (let i = 0; i < 5; i += 1) await one(`Customer ${i}`, `+9021255512${30 + i}`);
  connect();
  const newest = [
    ['+902125551234', 'Customer 4'],
    ['+902125551233', 'Customer 3'],
  ] satisfies [string, string][];
  await until('the comparison', () => kept.size >= 2);
  await one('Customer 5', '+902125551235');
  await has(...newest, ['+902125551235', 'Customer 5']);
  await one('Customer 6', '+902125551236');
  await one('Renamed', '+902125551235');
  await has(...newest, ['+902125551235', 'Renamed']);
});

test('engine customers - a full store has every blocked customer, and the newest of the others', async (t) => {
  const { connect, create, kept } = await rig(t, 4);
  const of = (i: number, more = {}) =>
    create({ name: `C ${i}`, numbers: [{ number: `+90212555120${i}` }], shared: true, ...more });
  const has = (...numbers: number[]) =>
    until(
      `the engine to have ${numbers.join(', ')}`,
      () =>
        [...kept.keys()]
          .map((number) => Number(number.at(-1)))
          .toSorted((a, b) => a - b)
          .join(', ') === numbers.join(', '),
      { seen: () => [...kept] },
    );
  await of(1, { blocked: true });
  for (const i of [2, 3, 4]) await of(i);
  connect();
  await has(1, 3, 4);
  await of(5, { blocked: true });
  await has(1, 3, 4, 5);
  await of(7, { blocked: true });
  await has(1, 5, 7);
});
