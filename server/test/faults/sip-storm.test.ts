/**
 * Storms of SIP requests while twenty calls run. `TEST_STORM=long` sends ten times as many: 10,000 wrong registrations from
 * each network, and 1,000 INVITE a second for half a minute.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { SECRET, extensions, phoneOf, prepareCompany } from '../support/company.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone, PhoneCall } from '../support/phone.ts';
import { freeRange } from '../support/ports.ts';
import { storm } from '../support/storm.ts';
import type { StormOptions } from '../support/storm.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const LONG = process.env['TEST_STORM'] === 'long';
const CALLS = 20;
/** Own addresses of this machine that a test may block. */
const SCANNER = '127.9.9.9';
const FLOODER = '127.8.8.8';
/** An address that is never blocked here. */
const SPARED = '127.0.0.77';
const MOST_BLOCKED = 500;
/** Ports of sound for all calls, and as many again. */
const RTP_PORTS = 4 * 2 * CALLS;
const rtp = await freeRange(RTP_PORTS);
const MOST_GROWTH_KB = 150_000;

const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

describe('storms over SIP', () => {
  const site = useSite({
    env: { OFFHOOK_SIP_NEVER_BLOCK: '127.0.0.0/24', OFFHOOK_RTP_PORTS: `${rtp}-${rtp + RTP_PORTS - 1}` },
    prepare: prepareCompany({ people: extensions(2001, 2000 + 2 * CALLS) }),
  });
  const get = async <T>(path: string): Promise<T> => {
    const { token } = await site().person('1001');
    const reply = await fetch(site().base + path, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    assert.equal(reply.status, 200, path);
    return (await reply.json()) as T;
  };
  const blocked = async () =>
    (await get<{ networks: { network: string; requests: number }[] }>('/api/v1/blocked-networks')).networks;
  const send = (options: Pick<StormOptions, 'method' | 'count' | 'perSecond'> & Partial<StormOptions>) =>
    storm({
      server: site().sip,
      from: [SCANNER],
      account: 'scan{n}',
      number: '2001',
      agent: 'friendly-scanner',
      linger_ms: 15_000,
      ...options,
    });

  test('storms - twenty calls lose no packet, the service answers, and all that grows has a bound', async (t) => {
    await using stack = new AsyncDisposableStack();
    const phones: Phone[] = await Promise.all(
      extensions(2001, 2000 + 2 * CALLS).map(async (e) => stack.use(await phoneOf(site(), e))),
    );
    const legs: PhoneCall[] = [];
    for (let i = 0; i < CALLS; i += 1) {
      const [from, to] = [phones[2 * i]!, phones[2 * i + 1]!];
      const call = await from.invite(to.extension);
      const incoming = await to.incoming(call);
      await incoming.answer();
      await call.answered();
      legs.push(call, incoming);
    }
    for (const leg of legs) leg.play('tone');
    await Promise.all(legs.map((leg) => leg.hears(50)));
    const before = legs.map(({ media }) => media.missing);
    const memory = { service: memoryOf(site().pid!), engine: memoryOf(site().enginePid()!) };

    const over = new AbortController();
    const took: number[] = [];
    const watching = (async () => {
      while (!over.signal.aborted) {
        for (const path of ['/healthz', '/api/v1/calls']) {
          const began = performance.now();
          await get(path);
          took.push(performance.now() - began);
        }
        await pause(100);
      }
    })();

    const many = LONG ? 10_000 : 3_000;
    const scan = await send({ method: 'REGISTER', count: many, perSecond: 2_000 });
    assert.deepEqual(
      Object.keys(scan.answers).filter((status) => !['401', '403'].includes(status)),
      [],
    );
    const flood = await send({
      method: 'INVITE',
      from: [FLOODER],
      count: LONG ? 30_000 : 3_000,
      perSecond: 1_000,
    });
    assert.ok((flood.answers['403'] ?? 0) > 0, JSON.stringify(flood));
    // A network that is spared is asked for a password each time, and reaches nothing.
    const own = await send({ method: 'REGISTER', from: [SPARED], count: many / 3, perSecond: 500 });
    const calls = await send({ method: 'INVITE', from: [SPARED], count: many / 6, perSecond: 500 });
    for (const { answers } of [own, calls]) assert.deepEqual(Object.keys(answers), ['401']);
    const networks = LONG ? 600 : 60;
    await send({
      method: 'REGISTER',
      from: Array.from({ length: networks }, (_, i) => `127.${20 + (i >> 8)}.${i & 255}.9`),
      count: networks * 12,
      perSecond: 1_000,
    });
    const listed = await until('every network of the attack to be blocked', async () => {
      const found = await blocked();
      return found.length >= Math.min(MOST_BLOCKED, networks + 2) && found;
    });
    assert.ok(listed.length <= MOST_BLOCKED, `${listed.length} networks`);
    assert.ok(listed.every(({ requests, network }) => requests <= 10 && !network.startsWith('127.0.0.')));
    over.abort();
    await watching;

    const sorted = took.toSorted((a, b) => a - b);
    const grown = {
      service: memoryOf(site().pid!) - memory.service,
      engine: memoryOf(site().enginePid()!) - memory.engine,
    };
    const missing = legs.map(({ media }, i) => media.missing - before[i]!);
    t.diagnostic(
      `requests p50 ${sorted[sorted.length >> 1]?.toFixed(0)} ms, slowest ${sorted.at(-1)?.toFixed(0)} ms of ${sorted.length}; ` +
        `grown by ${grown.service} and ${grown.engine} kB; missing ${missing.join(' ')}; ` +
        `scan ${JSON.stringify(scan)}, flood ${JSON.stringify(flood)}`,
    );
    assert.deepEqual(
      legs.map(({ state }) => state).filter((state) => state !== 'up'),
      [],
      'no call is lost',
    );
    assert.deepEqual(
      missing.filter((n) => n > 0),
      [],
      'no packet is lost',
    );
    assert.ok(grown.service < MOST_GROWTH_KB && grown.engine < MOST_GROWTH_KB, JSON.stringify(grown));
    const { calls: live } = await get<{ calls: object[] }>('/api/v1/calls');
    assert.equal(live.length, CALLS);
    await Promise.all(legs.filter((_, i) => i % 2 === 0).map((leg) => leg.hangup()));
  });

  test('storms - an office phone with a wrong password is not blocked while another phone of it works', async () => {
    const office = '127.7.7.1';
    await using good = await registerPhone({
      server: site().sip,
      extension: '2001',
      password: SECRET,
      at: { host: office, port: 0 },
    });
    for (let i = 0; i < 15; i += 1)
      await assert.rejects(
        registerPhone({
          server: site().sip,
          extension: '2002',
          password: 'an-old-password-of-22-letters',
          at: { host: '127.7.7.2', port: 0 },
        }),
        /answered with .*(401|403)/,
      );
    const call = await good.invite('600');
    await call.answered();
    await call.hangup();
    // Blocks are decided in turn: that of the scanner comes after the office was looked at.
    await send({ method: 'REGISTER', from: ['127.6.6.6'], count: 10, perSecond: 100 });
    const networks = await until('a scanner to be blocked after it', async () => {
      const found = (await blocked()).map(({ network }) => network);
      return found.includes('127.6.6.0/24') && found;
    });
    assert.ok(!networks.includes('127.7.7.0/24'), networks.join(' '));
  });
});
