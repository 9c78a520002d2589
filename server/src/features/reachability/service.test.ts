import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkConfig } from '@offhook/contract/config-network.ts';
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { z } from 'zod';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import { ExternalAddress } from './service.ts';

const STUN = { external_address_source: 'stun', stun_server: 'stun.example.com' } as const;
const LOCAL = '192.168.1.4';

/** A site whose STUN server gives these addresses one after the other, the last one for ever; an error instead of one is thrown. */
async function follow(
  answers: readonly (string | Error)[],
  fields: z.input<typeof NetworkConfig> = STUN,
  how: { readonly kept?: string; readonly renew?: (n: number) => Promise<Partial<ConfigApply>> } = {},
) {
  let network = NetworkConfig.parse(fields);
  const clock = createVirtualClock();
  const events: DomainEvent[] = [];
  const applied: (string | undefined)[] = [];
  let [asked, kept] = [0, how.kept ?? null];
  const found = await ExternalAddress.open({
    network: () => network,
    up: () => true,
    find: () => {
      const answer = answers[Math.min(asked, answers.length - 1)]!;
      asked += 1;
      return answer instanceof Error
        ? Promise.reject(answer)
        : Promise.resolve({ address: answer, local: LOCAL });
    },
    renew: async () => {
      applied.push(found.found()?.address);
      return (await (how.renew?.(applied.length) ?? { state: 'applied', detail: null })) as ConfigApply;
    },
    publish: (more) => void events.push(...more),
    clock,
    log: silent,
    kept: { read: () => Promise.resolve(kept), write: (text) => Promise.resolve(void (kept = text)) },
  });
  found.begin();
  await clock.advance(0);
  return {
    found,
    clock,
    applied,
    asked: () => asked,
    kept: () => kept,
    published: () => events.map(({ type, data }) => [type, (data as { address: string | null }).address]),
    detail: () => found.finding().detail,
    ok: () => found.finding().ok,
    become(other: z.input<typeof NetworkConfig>) {
      network = NetworkConfig.parse(other);
      found.follow();
      return clock.advance(0);
    },
    [Symbol.asyncDispose]: () => found[Symbol.asyncDispose](),
  };
}

test('external address - two answers that agree are brought to the engine, kept and an event', async () => {
  await using site = await follow(['203.0.113.9']);
  assert.deepEqual([site.applied, site.asked()], [[], 1]);
  await site.clock.advance(2_000);
  assert.deepEqual([site.applied, site.asked()], [['203.0.113.9'], 2]);
  assert.deepEqual(site.published(), [['network.address_changed', '203.0.113.9']]);
  assert.deepEqual(JSON.parse(site.kept()!), { address: '203.0.113.9', local: LOCAL });
  assert.equal(site.detail(), '203.0.113.9, of STUN server stun.example.com:3478');
  await site.clock.advance(60_000);
  assert.equal(site.applied.length, 1, 'the same address again changes nothing');
});

test('external address - the one of before a restart counts at once, a damaged note does not', async () => {
  await using site = await follow([new Error('no answer in 3 s')], STUN, {
    kept: '{"address":"203.0.113.8","local":null}',
  });
  assert.equal(site.found.shown(), '203.0.113.8');
  assert.equal(site.detail(), 'STUN server stun.example.com:3478: no answer in 3 s; 203.0.113.8 stays');
  for (const kept of ['', 'null', '{"address":"; x"}', '[]']) {
    await using other = await follow([new Error('no')], STUN, { kept });
    assert.equal(other.found.found(), null, kept);
  }
});

test('external address - a server that lies is not believed, named in one sentence and one event', async () => {
  for (const [lie, reason] of [
    ['192.168.1.1', 'which is no public address'],
    ['10.1.2.3', 'which is no public address'],
    ['100.64.0.1', 'which is no public address'],
    ['127.0.0.1', 'which no other machine can reach'],
    ['0.0.0.0', 'which no other machine can reach'],
    ['224.0.0.5', 'which no other machine can reach'],
    ['255.255.255.255', 'which no other machine can reach'],
    ['169.254.169.254', 'which no other machine can reach'],
    ['fd00::1', 'which is no public address'],
    ['::ffff:10.0.0.1', 'which is no public address'],
    ['203.0.113.200', 'which is in local_nets'],
  ] as const) {
    const network = { ...STUN, external_address: '203.0.113.7', local_nets: ['203.0.113.128/25'] };
    await using site = await follow([lie], network);
    await site.clock.advance(600_000);
    assert.deepEqual(site.applied, [], lie);
    assert.deepEqual(site.published(), [['network.address_doubted', '203.0.113.7']], lie);
    const said = `STUN server stun.example.com:3478 gives ${lie}, ${reason}; 203.0.113.7 stays`;
    assert.deepEqual([site.ok(), site.detail()], [false, said]);
  }
});

test('external address - answers that differ change nothing until two agree', async () => {
  await using site = await follow([
    '203.0.113.1',
    '203.0.113.2',
    '203.0.113.3',
    '203.0.113.4',
    '203.0.113.5',
  ]);
  await site.clock.advance(2_000);
  assert.match(
    site.detail(),
    /gives 203\.0\.113\.1, then 203\.0\.113\.2: answers must agree; there is none$/,
  );
  await site.clock.advance(17_000);
  assert.deepEqual(site.applied, []);
  await site.clock.advance(17_000);
  assert.deepEqual(site.applied, ['203.0.113.5']);
  assert.ok(site.ok());
});

test('external address - a doubt that begins soon after another one is reported too, if it lasts', async () => {
  const away = new Error('no answer in 3 s');
  await using site = await follow([away, '203.0.113.9', '203.0.113.9', away]);
  await site.clock.advance(60_000);
  const soon = [
    ['network.address_doubted', null],
    ['network.address_changed', '203.0.113.9'],
  ];
  assert.deepEqual([site.ok(), site.published()], [false, soon]);
  await site.clock.advance(3_600_000);
  assert.deepEqual(site.published(), [...soon, ['network.address_doubted', '203.0.113.9']]);
});

test('external address - one that changes all the time is changed ever more rarely', async () => {
  // Two answers agree, then the other address has its turn.
  const turns = Array.from({ length: 4_000 }, (_, i) => `203.0.113.${1 + (Math.floor(i / 2) % 2)}`);
  await using site = await follow(turns);
  await site.clock.advance(3_600_000);
  assert.ok(
    site.applied.length >= 2 && site.applied.length <= 7,
    `${site.applied.length} changes in an hour`,
  );
  await site.clock.advance(20_000);
  assert.match(
    site.detail(),
    /changes too often: the next change is possible in \d+ s; 203\.0\.113\.\d stays$/,
  );
});

test('external address - one that the engine does not take is given up and tried again', async () => {
  await using site = await follow(['203.0.113.9'], STUN, {
    renew: (n) =>
      n === 1
        ? Promise.reject(new ServiceError('apply_running', 'an apply is under way'))
        : Promise.resolve(
            n === 2 ? { state: 'rolled_back', detail: 'It was put back.' } : { state: 'applied' },
          ),
  });
  await site.clock.advance(2_000);
  assert.equal(site.found.found(), null);
  assert.match(
    site.detail(),
    /^203\.0\.113\.9 was found, but could not be applied to the engine: an apply is under way/,
  );
  await site.clock.advance(17_000);
  assert.match(site.detail(), /could not be applied to the engine: It was put back/);
  await site.clock.advance(17_000);
  assert.deepEqual([site.ok(), site.found.shown(), site.applied.length], [true, '203.0.113.9', 3]);
});

test('external address - an interface may have a private address; a network that becomes fixed is asked nothing', async () => {
  const byInterface = { external_address_source: 'interface', external_interface: 'ppp0' } as const;
  await using site = await follow(['10.1.2.3'], byInterface);
  await site.clock.advance(2_000);
  assert.equal(site.detail(), '10.1.2.3, of interface ppp0');
  const before = site.asked();
  await site.become({ external_address: '203.0.113.7' });
  assert.deepEqual([site.detail(), site.found.found()], ['fixed: 203.0.113.7', null]);
  await site.clock.advance(600_000);
  assert.equal(site.asked(), before);
});
