/** The adapter against a real engine, configured as a site's own is. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { freeze } from '../../../test/support/steps.ts';
import { until } from '../../../test/support/until.ts';
import { systemClock } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import type { EngineEvent, EngineEventOf, EngineEventType } from '../../ports/engine-events.ts';
import type { AmiConnection } from './ami/connection.ts';
import { MAX_LINE_BYTES } from './ami/codec.ts';
import { company, extension, queue } from '../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../test/support/throwaway-engine.ts';
import { createAsteriskEngine } from './engine.ts';
import type { AsteriskEngine } from './engine.ts';
import { findLiving } from './process/living.ts';
import { reasonFixture } from '../../../test/support/directory-fixture.ts';

const site = company({
  extensions: ['1001', '1002'].map((number) => extension(number, { voicemail: false })),
  queues: [
    queue({
      name: 'support',
      number: '500',
      ring_seconds: 10,
      members: [{ extension: '1001' }, { extension: '1002' }],
    }),
    queue({
      name: 'sales',
      number: '510',
      ring_seconds: 10,
      members: [{ extension: '1001' }, { extension: '1002', static: true }],
    }),
  ],
  services: [{ number: '600', kind: 'echo', title: 'Echo' }],
  parking_lots: [],
  pause_reasons: [reasonFixture('lunch', 'Lunch')],
});
const code = (expected: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === expected;

describe('real engine', () => {
  let exchange: TestEngine;
  let engine: AsteriskEngine;
  let seen: EngineEvent[] = [];
  const stop = new AbortController();
  const create = (): AsteriskEngine =>
    createAsteriskEngine({
      node: nodeId('ast1'),
      clock: systemClock,
      log: silent,
      connect: () =>
        Promise.resolve({
          host: '127.0.0.1',
          port: exchange.instance.ami_port,
          events: exchange.instance.ami_events,
          actions: exchange.instance.ami_actions,
        }),
    });
  const of = <T extends EngineEventType>(type: T): EngineEventOf<T>[] =>
    seen.filter((e): e is EngineEventOf<T> => e.type === type);
  const first = <T extends EngineEventType>(
    what: string,
    type: T,
    holds: (e: EngineEventOf<T>) => boolean = () => true,
  ): Promise<EngineEventOf<T>> =>
    until(what, () => of(type).find(holds), { seen: () => seen.slice(-10).map((e) => e.type) });
  const pid = (): number => findLiving(exchange.instance)!.pid;
  const dial = (): Promise<AmiConnection> => exchange.ami(stop.signal);

  before(async () => {
    exchange = await startTestEngine(site);
    engine = create();
    void (async () => {
      for await (const batch of engine.events(stop.signal)) seen.push(...batch);
    })();
    await first('the first snapshot', 'engine.snapshot');
  });
  after(async () => {
    stop.abort();
    await engine.close();
    await exchange[Symbol.asyncDispose]();
  });

  test('real engine - comes up with the rights a site gives', async () => {
    const { snapshot, why } = of('engine.snapshot')[0]!;
    assert.equal(why, 'connect');
    assert.match(snapshot.boot_id, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
    assert.deepEqual(snapshot.queues.map((q) => q.name).sort(), ['sales', 'support']);
    assert.equal(snapshot.queues.find((q) => q.name === 'sales')?.members[0]?.membership, 'static');
    assert.equal(snapshot.queues.find((q) => q.name === 'sales')?.members[0]?.extension, '1002');
    assert.ok(snapshot.devices.some((d) => d.endpoint === '1001-web'));
    assert.match(engine.status().version ?? '', /^\d+\.\d+\.\d+/);
    assert.equal(engine.status().counters.malformed, 0);
  });

  test('real engine - a member is added, paused with its reason and removed, each told as a fact', async () => {
    const { interface: iface, state_interface } = engine.memberOf('1001');
    await engine.addMember({
      queue: 'support',
      interface: iface,
      name: '1001',
      state_interface,
      penalty: 3,
      paused: true,
      reason: 'login',
    });
    const added = await first('the member was added', 'queue.member', (e) => e.why === 'added');
    assert.equal(added.member.extension, '1001');
    assert.equal(added.member.paused_reason, 'login');
    assert.equal(added.member.penalty, 3);
    await engine.pauseMember('support', iface, true, 'lunch');
    const paused = await first(
      'the pause',
      'queue.member',
      (e) => e.why === 'paused' && e.member.paused_reason === 'lunch',
    );
    // A minute tells a wrong unit or zone from a slow machine.
    assert.ok(Math.abs(paused.member.paused_at! - Date.now()) < 60_000);
    assert.ok(Math.abs(paused.at - Date.now()) < 60_000);
    assert.match(await exchange.cli('queue show support'), /1001.*paused:lunch/);
    await engine.pauseMember('support', iface, false, '');
    await first('the end of the pause', 'queue.member', (e) => e.why === 'paused' && !e.member.paused);
    await engine.removeMember('support', iface);
    await first('the removal', 'queue.member_removed', (e) => e.queue === 'support');
  });

  test('real engine - a refusal carries its own words', async () => {
    const { interface: iface } = engine.memberOf('1001');
    const member = {
      interface: engine.memberOf('1002').interface,
      name: '1002',
      state_interface: '',
      penalty: 0,
      paused: false,
      reason: '',
    };
    const refusals: [Promise<void>, RegExp][] = [
      [engine.pauseMember('nowhere', iface, true, 'lunch'), /Interface not found/],
      [engine.removeMember('support', iface), /Not there/],
      [engine.removeMember('sales', member.interface), /not dynamic/],
      [engine.addMember({ ...member, queue: 'sales' }), /Already there/],
      [engine.addMember({ ...member, queue: 'nowhere' }), /No such queue/],
    ];
    for (const [verb, words] of refusals)
      await assert.rejects(
        verb,
        (e) => code('engine_refused')(e) && words.test((e as Error).message),
        String(words),
      );
  });

  test('real engine - the longest line and the most headers we send are taken', async () => {
    const ami = await dial();
    const room = MAX_LINE_BYTES - 'Variable: \r\n'.length;
    assert.equal((await ami.action('Ping', { Variable: 'x'.repeat(room) })).ok, true);
    assert.equal((await ami.action('Ping', { Variable: Array.from({ length: 126 }, () => 'a=b') })).ok, true);
    ami.close();
  });

  test("real engine - a call is told from its birth to its end, and the state afterwards is the engine's", async () => {
    await exchange.cli('channel originate Local/600@internal application Wait 1');
    const born = await first('the birth', 'channel.created', (e) => e.channel.name.endsWith(';1'));
    assert.equal(born.channel.kind, 'local');
    await first('the end', 'channel.hungup', (e) => e.id === born.channel.id);
    await until('the end of its other half', () =>
      of('channel.created').every((one) => of('channel.hungup').some((e) => e.id === one.channel.id)),
    );
    const before = of('engine.snapshot').length;
    engine.resync();
    const fresh = await until('a fresh snapshot', () => of('engine.snapshot')[before]);
    assert.deepEqual(fresh.snapshot.channels, []);
    assert.equal(fresh.snapshot.restarted, false);
    assert.equal(engine.status().counters.drift, 0);
  });

  test('real engine - a call that is up stands in the snapshot as the facts told it', async () => {
    seen = [];
    await exchange.cli('channel originate Local/600@internal application Wait 60');
    await until(
      'both halves to be up',
      () => of('channel.state').filter((e) => e.state === 'up').length >= 2,
    );
    const before = of('engine.snapshot').length;
    engine.resync();
    const { snapshot } = await until('a fresh snapshot', () => of('engine.snapshot')[before]);
    assert.deepEqual(
      snapshot.channels.map((c) => c.kind),
      ['local', 'local'],
    );
    assert.equal(new Set(snapshot.channels.map((c) => c.pair)).size, 1);
    assert.ok(snapshot.channels.every((c) => Math.abs(c.created_at - Date.now()) < 60_000));
    assert.equal(engine.status().counters.drift, 0);
    await exchange.cli('channel request hangup all');
    await until('both halves ended', () =>
      snapshot.channels.every((c) => of('channel.hungup').some((e) => e.id === c.id)),
    );
  });

  test('real engine - a queue that a reload takes away is gone from the next snapshot', async () => {
    await exchange.write({ ...site, queues: site.queues.filter((q) => q.name !== 'support') });
    const before = of('engine.snapshot').length;
    await exchange.cli('module reload app_queue.so');
    const { snapshot, why } = await until('a snapshot after the reload', () => of('engine.snapshot')[before]);
    assert.equal(why, 'resync');
    assert.deepEqual(
      snapshot.queues.map((q) => q.name),
      ['sales'],
    );
    await exchange.write(site);
    await exchange.cli('module reload app_queue.so');
    await first(
      'the queue is back',
      'engine.snapshot',
      (e) => of('engine.snapshot').indexOf(e) > before && e.snapshot.queues.length === 2,
    );
  });

  test('real engine - a service that starts again finds the same life of the engine', async () => {
    const again = create();
    const own = new AbortController();
    for await (const batch of again.events(own.signal)) {
      const found = batch.find((e) => e.type === 'engine.snapshot');
      if (found === undefined) continue;
      assert.equal(found.snapshot.boot_id, engine.status().boot_id);
      assert.equal(found.snapshot.restarted, null);
      break;
    }
    own.abort();
    await again.close();
  });

  test('real engine - stopped: told down, commands fail at once then, and the same life comes back', async () => {
    seen = [];
    const { interface: iface } = engine.memberOf('1002');
    const stopped = Date.now();
    await freeze(pid());
    try {
      await assert.rejects(engine.pauseMember('sales', iface, true, 'lunch'), code('engine_timeout'));
      const down = await first('the link is told down', 'engine.link', (e) => !e.up);
      assert.ok(down.at - stopped <= 30_000, `told after ${down.at - stopped} ms`);
      await assert.rejects(engine.pauseMember('sales', iface, true, 'lunch'), code('engine_unavailable'));
    } finally {
      process.kill(pid(), 'SIGCONT');
    }
    const { snapshot } = await first(
      'the snapshot afterwards',
      'engine.snapshot',
      (e) => e.why === 'connect',
    );
    assert.equal(snapshot.restarted, false);
  });

  test('real engine - killed: told at once, and the next life is known as another', async () => {
    seen = [];
    const killed = Date.now();
    process.kill(pid(), 'SIGKILL');
    const down = await first('the link is told down', 'engine.link', (e) => !e.up);
    assert.ok(down.at - killed < 10_000, `told after ${down.at - killed} ms`);
    const { snapshot } = await first(
      'the snapshot of the next life',
      'engine.snapshot',
      (e) => e.why === 'connect',
    );
    assert.equal(snapshot.restarted, true);
    assert.notEqual(snapshot.boot_id, down.boot_id);
    assert.deepEqual(
      of('engine.link').map((e) => e.up),
      [false, true],
    );
  });

  test('real engine - a restart that it announces is told before it is gone', async () => {
    seen = [];
    await exchange.cli('core restart now').catch(() => '');
    const down = await first('the link is told down', 'engine.link', (e) => !e.up);
    assert.match(down.reason, /restarting|closed/);
    await first('the snapshot of the next life', 'engine.snapshot', (e) => e.snapshot.restarted === true);
  });
});
