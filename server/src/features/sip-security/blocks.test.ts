import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { until } from '../../../test/support/until.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { FirewallState, TimedBlock } from '../../ports/firewall.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Store } from '../../ports/store.ts';
import { BLOCK_MS, MOST_BLOCKED, MOST_REFUSED, NetworkBlocks } from './blocks.ts';
import { blockedNetworkOf, meets } from './networks.ts';

const ACTOR = { caller: { username: 'ada' }, ip: '192.0.2.9' } as unknown as Actor;

async function rig(t: { after(work: () => Promise<void>): void }) {
  const { store: whole, ...temp } = await temporaryStore();
  /** Number of next calls that fail. */
  const faults = { store: 0, audit: 0 };
  const fail = (what: keyof typeof faults): void => {
    if (faults[what] === 0) return;
    faults[what] -= 1;
    throw new Error(`no ${what}`);
  };
  const store: Store = {
    ...whole,
    db<T>() {
      fail('store');
      return whole.db<T>();
    },
  };
  const clock = createVirtualClock();
  const events: DomainEvent[] = [];
  const rows: AuditEntry[] = [];
  const engine: { lists: (readonly string[])[]; away: boolean; asked: number } = {
    lists: [],
    away: false,
    asked: 0,
  };
  const phones: string[] = [];
  const wall = {
    seen: [] as string[],
    spared: ['127.0.0.1', '10.0.0.0/8'],
    ports: [5060],
    replace: async (blocks: readonly TimedBlock[], ports: readonly number[]) =>
      void wall.seen.push(`${blocks.map((b) => b.network).join(' ')} at ${ports.join(' ')}`),
    state: (): FirewallState => ({ state: 'active', networks: 0 }),
    close: async () => void wall.seen.push('closed'),
  };
  const open = () =>
    NetworkBlocks.open({
      store,
      clock,
      log: silent,
      audit: {
        async record(entry) {
          fail('audit');
          rows.push(entry);
        },
      },
      publish: (all) => void events.push(...all),
      spared: () => wall.spared,
      async phones() {
        engine.asked += 1;
        return phones;
      },
      async enforce(networks) {
        engine.lists.push(networks);
        if (engine.away) throw new Error('no engine');
        return true;
      },
      firewall: wall,
      ports: () => wall.ports,
    });
  const blocks = await open();
  t.after(async () => {
    await blocks.close();
    await temp[Symbol.asyncDispose]();
  });
  const attack = (address: string, times = MOST_REFUSED, reason: 'password' | 'request' = 'password') => {
    for (let i = 0; i < times; i++) blocks.refused({ reason, account: '1001', address });
  };
  return { blocks, clock, events, rows, engine, phones, wall, open, attack, faults };
}

test('blocked networks - the ninth refusal blocks the network until its time is over, with event and audit line', async (t) => {
  const { blocks, clock, events, rows, engine, attack } = await rig(t);
  blocks.again();
  attack('203.0.113.7', MOST_REFUSED - 1);
  attack('203.0.113.8', 1);
  attack('203.0.113.8', 5);
  const listed = await until('the block', () => blocks.list().networks[0]);
  assert.deepEqual(
    [listed.network, listed.reason, listed.requests, Date.parse(listed.until) - Date.parse(listed.since)],
    ['203.0.113.0/24', 'password', MOST_REFUSED, BLOCK_MS],
  );
  await until('its audit line', () => rows.length === 1);
  assert.deepEqual([rows[0]!.action, rows[0]!.object], ['sip.network_blocked', '203.0.113.0/24']);
  assert.deepEqual(engine.lists.at(-1), ['203.0.113.0/24']);
  await clock.advance(BLOCK_MS);
  await until('its end', () => events.length === 2);
  assert.deepEqual(
    events.map(({ type, data }) => [type, (data as { why?: string }).why]),
    [
      ['network.blocked', undefined],
      ['network.released', 'over'],
    ],
  );
  assert.deepEqual([blocks.list().networks, engine.lists.at(-1)], [[], []]);
});

test('blocked networks - refusals over a long time, malformed requests, own networks and offices are spared', async (t) => {
  const { blocks, clock, engine, phones, attack } = await rig(t);
  phones.push('198.51.100.20');
  for (const address of ['127.0.0.9', '10.1.2.3', '::ffff:127.0.0.1', 'nonsense', '198.51.100.7'])
    attack(address);
  attack('203.0.113.7', 50, 'request');
  attack('203.0.113.9', MOST_REFUSED - 1);
  await clock.advance(6 * 60_000);
  attack('203.0.113.9', MOST_REFUSED - 1);
  attack('2001:db8:0:1::5');
  await until('the one that is blocked', () => engine.lists.length > 0);
  assert.deepEqual(engine.lists, [['2001:db8:0:1::/64']]);
  assert.deepEqual(
    blocks.list().networks.map((n) => n.network),
    ['2001:db8:0:1::/64'],
  );
});

test('blocked networks - a block outlives the service and an engine that is away, and a person ends it', async (t) => {
  const { blocks, engine, open, rows, events, attack } = await rig(t);
  engine.away = true;
  attack('203.0.113.7');
  await until('the block', () => events.length === 1);
  assert.equal(blocks.list().enforced, false);
  engine.away = false;
  const next = await open();
  next.again();
  await until('the list in the engine', () => next.list().enforced);
  assert.deepEqual(engine.lists.at(-1), ['203.0.113.0/24']);
  const { id } = next.list().networks[0]!;
  await next.release(ACTOR, id);
  assert.deepEqual([engine.lists.at(-1), next.list().networks], [[], []]);
  assert.deepEqual([rows.at(-1)!.action, rows.at(-1)!.actor], ['sip.network_released', 'ada']);
  await assert.rejects(next.release(ACTOR, id), /not blocked/);
  await next.close();
});

test('blocked networks - the firewall has them from the start to the end, but none that is spared by now', async (t) => {
  const { blocks, engine, wall, open, attack } = await rig(t);
  engine.away = true;
  attack('203.0.113.7');
  attack('198.51.100.7');
  const both = '203.0.113.0/24 198.51.100.0/24 at 5060';
  await until('both, while the engine is away', () => wall.seen.at(-1) === both);
  assert.equal(wall.seen[0], ' at 5060');
  wall.spared = ['198.51.100.0/24'];
  wall.ports = [5060, 5061];
  wall.seen.length = 0;
  const next = await open();
  await until('those of before a restart', () => wall.seen.length === 1);
  assert.deepEqual([wall.seen, next.list().firewall], [['203.0.113.0/24 at 5060 5061'], 'active']);
  await next.close();
  next.configured();
  next.again();
  await blocks.release(ACTOR, blocks.list().networks[0]!.id);
  assert.deepEqual(wall.seen.slice(1), ['closed', ' at 5060 5061'], 'nothing after the end');
});

test('blocked networks - the engine receives none that is spared by now, after a change of the configuration', async (t) => {
  const { blocks, engine, wall, attack } = await rig(t);
  attack('203.0.113.7');
  await until('the block', () => engine.lists.length === 1);
  blocks.configured();
  wall.spared = ['203.0.113.0/24'];
  blocks.configured();
  blocks.configured();
  blocks.again();
  await until('the lists', () => engine.lists.length === 3);
  assert.deepEqual(engine.lists, [['203.0.113.0/24'], [], []], 'one for the change, one for the connect');
});

test('blocked networks - a block ends once a trunk has an address there, after an apply or a connect', async (t) => {
  const { blocks, engine, events, phones, attack } = await rig(t);
  attack('203.0.113.7');
  attack('198.51.100.7');
  attack('192.0.2.7');
  await until('the blocks', () => events.length === 3);
  phones.push('203.0.113.200');
  blocks.applied();
  await until('the end of the first', () => events.length === 4);
  phones.push('198.51.100.200');
  blocks.again();
  await until('the end of the second', () => events.length === 5);
  assert.deepEqual(
    events.slice(3).map(({ type, data }) => [type, (data as { network: string }).network]),
    [
      ['network.released', '203.0.113.0/24'],
      ['network.released', '198.51.100.0/24'],
    ],
  );
  assert.deepEqual(engine.lists.at(-1), ['192.0.2.0/24']);
  assert.deepEqual(
    blocks.list().networks.map((n) => n.network),
    ['192.0.2.0/24'],
  );
});

test('blocked networks - a block ends also after an audit or a database that failed', async (t) => {
  const { blocks, clock, events, faults, attack } = await rig(t);
  faults.audit = 1;
  attack('203.0.113.7');
  await until('the block', () => events.length === 1 && faults.audit === 0);
  faults.store = 1;
  await clock.advance(BLOCK_MS);
  await until('the end that fails', () => faults.store === 0);
  assert.equal(blocks.list().networks.length, 1);
  await until('the end', async () => {
    await clock.advance(10_000);
    return events.length === 2;
  });
  assert.deepEqual(blocks.list().networks, []);
});

test('blocked networks - an attack from 2,000 networks blocks the newest 500 and asks the engine a few times', async (t) => {
  const { blocks, engine, events, rows, wall, attack } = await rig(t);
  for (let i = 0; i < 2_000; i++) {
    attack(`100.${64 + (i >> 8)}.${i & 255}.9`);
    if (i % 500 === 499) await until('those to be blocked', () => rows.length === i + 1, { every: 1 });
  }
  const { networks } = blocks.list();
  assert.equal(networks.length, MOST_BLOCKED);
  assert.deepEqual(
    engine.lists.at(-1),
    networks.map((n) => n.network),
  );
  assert.equal(events.filter((e) => e.type === 'network.released').length, 1_500);
  assert.ok(
    engine.asked + engine.lists.length + wall.seen.length < 40,
    `${engine.asked} ${engine.lists.length}`,
  );
});

test('blocked networks - an attack from an office with a phone asks the engine once in five minutes', async (t) => {
  const { blocks, clock, engine, phones, attack } = await rig(t);
  phones.push('198.51.100.20');
  for (let i = 0; i < 50; i++) {
    attack('198.51.100.7', 20);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until('the question', () => engine.asked > 0);
  assert.deepEqual([engine.asked, blocks.list().networks], [1, []]);
  phones.length = 0;
  await clock.advance(5 * 60_000);
  attack('198.51.100.7');
  await until('the block without the phone', () => blocks.list().networks.length === 1);
});

test('blocked networks - networks of addresses, and whether they meet', () => {
  assert.deepEqual(['192.0.2.77', '::ffff:192.0.2.77', '2001:db8::1', '::1', 'x', ''].map(blockedNetworkOf), [
    '192.0.2.0/24',
    '192.0.2.0/24',
    '2001:db8:0:0::/64',
    '0:0:0:0::/64',
    null,
    null,
  ]);
  for (const [network, other, is] of [
    ['192.0.2.0/24', '192.0.2.200', true],
    ['192.0.2.0/24', '192.0.3.1', false],
    ['192.0.2.0/24', '192.0.0.0/16', true],
    ['192.0.2.0/24', '192.0.2.128/25', true],
    ['192.0.2.0/24', '0.0.0.0/0', true],
    ['2001:db8:0:0::/64', '2001:db8::/32', true],
    ['0:0:0:0::/64', '::1', true],
  ] as const)
    assert.equal(meets(network, [other]), is, `${network} ${other}`);
});

test('blocked networks - no block gets the id of an ended one, so that a repeated release ends no other', async (t) => {
  const { blocks, attack } = await rig(t);
  const blocked = async (address: string): Promise<number> => {
    attack(address);
    const network = blockedNetworkOf(address);
    return (await until('the block', () => blocks.list().networks.find((b) => b.network === network))).id;
  };
  const first = await blocked('203.0.113.7');
  await blocks.release(ACTOR, first);
  const second = await blocked('198.51.100.7');
  await assert.rejects(blocks.release(ACTOR, first), { code: 'not_found' });
  assert.deepEqual(
    blocks.list().networks.map(({ id }) => id),
    [second],
  );
});
