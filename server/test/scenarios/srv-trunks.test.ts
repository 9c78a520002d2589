/** A trunk whose servers are named by SRV records of a DNS server that changes them while a call is up. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TrunkChange } from '@offhook/contract/trunks.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { eventsOf } from '../support/call-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { apply, ask } from '../support/config-steps.ts';
import { startFakeDns } from '../support/fake-dns.ts';
import type { FakeDns, FakeRecords } from '../support/fake-dns.ts';
import { farAddress, silence } from '../support/far-address.ts';
import { openFarSide } from '../support/phone.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const DOMAIN = 'carrier.example.com';
const FIRST = await farAddress('127.0.0.2');
const SECOND = await farAddress('127.0.0.3');
const THIRD = await farAddress('127.0.0.4');
const textOf = ({ host, port }: typeof FIRST): string => `${host}:${port}`;
const records = (...servers: (typeof FIRST)[]): FakeRecords => ({
  srv: {
    [`_sip._udp.${DOMAIN}`]: servers.map(({ host, port }, i) => [
      i,
      0,
      port,
      `sip-${host.at(-1)}.example.com`,
    ]),
  },
  a: Object.fromEntries([FIRST, SECOND, THIRD].map(({ host }) => [`sip-${host.at(-1)}.example.com`, [host]])),
});

describe('srv trunks', () => {
  let dns: FakeDns;
  before(async () => {
    dns = await startFakeDns(records(FIRST, SECOND));
  });
  after(() => dns[Symbol.asyncDispose]());
  const site = useSite(() => ({
    env: { OFFHOOK_DNS_SERVERS: dns.address },
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        trunk: [{ name: 'carrier', title: 'Carrier', host: DOMAIN, srv: true }],
        outbound_route: [{ name: 'national', patterns: ['0X!'], trunks: [{ trunk: 'carrier' }] }],
      });
    }),
  }));
  /** Type of each event of the trunk, and its servers, those that do not answer with a minus. */
  const told = (): string[] =>
    eventsOf(site(), 'trunk.up', 'trunk.down').map(({ type, data }) => {
      const { servers } = TrunkChange.parse(data);
      return [type, ...servers.map((one) => (one.reachable === false ? '-' : '') + one.server)].join(' ');
    });
  const heard = (line: string) =>
    until(`the event ${line}`, () => told().at(-1) === line, { seen: () => ({ told: told() }) });
  const far = (at: typeof FIRST) =>
    openFarSide({ server: site().sip, extension: '+4915112345678', at, cli: site().engineCli });
  const check = async (): Promise<string> => {
    const { token } = await site().person('1001');
    const reply = await fetch(`${site().base}/readyz`, { headers: { authorization: `Bearer ${token}` } });
    const { checks, details } = (await reply.json()) as Record<string, Record<string, string>>;
    return `${checks!['trunk_servers']} ${details!['trunk_servers']}`;
  };
  /** Any apply makes the service look at once instead of within half a minute. */
  const lookNow = async (max_calls: number): Promise<void> => {
    await ask(site(), 'PATCH', '/trunks/carrier', { max_calls });
    assert.equal((await apply(site())).state, 'applied');
  };

  test('srv trunks - the first server carries calls; its end is an event, and calls go by the second', async () => {
    await heard(`trunk.up ${textOf(FIRST)} ${textOf(SECOND)}`);
    await using desk = await site().phone('1007');
    {
      await using one = await far(FIRST);
      const call = await desk.invite('0301234');
      const there = await one.incoming(call);
      await there.answer();
      await call.answered();
      await call.hangup();
      await there.ended();
    }
    await using two = await far(SECOND);
    const away = silence(FIRST);
    await site().engineCli('pjsip qualify trunk-carrier');
    await heard(`trunk.up -${textOf(FIRST)} ${textOf(SECOND)}`);
    const next = await desk.invite('0301234');
    const taken = await two.incoming(next);
    await taken.answer();
    await next.answered();
    await next.hangup();
    await taken.ended();
    away.speak();
    await site().engineCli('pjsip qualify trunk-carrier');
    await heard(`trunk.up ${textOf(FIRST)} ${textOf(SECOND)}`);
  });

  test('srv trunks - other records reach the engine while a call is up, and the call goes on', async () => {
    await using desk = await site().phone('1007');
    await using one = await far(FIRST);
    const call = await desk.invite('0301234');
    const there = await one.incoming(call);
    await there.answer();
    await call.answered();
    there.play('tone');
    await call.hears(20);
    dns.become(records(THIRD, SECOND));
    await lookNow(20);
    await heard(`trunk.up ${textOf(SECOND)} ${textOf(THIRD)}`);
    assert.equal(
      await check(),
      `ok Carrier: sip-4.example.com:${THIRD.port}, sip-3.example.com:${SECOND.port}`,
    );
    await call.hears(20);
    assert.equal(call.state, 'up');
    await using three = await far(THIRD);
    await using other = await site().phone('1008');
    const next = await other.invite('0301234');
    const taken = await three.incoming(next);
    await taken.answer();
    await next.answered();
    await next.hangup();
    await taken.ended();
    await call.hangup();
    await there.ended();
  });

  test('srv trunks - without an answer of the DNS server a restarted service keeps the servers and names the fault', async () => {
    dns.become({ fault: 'refuse' });
    await lookNow(21);
    await site().kill('SIGKILL');
    await site().start();
    await until('the fault in the health check', async () => (await check()).startsWith('failing '));
    assert.match(
      await check(),
      /^failing Carrier: _sip\._udp\.carrier\.example\.com: .*; in use: sip-4\.example\.com:\d+, sip-3\.example\.com:\d+$/,
    );
    await using three = await far(THIRD);
    await using desk = await site().phone('1007');
    const call = await desk.invite('0301234');
    (await three.incoming(call)).reject(486);
    await call.ended();
  });
});
