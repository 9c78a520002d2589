/** The customer of a live call: phonebook, model and journal's facts together. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { NewCustomer } from '@offhook/contract/phonebook.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { createModel } from '../../pbx/model.ts';
import { wireCall } from '../../pbx/wire-call.ts';
import type { Caller } from '../../ports/http.ts';
import type { LiveModel, ModelInput } from '../../ports/live.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { fixtureAuthenticator } from '../../../test/support/host-fixture.ts';
import {
  Scene,
  call,
  chan,
  channel,
  checkpointOf,
  node,
  snapshot,
} from '../../../test/support/model-scene.ts';
import { until } from '../../../test/support/until.ts';
import { createAudit } from '../audit/service.ts';
import { CallCustomers } from './call-customers.ts';
import type { CallCustomersDeps } from './call-customers.ts';
import { createPhonebook } from './service.ts';

/** A phonebook beside a model whose events are committed at once. */
async function rig(t: TestContext, faults: { find?: CallCustomersDeps['find'] } = {}) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const audit = await createAudit(temp.store, clock, silent);
  const directory = directoryFixture();
  const published: DomainEvent[] = [];
  const model = createModel();
  const publish = (events: readonly DomainEvent[]): void => {
    for (const event of events) customers.onEvent(event);
  };
  const book = await createPhonebook({
    store: temp.store,
    clock,
    directory,
    audit,
    log: silent,
    publish,
    country: 'DE',
  });
  const people = {
    sam: (await fixtureAuthenticator.authenticate('token-supervisor'))!,
    dan: (await fixtureAuthenticator.authenticate('token-user'))!,
  };
  const add = (fields: object, who: Caller = people.sam) =>
    book.create(
      { caller: who, ip: null },
      NewCustomer.parse({
        name: 'Anna Müller',
        numbers: [{ number: '030 901820' }],
        shared: true,
        ...fields,
      }),
    );
  const unknown: string[] = [];
  let lookups = 0;
  const start = (on: LiveModel) => {
    const hear = (events: readonly DomainEvent[]): void => {
      on.committed(events);
      published.push(...events);
      for (const event of events) customers.onEvent(event);
    };
    const step = on.step.bind(on);
    on.step = (input: ModelInput) => {
      const events = step(input);
      hear(events);
      return events;
    };
    const customers = new CallCustomers({
      live: on.view,
      find(numbers) {
        lookups += 1;
        return (faults.find ?? ((all) => book.named(null, all)))(numbers);
      },
      tell: (input) => void on.step({ ...input, at: scene.at }),
      pop: ({ url }) => url,
      unknown: (number) => void unknown.push(number),
      clock,
      log: silent,
    });
    return customers;
  };
  const customers = start(model);
  const scene = new Scene({ model });
  t.after(async () => {
    await customers.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  /** A call from this number that rings 1001. */
  const comes = (number: string, id = '1'): void => {
    const caller = { number, name: '' };
    scene.created(id, { endpoint: 'trunk', dialled: '1001', caller });
    scene.created(`${id}0`, { endpoint: '1001', of: id });
  };
  const customerOf = (id: string, on = model) => {
    const live = on.view.call(call(id));
    return live === undefined ? undefined : wireCall(live).customer;
  };
  const known = (id: string, name: string) =>
    until(`${name} in call ${id}`, () => customerOf(id)?.name === name && customerOf(id));
  const events = (): EventData<'call.customer'>[] =>
    published.flatMap((event) => (event.type === 'call.customer' ? [event.data] : []));
  const settle = () => customers.idle();
  return {
    customers,
    add,
    book,
    clock,
    comes,
    customerOf,
    events,
    known,
    model,
    people,
    scene,
    settle,
    start,
    published,
    unknown,
    lookups: () => lookups,
  };
}

test('call customers - the shared customer is in the call, its events and the ring that comes after', async (t) => {
  const { add, comes, events, known, scene, published } = await rig(t);
  const anna = await add({ company: 'Acme', owner: '1003', vip: true, blocked: true });
  comes('+49 30 901820');
  const customer = await known('1', 'Anna Müller');
  const { id, kind, name, company, owner, vip, blocked, source } = anna;
  assert.deepEqual(customer, { id, kind, name, company, owner, vip, blocked, source, matches: 1 });
  assert.deepEqual(events(), [{ call_id: call('1'), direction: 'in', extensions: ['1001'], customer }]);
  scene.state('10', 'ringing');
  const ring = published.findLast((event) => event.type === 'call.ringing');
  assert.deepEqual(ring?.data.customer, customer);
});

test('call customers - a call whose outside party hangs up first keeps its customer to the end', async (t) => {
  const { add, comes, events, known, scene, settle, published } = await rig(t);
  await add({});
  comes('030901820');
  await known('1', 'Anna Müller');
  scene.hangup('1');
  await settle();
  scene.hangup('10');
  await settle();
  assert.equal(published.at(-1)?.type, 'call.ended');
  assert.equal(events().length, 1);
});

test('call customers - national spellings find it, two customers with one number are counted and the newest is named', async (t) => {
  const { add, comes, known, scene } = await rig(t);
  await add({});
  await add({ name: 'Bert Braun', numbers: [{ number: '+49 (30) 90-1820' }] });
  for (const [i, number] of ['030901820', '+4930901820', '004930901820'].entries()) {
    comes(number, `${i + 1}`);
    assert.equal((await known(`${i + 1}`, 'Bert Braun')).matches, 2);
  }
  scene.created('7', { endpoint: '1001', dialled: '030 901820' });
  scene.created('8', { endpoint: 'trunk', of: '7', caller: { number: '', name: '' } });
  scene.state('8', 'ringing');
  await known('7', 'Bert Braun');
});

test('call customers - anonymous, unknown, internal and personal ones have none; one person sees the personal one on reading', async (t) => {
  const { add, book, comes, customerOf, events, people, scene, settle, unknown } = await rig(t);
  await add({ name: 'Private', shared: false }, people.dan);
  comes('anonymous', '1');
  comes('030901820', '2');
  comes('0301234567', '3');
  scene.created('4', { endpoint: '1001', dialled: '1002' });
  await settle();
  for (const id of ['1', '2', '3', '4']) assert.equal(customerOf(id), undefined);
  assert.deepEqual(events(), []);
  assert.deepEqual(unknown, ['anonymous', '030901820', '0301234567'], 'another system may know them');
  await add({ numbers: [{ number: '030 555' }] });
  comes('030555', '5');
  await settle();
  assert.equal(unknown.length, 3, 'neither the calls before again nor one of a known customer');
  const numbers = ['030901820', 'anonymous'];
  const names = async (who: Caller | null) =>
    [...(await book.named(who, numbers))].map(([number, { name }]) => [number, name]);
  assert.deepEqual(await names(people.dan), [['030901820', 'Private']]);
  assert.deepEqual(await names(people.sam), []);
  assert.deepEqual(await names(null), []);
});

test('call customers - a call that two calls became keeps the customer of the one outside', async (t) => {
  const { add, comes, customerOf, known, scene, published } = await rig(t);
  await add({});
  scene.created('1', { endpoint: '1002', dialled: '1001' });
  comes('030901820', '2');
  await known('2', 'Anna Müller');
  scene.send({ type: 'channel.linked', id: chan('2'), call: call('1') });
  const ended = published.findLast((event) => event.type === 'call.ended');
  assert.equal(ended?.data.into?.customer?.name, 'Anna Müller');
  assert.equal(customerOf('1')?.name, 'Anna Müller');
});

test('call customers - after a restart during the call it is the same without an event, and a changed one is published', async (t) => {
  const { add, book, comes, customers, events, known, model, people, scene, settle, start } = await rig(t);
  const anna = await add({});
  comes('030901820');
  await known('1', 'Anna Müller');
  const rows = snapshot({
    channels: [
      channel('1', { endpoint: 'trunk', dialled: '1001', caller: { number: '030901820', name: '' } }),
      channel('10', { endpoint: '1001', of: '1' }),
    ],
  });
  const again = async () => {
    const next = createModel();
    const customers = start(next);
    next.restore(checkpointOf(model), []);
    next.step({ type: 'engine.link', at: scene.at, node, up: true, reason: '', boot_id: 'boot-1' });
    next.step({ type: 'engine.snapshot', at: scene.at, why: 'connect', snapshot: rows });
    await customers.idle();
    await customers.close();
    return next.view.call(call('1'))?.customer;
  };
  await settle();
  await customers.close();
  assert.equal((await again())?.name, 'Anna Müller');
  assert.equal(events().length, 1);
  await book.remove({ caller: people.sam, ip: null }, anna.id, null);
  assert.equal(await again(), undefined);
  assert.equal(events().at(-1)?.customer, null);
});

test('call customers - a customer that is created, changed, shared or deleted during the call is published', async (t) => {
  const { add, book, comes, customerOf, events, known, people, scene, settle } = await rig(t);
  comes('030901820');
  await settle();
  const anna = await add({ shared: false }, people.sam);
  await settle();
  assert.equal(customerOf('1'), undefined);
  const sam = { caller: people.sam, ip: null };
  const wanted = { name: 'Anna Müller', numbers: [{ number: '030 901820' }], shared: true };
  await book.replace(sam, anna.id, NewCustomer.parse(wanted), null);
  await known('1', 'Anna Müller');
  await book.replace(sam, anna.id, NewCustomer.parse({ ...wanted, blocked: true }), null);
  await settle();
  assert.equal(customerOf('1')?.blocked, true);
  await add({ name: 'Other', numbers: [{ number: '030 111111' }] });
  await book.remove(sam, anna.id, null);
  await settle();
  assert.equal(customerOf('1'), undefined);
  assert.deepEqual(
    events().map(({ customer }) => customer?.blocked),
    [false, true, undefined],
  );
  scene.hangup('10');
  scene.hangup('1');
  await add({});
  await settle();
  assert.equal(events().length, 3);
});

test('call customers - a caller who waits has it, also where it is found after the caller joined', async (t) => {
  const { add, comes, known, model, scene, published } = await rig(t);
  await add({});
  comes('030901820');
  const waits = {
    queue: 'support',
    channel: chan('1'),
    position: 1,
    joined_at: scene.at,
    priority: 0,
  };
  scene.send({ type: 'queue.caller_joined', caller: waits });
  await known('1', 'Anna Müller');
  assert.equal(model.view.queue('support')?.callers[0]?.customer?.name, 'Anna Müller');
  const changed = published.findLast((event) => event.type === 'queue.caller_changed');
  assert.equal(changed?.data.customer?.name, 'Anna Müller');
  comes('030901820', '2');
  await known('2', 'Anna Müller');
  scene.send({ type: 'queue.caller_joined', caller: { ...waits, channel: chan('2'), position: 2 } });
  const joined = published.findLast((event) => event.type === 'queue.caller_joined');
  assert.equal(joined?.data.customer?.name, 'Anna Müller');
});

test('call customers - a lookup that fails holds up nothing, and the next event of the call tries again', async (t) => {
  let fails = true;
  const { add, book, comes, customerOf, known, lookups, scene, settle } = await rig(t, {
    find: (numbers) => (fails ? Promise.reject(new Error('disk full')) : book.named(null, numbers)),
  });
  await add({});
  comes('030901820');
  await settle();
  assert.equal(customerOf('1'), undefined);
  assert.ok(lookups() > 0);
  fails = false;
  scene.state('10', 'ringing');
  await known('1', 'Anna Müller');
});

test('call customers - a thousand calls at once are looked up in few queries, one at a time', async (t) => {
  const { add, comes, customerOf, lookups, settle } = await rig(t);
  await add({});
  for (let i = 1; i <= 1_000; i += 1) comes('030901820', `${i}.`);
  await settle();
  for (let i = 1; i <= 1_000; i += 1) assert.equal(customerOf(`${i}.`)?.name, 'Anna Müller');
  assert.ok(lookups() <= 10, `${lookups()} queries`);
});

test('call customers - a change of the phonebook during a lookup that fails has the call looked up again', async (t) => {
  const finds: PromiseWithResolvers<void>[] = [];
  const { add, book, comes, known, settle, unknown } = await rig(t, {
    async find(numbers) {
      const gate = Promise.withResolvers<void>();
      finds.push(gate);
      await gate.promise;
      return book.named(null, numbers);
    },
  });
  comes('030901820');
  await until('the first lookup', () => finds.length === 1);
  await add({});
  finds[0]!.reject(new Error('disk full'));
  await until('the second lookup', () => finds.length === 2);
  finds[1]!.resolve();
  await known('1', 'Anna Müller');
  await settle();
  assert.deepEqual(unknown, []);
});
