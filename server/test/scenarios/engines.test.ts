/** Two real engines of one site, followed by one model and one history. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import { after, before, describe, test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { HistoryQuery } from '@offhook/contract/history.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { CelReader } from '../../src/adapters/asterisk/cel/reader.ts';
import { celFile } from '../../src/adapters/asterisk/conf/instance.ts';
import { createAsteriskEngine } from '../../src/adapters/asterisk/engine.ts';
import { siteAt } from '../../src/adapters/asterisk/conf/engine-trunks.ts';
import { joinEngines } from '../../src/adapters/asterisk/joined-engine.ts';
import { findLiving } from '../../src/adapters/asterisk/process/living.ts';
import { openMemoryJournal } from '../../src/adapters/memory/journal-store.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silent } from '../../src/core/log.ts';
import { createHistory } from '../../src/features/history/feature.ts';
import type { History } from '../../src/features/history/feature.ts';
import { EngineLoop } from '../../src/journal/engine-loop.ts';
import { eventOf, openJournal } from '../../src/journal/journal.ts';
import { createModel } from '../../src/pbx/model.ts';
import type { SiteEngine } from '../../src/ports/engine-site.ts';
import type { LiveModel } from '../../src/ports/live.ts';
import type { OtherEngine, Site } from '../../src/ports/site.ts';
import { forgetfulAudit, noRecordings } from '../support/conversations-rig.ts';
import { demoPeople, directoryFixture } from '../support/directory-fixture.ts';
import { site as siteEvent } from '../support/model-scene.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { freePort } from '../support/ports.ts';
import { PASSWORD, company, conference, queue, ringGroup } from '../support/rendered-company.ts';
import { openTestStore } from '../support/test-store.ts';
import { startTestEngine } from '../support/throwaway-engine.ts';
import type { TestEngine } from '../support/throwaway-engine.ts';
import { until } from '../support/until.ts';

const [A, B] = [nodeId('a'), nodeId('b')];
/** Homed at a; everybody else is at b, with the queues. */
const HERE = ['1001', '1005'];
const homeOf = (extension: string): string | null => (HERE.includes(extension) ? null : 'b');
const SECRET = 'a-secret-of-the-engines-0';

/** The site as it is configured; a leads it. */
function configured(b: OtherEngine): Site {
  const whole = company({
    engines: [b],
    ring_groups: [ringGroup({ name: 'care', number: '550', members: ['1002', '1005'] })],
    conferences: [conference({ name: 'room', number: '570', announce: false })],
  });
  return {
    ...whole,
    extensions: whole.extensions.map((e) => ({ ...e, engine: homeOf(e.extension) })),
    queues: [
      ...whole.queues.map((q) => ({
        ...q,
        engine: 'b',
        ...(q.name === 'sales' && { otherwise: { kind: 'extension' as const, key: '1005' } }),
      })),
      queue({ name: 'desk', number: '520', members: [] }),
    ],
  };
}

describe('two engines of a site', () => {
  const stack = new AsyncDisposableStack();
  let engines: { readonly a: TestEngine; readonly b: TestEngine };
  let joined: SiteEngine;
  let model: LiveModel;
  let history: History;
  let phones: Readonly<Record<'1001' | '1002' | '1003' | '1005', Phone>>;
  const events: DomainEvent[] = [];
  const told = (...types: readonly DomainEvent['type'][]): readonly DomainEvent[] =>
    events.filter((event) => types.includes(event.type));
  const calls = async (extension: string) =>
    (
      await history.list(
        { extension, level: 'user', key: null } as never,
        HistoryQuery.parse({ limit: '10' }),
      )
    ).calls;

  before(async () => {
    const at = {
      a: { node: 'a', host: '127.0.0.2', port: await freePort() },
      b: { node: 'b', host: '127.0.0.3', port: await freePort() },
    };
    const start = (own: 'a' | 'b') =>
      startTestEngine(siteAt(configured(at.b), own === 'a' ? null : own, at.a), {
        ...at[own],
        engine_secret: SECRET,
      });
    const a = stack.use(await start('a'));
    const b = stack.use(await start('b'));
    engines = { a, b };
    const follow = ({ instance }: TestEngine, node: typeof A) =>
      createAsteriskEngine({
        node,
        clock: systemClock,
        log: silent,
        connect: async () => ({
          host: '127.0.0.1',
          port: instance.ami_port,
          events: instance.ami_events,
          actions: instance.ami_actions,
        }),
      });
    joined = joinEngines({
      first: follow(a, A),
      others: [follow(b, B)],
      homeOf: { extension: homeOf, queue: (name) => (name === 'desk' ? null : 'b') },
    });
    const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-engines-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const store = await openTestStore(path.join(folder, 'store.db'));
    stack.defer(() => store.close());
    model = createModel();
    const journal = openJournal({ store: openMemoryJournal(), node: A });
    const loop = new EngineLoop({ engine: joined, model, journal, log: silent });
    const reader = ({ instance }: TestEngine, node: typeof A) =>
      new CelReader({ file: celFile(instance), node, log: silent, clock: systemClock, poll_ms: 50 });
    history = await createHistory({
      store,
      node: 'a',
      clock: systemClock,
      directory: directoryFixture(demoPeople()),
      log: silent,
      zone: 'UTC',
      country: '',
      records: reader(a, A),
      others: new Map([['b', reader(b, B)]]),
      recordings: noRecordings,
      audit: forgetfulAudit,
      journal,
      feedEpoch: 'e1',
      eventOf,
      publish: loop.publish,
      settled: loop.settled,
    });
    const stop = new AbortController();
    loop.begin({
      signal: stop.signal,
      site: siteEvent(['1001', '1002', '1003', '1004', '1005']),
      onCommitted: (_rows, some) => {
        events.push(...some);
        for (const event of some) history.onDomainEvent(event);
      },
    });
    stack.defer(async () => {
      stop.abort();
      await joined.close();
      await loop.closed;
    });
    stack.use(history);
    history.begin();
    await until('both engines', () => told('engine.link_up').length === 2 && model.view.live);
    const phone = async (extension: string, { server }: TestEngine) =>
      stack.use(await registerPhone({ server, extension, password: PASSWORD }));
    phones = {
      '1001': await phone('1001', a),
      '1002': await phone('1002', b),
      '1003': await phone('1003', b),
      '1005': await phone('1005', a),
    };
    await until('the trunk between the engines', async () =>
      (await Promise.all([a, b].map((one) => one.cli('pjsip show contacts')))).every((text) =>
        /Contact: +engine-\S+ +\S+ Avail /.test(text),
      ),
    );
  });
  after(() => stack.disposeAsync());

  test('engines - a call between people of two engines is one call and one conversation, holds and all', async () => {
    const call = await phones['1001'].invite('1002');
    const got = await phones['1002'].incoming(call);
    assert.deepEqual(got.party.number, '1001');
    got.ring();
    await until('its ring', () => told('call.ringing').length > 0);
    await got.answer();
    await call.answered();
    await until('its answer', () => told('call.answered').length > 0);
    // Each engine reports its half by its own link, so the halves may be two calls until the second link has reported both.
    await until('one call', () => model.view.calls().length === 1);
    const [live] = model.view.calls();
    assert.deepEqual(live!.legs.map((leg) => `${leg.extension} ${leg.state}`).toSorted(), [
      '1001 connected',
      '1002 connected',
    ]);
    assert.deepEqual(
      ['1001', '1002'].map((e) => model.view.extension(e)!.activity),
      ['in_call', 'in_call'],
    );
    await call.bridged();
    await got.hold();
    await until('the hold', () => told('call.held').length > 0);
    await until('music at the other engine', async () =>
      (await engines.a.records()).some((line) => line.includes('MOH_STREAM_BEGIN')),
    );
    await got.retrieve();
    await until('the end of the hold', () => told('call.retrieved').length > 0);
    await got.hangup();
    await call.ended();
    await until('its end', () => model.view.calls().length === 0);
    const merged = told('call.ended').flatMap(({ subject, data }) =>
      (data as { reason: string }).reason === 'merged' ? [subject] : [],
    );
    const about = told('call.started', 'call.answered', 'call.ended').filter(
      ({ subject }) => !merged.includes(subject),
    );
    assert.deepEqual(new Set(about.map(({ subject }) => subject)).size, 1);
    assert.deepEqual(
      about.map(({ type }) => type),
      ['call.started', 'call.answered', 'call.ended'],
    );
    await until(
      'its rows',
      async () => (await calls('1001')).length === 1 && (await calls('1002')).length === 1,
    );
    const [mine, theirs] = [(await calls('1001'))[0]!, (await calls('1002'))[0]!];
    assert.equal(mine.call_key, theirs.call_key);
    assert.deepEqual(
      [mine, theirs].map(({ direction, party, disposition }) => [direction, party, disposition]),
      [
        ['out', '1002', 'ANSWERED'],
        ['in', '1001', 'ANSWERED'],
      ],
    );
  });

  test('engines - a caller of one engine waits in a queue of the other and is one visit, one offer and one call', async () => {
    const from = events.length;
    const member = {
      ...joined.memberOf('1003'),
      queue: 'support',
      name: '1003',
      penalty: 0,
      paused: false,
      reason: '',
    };
    await joined.addMember(member);
    await until(
      'the member',
      () => model.view.queue('support')?.members.some((one) => one.extension === '1003') === true,
    );
    const call = await phones['1001'].invite('500');
    const offer = await phones['1003'].incoming(call);
    await until('the caller in the queue', () => model.view.queue('support')!.callers.length === 1);
    assert.equal(model.view.queue('support')!.callers[0]!.party.number, '1001');
    await offer.answer();
    await call.bridged();
    await until('the agent', () => model.view.agent('1003')?.summary.engagement === 'talking');
    assert.equal(model.view.calls().length, 1);
    await call.hangup();
    await until('its end', () => events.slice(from).some((event) => event.type === 'call.ended'));
    await until(
      'its rows',
      async () => (await calls('1001')).length === 2 && (await calls('1003')).length === 1,
    );
    const [answered, waited] = [(await calls('1003'))[0]!, (await calls('1001'))[0]!];
    assert.equal(answered.call_key, waited.call_key);
    assert.deepEqual(
      [answered, waited].map(({ direction, party, queue }) => [direction, party, queue]),
      [
        ['in', '1001', 'support'],
        ['out', '500', 'support'],
      ],
    );
    const types = events.slice(from).map((event) => event.type);
    for (const once of ['call.started', 'queue.caller_joined', 'offer.accepted', 'call.ended'] as const)
      assert.equal(types.filter((type) => type === once).length, 1, once);
  });

  test('engines - a ring group rings its members at both engines, and whoever answers is in one call with the caller', async () => {
    const from = events.length;
    const call = await phones['1001'].invite('550');
    const [far, near] = await Promise.all([phones['1002'].incoming(call), phones['1005'].incoming(call)]);
    far.ring();
    near.ring();
    assert.equal(far.party.number, '1001');
    await far.answer();
    await call.bridged();
    await near.ended();
    await until('one call of both', () => {
      const [live, ...more] = model.view.calls();
      const talking = live?.legs.filter(({ state }) => state === 'connected').map((leg) => leg.extension);
      return more.length === 0 && talking?.toSorted().join() === '1001,1002';
    });
    await call.hangup();
    // The legs of each engine begin as a call of their own, which ends as merged.
    await until('its end', () =>
      events.slice(from).some((event) => event.type === 'call.ended' && event.data.merged_into === null),
    );
    assert.deepEqual(model.view.calls(), []);
    const key = events
      .slice(from)
      .find((event) => event.type === 'call.ended' && event.data.merged_into === null)!
      .subject.split('/')[1];
    const rowOf = async (extension: string) => (await calls(extension)).find((row) => row.call_key === key);
    await until('their rows', async () => (await rowOf('1001')) && (await rowOf('1002')));
    for (const extension of ['1001', '1002'])
      assert.equal((await rowOf(extension))!.disposition, 'ANSWERED', extension);
  });

  test('engines - a caller of a queue at the other engine whom nobody takes overflows to a person at the own one', async () => {
    const from = events.length;
    const call = await phones['1001'].invite('510');
    const got = await phones['1005'].incoming(call);
    assert.equal(got.party.number, '1001');
    await got.answer();
    await call.bridged();
    await until('one call of both', () => {
      const [live, ...more] = model.view.calls();
      const talking = live?.legs.filter(({ state }) => state === 'connected').map((leg) => leg.extension);
      return more.length === 0 && talking?.toSorted().join() === '1001,1005';
    });
    await got.hangup();
    await call.ended();
    await until('its end', () => events.slice(from).some((event) => event.type === 'call.ended'));
    await until('no call', () => model.view.calls().length === 0);
    const joins = events.slice(from).filter((event) => event.type === 'queue.caller_joined');
    assert.equal(joins.length, 1);
  });

  test('engines - a caller is moved to a queue of the other engine, from either engine, and answered there', async () => {
    for (const [own, position] of [
      ['1001', 1],
      ['1002', null],
    ] as const) {
      const from = events.length;
      const call = await phones[own].invite('520');
      const waiting = (name: string) => model.view.queue(name)?.callers ?? [];
      await until('the caller in the first queue', () => waiting('desk').length === 1);
      const { channel, leg } = waiting('desk')[0]!;
      const to = { queue: 'support', number: '500', position, priority: 3 };
      await joined.takeCaller('desk', channel, to);
      const offer = await phones['1003'].incoming(call);
      await until('the caller in the other queue', () => waiting('support').length === 1);
      assert.deepEqual(waiting('desk'), []);
      assert.equal(waiting('support')[0]!.leg, leg);
      await joined.resynced();
      assert.equal(waiting('support')[0]!.priority, 3);
      assert.equal(offer.party.number, own);
      await offer.answer();
      await call.bridged();
      assert.equal(model.view.calls().length, 1);
      await call.hangup();
      await until('no call', () => model.view.calls().length === 0);
      const types = events.slice(from).map((event) => event.type);
      for (const [type, times] of [
        ['call.started', 1],
        ['queue.caller_joined', 2],
        ['offer.accepted', 1],
        ['call.ended', 1],
      ] as const)
        assert.equal(types.filter((one) => one === type).length, times, `${own} ${type}`);
    }
  });

  test('engines - people of both engines meet in one conference', async () => {
    const one = await phones['1001'].invite('570');
    await one.answered();
    const two = await phones['1002'].invite('570');
    await two.answered();
    two.play('tone');
    await one.hears(100);
    assert.match(await engines.a.cli('confbridge list'), /room +2 /);
    await one.hangup();
    await two.hangup();
    await until('no call', () => model.view.calls().length === 0);
  });

  test('engines - a call in the other direction is one call too, and neither engine warns of anything', async () => {
    const call = await phones['1002'].invite('1001');
    const got = await phones['1001'].incoming(call);
    await got.answer();
    await call.bridged();
    await call.hangup();
    await until('no call', () => model.view.calls().length === 0);
    assert.deepEqual(await engines.a.warnings(), []);
    assert.deepEqual(await engines.b.warnings(), []);
  });

  test('engines - a call to an engine that is away is refused at once as congestion', async () => {
    const { pid } = findLiving(engines.b.instance)!;
    process.kill(pid, 'SIGSTOP');
    using _ = { [Symbol.dispose]: () => process.kill(pid, 'SIGCONT') };
    await until('the engine to be away', async () =>
      /Contact: +engine-\S+ +\S+ Unavail /.test(await engines.a.cli('pjsip show contacts')),
    );
    await until(
      'the state of the engine to name it',
      () => joined.status(A).unreached?.includes('b') === true,
    );
    assert.deepEqual(joined.status(B).unreached, [], 'it can call this engine, as it found last');
    const call = await phones['1001'].invite('1002');
    await call.ended();
    assert.equal(call.status, 503);
    assert.equal(model.view.live, true);
  });
});
