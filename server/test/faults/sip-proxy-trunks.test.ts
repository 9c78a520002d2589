/** Trunks behind the SIP proxy: carriers, real engines, know its address alone and notice nothing of a failover. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import dgram from 'node:dgram';
import { once } from 'node:events';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { BlockedNetworks } from '@offhook/contract/blocked-networks.ts';
import { signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { apply, ask } from '../support/config-steps.ts';
import { startNodes } from '../support/nodes.ts';
import type { TestNode, TestNodes } from '../support/nodes.ts';
import { farSidesReached, registerPhone } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { freePort } from '../support/ports.ts';
import { startPostgres } from '../support/postgres.ts';
import { PASSWORD, company, inboundRoute, outboundRoute, trunk } from '../support/rendered-company.ts';
import { sipProxyFor } from '../support/sip-proxy.ts';
import type { TestSipProxy } from '../support/sip-proxy.ts';
import { startTestEngine } from '../support/throwaway-engine.ts';
import type { TestEngine } from '../support/throwaway-engine.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

/** Account of the first carrier that the site signs in with, and its number. */
const ACCOUNT = '1001';
/** A subscriber of each carrier. */
const SUBSCRIBER = '1002';
/** The site at the second carrier, which knows it by its address. */
const NUMBER = '4930555';
/** Addresses that strangers send from: nobody's, and that of the second carrier's machine without its port. */
const OUTSIDE = '127.0.0.8';

describe('sip proxy trunks', () => {
  const stack = new AsyncDisposableStack();
  let proxy: TestSipProxy;
  let spare: TestSipProxy;
  let nodes: TestNodes;
  let boss: Person | null = null;
  let byAccount: TestEngine;
  let byAddress: TestEngine;
  before(async () => {
    const server = stack.use(await startPostgres());
    const url = await server.createDatabase();
    proxy = stack.use(await sipProxyFor(() => [nodes.a.site, nodes.b.site]));
    spare = stack.use(await sipProxyFor(() => [nodes.a.site, nodes.b.site]));
    // It believes the contact of a REGISTER, and so reaches nobody by the address that the REGISTER came from.
    byAccount = stack.use(
      await startTestEngine(company(), { host: '127.0.0.2', sip_proxies: [{ host: '127.0.0.2', port: 9 }] }),
    );
    const customer = trunk({ name: 'customer', ...proxy.sip });
    byAddress = stack.use(
      await startTestEngine(
        company({
          trunks: [customer],
          outbound_routes: [
            outboundRoute({
              name: 'customer',
              patterns: ['0.'],
              class: 'national',
              trunks: [{ trunk: 'customer', strip: 1 }],
            }),
          ],
          inbound_routes: [
            inboundRoute({
              name: 'subscriber',
              trunk: 'customer',
              number: '49301002',
              to: { kind: 'extension', key: SUBSCRIBER },
            }),
          ],
        }),
        { host: '127.0.0.3' },
      ),
    );
    const both = [proxy, spare].map(({ sip }) => `${sip.host}:${sip.port}`).join(',');
    nodes = stack.use(
      await startNodes({ a: url, b: url }, { OFFHOOK_SIP_PROXY: both, OFFHOOK_SIP_NEVER_BLOCK: '' }),
    );
    await proxy.start();
    await spare.start();
    await configure(nodes.a);
  });
  after(() => stack.disposeAsync());

  async function configure({ site }: TestNode): Promise<void> {
    const objects = {
      trunks: [
        {
          name: 'account',
          title: 'Account',
          ...byAccount.server,
          username: ACCOUNT,
          password: PASSWORD,
          register: true,
        },
        { name: 'address', title: 'Address', ...byAddress.server },
      ],
      'inbound-routes': [
        { name: 'account', trunk: 'account', number: ACCOUNT, to: { kind: 'extension', key: '1007' } },
        { name: 'address', trunk: 'address', number: NUMBER, to: { kind: 'extension', key: '1007' } },
      ],
      'outbound-routes': [
        {
          name: 'account',
          position: 1,
          patterns: ['01002'],
          class: 'national',
          trunks: [{ trunk: 'account', strip: 1 }],
        },
        {
          name: 'address',
          position: 2,
          patterns: ['049.'],
          class: 'national',
          trunks: [{ trunk: 'address', strip: 1 }],
        },
        {
          name: 'premium',
          position: 3,
          patterns: ['00900.'],
          class: 'premium',
          trunks: [{ trunk: 'address', strip: 1 }],
        },
      ],
    };
    for (const [kind, all] of Object.entries(objects))
      for (const one of all) await ask(site, 'POST', `/${kind}`, one);
    const { state, detail, problems } = await apply(site);
    assert.equal(state, 'applied', JSON.stringify({ detail, problems }));
  }
  const desk = (through = proxy): Promise<Phone> =>
    registerPhone({ server: through.sip, extension: '1007', password: nodes.passwords.get('1007')! });
  /** The administrator at the node that leads after the first one; the file of the passwords is the first one's. */
  async function asksNext(path: string, method = 'GET'): Promise<Readonly<Record<string, unknown>>> {
    const { base } = nodes.b.site;
    const { password } = (await nodes.a.site.credentials()).find((one) => one.extension === '1001')!;
    boss ??= await signIn(base, '1001', password);
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { authorization: `Bearer ${boss.token}` },
    });
    assert.equal(response.status, 200, path);
    return (await response.json()) as Readonly<Record<string, unknown>>;
  }
  /** A phone at a carrier, whose own address is not that of the proxy. */
  const subscriber = async ({ server }: TestEngine): Promise<Phone> =>
    registerPhone({
      server,
      extension: SUBSCRIBER,
      password: PASSWORD,
      at: { host: '127.0.0.9', port: await freePort() },
    });
  async function talk(from: Phone, number: string, to: Phone): Promise<void> {
    const outgoing = await from.invite(number);
    const incoming = await to.incoming(outgoing);
    await incoming.answer();
    await outgoing.answered();
    await outgoing.bridged();
    outgoing.play('tone');
    incoming.play('tone');
    await Promise.all([outgoing.hears(), incoming.hears()]);
    await incoming.hangup();
    await outgoing.ended();
    assert.equal(outgoing.endedBy, 'them');
  }
  /** Calls both ways over both trunks, by the node that leads. */
  async function callsBothWays(through = proxy): Promise<void> {
    await using at = await desk(through);
    for (const [carrier, out, inward] of [
      [byAccount, `0${SUBSCRIBER}`, ACCOUNT],
      [byAddress, '049301002', `0${NUMBER}`],
    ] as const) {
      await using other = await subscriber(carrier);
      await talk(at, out, other);
      // This carrier knows one address of the site.
      if (carrier === byAccount || through === proxy) await talk(other, inward, at);
    }
  }
  /** The proxy sends new requests to this node. */
  async function leads(node: TestNode): Promise<void> {
    await node.leads();
    let metrics = '';
    await until(
      `the SIP proxy to send to node ${node.name}`,
      async () => {
        metrics = await (await fetch(`${proxy.metrics}/metrics`)).text();
        const { host, port } = node.site.sip;
        return metrics.includes(`offhook_sip_proxy_leader{node="${host}:${port}"} 1`);
      },
      { seen: () => ({ metrics: metrics.split('\n').filter((line) => line.includes('sip_proxy')) }) },
    );
  }
  const contactsOf = async (carrier: TestEngine): Promise<readonly string[]> =>
    [...(await carrier.cli('pjsip show contacts')).matchAll(/Contact: +1001\/(\S+)/g)].map(([, uri]) => uri!);
  const registered = (node: TestNode): Promise<unknown> => {
    let seen = '';
    return until(
      `the trunk of node ${node.name} to be registered`,
      async () => / Registered /.test((seen = await node.site.engineCli('pjsip show registrations'))),
      { seen: () => ({ seen, tail: node.site.tail() }) },
    );
  };
  const reached = (node: TestNode): Promise<unknown> => {
    let seen = '';
    return until(
      `the trunks of node ${node.name} to answer`,
      async () => {
        seen = await node.site.engineCli('pjsip show contacts');
        return ['account', 'address'].every((name) =>
          new RegExp(`trunk-${name}/\\S+ +\\S+ +Avail`).test(seen),
        );
      },
      { seen: () => ({ seen }) },
    );
  };

  test('sip proxy trunks - carriers know the address of the proxy alone; calls go both ways', async () => {
    await registered(nodes.a);
    await reached(nodes.a);
    assert.deepEqual(await contactsOf(byAccount), [`sip:${ACCOUNT}@${proxy.sip.host}:${proxy.sip.port}`]);
    await farSidesReached(byAddress.cli, [proxy.sip]);
    await callsBothWays();
  });
  test('sip proxy trunks - the leading node is killed: calls go both ways by the next one', async (t) => {
    const { a, b } = nodes;
    await reached(b);
    const engine = a.site.enginePid()!;
    await a.site.kill('SIGKILL');
    process.kill(engine, 'SIGKILL');
    await leads(b);
    const led = performance.now();
    await callsBothWays();
    t.diagnostic(
      `calls both ways over both trunks ${Math.round(performance.now() - led)} ms after the node led`,
    );
    await registered(b);
    assert.deepEqual(await contactsOf(byAccount), [`sip:${ACCOUNT}@${proxy.sip.host}:${proxy.sip.port}`]);
  });
  test('sip proxy trunks - a stranger is taken for no trunk, whatever it writes', async () => {
    await using socket = dgram.createSocket('udp4').bind(0, OUTSIDE);
    await once(socket, 'listening');
    const answers = new Map<string, string>();
    socket.on('message', (data) => {
      const [start = '', ...lines] = data.toString().split('\r\n');
      const id = /^Call-ID: (.*)$/i.exec(lines.find((line) => /^Call-ID:/i.test(line)) ?? '')?.[1] ?? '';
      if (!start.includes(' 100 ')) answers.set(id, start);
    });
    const { port } = socket.address();
    const source = `offhook-source=${byAddress.server.host}`;
    const asks = async (
      to: { readonly host: string; readonly port: number },
      uri: string,
      ms = 5_000,
    ): Promise<string> => {
      const id = Math.random().toString(16).slice(2);
      const lines = [
        `INVITE ${uri} SIP/2.0`,
        `Via: SIP/2.0/UDP ${OUTSIDE}:${port};rport;branch=z9hG4bK${id}`,
        'Max-Forwards: 70',
        `From: <sip:4930777@${byAddress.server.host}>;tag=1`,
        `To: <${uri.split('?')[0]}>`,
        `Call-ID: ${id}`,
        'CSeq: 1 INVITE',
        `Contact: <sip:stranger@${OUTSIDE}:${port}>`,
        'Content-Length: 0',
      ];
      socket.send(`${lines.join('\r\n')}\r\n\r\n`, to.port, to.host);
      return await until(`an answer to ${uri}`, () => answers.get(id), { ms }).catch(() => 'none');
    };
    const at = `${proxy.sip.host}:${proxy.sip.port}`;
    await using phone = await desk();
    const before = phone.seen;
    for (const uri of [
      `sip:${NUMBER}@${at}`,
      `sip:${NUMBER}@${at};${source}`,
      `sip:${NUMBER};${source}@${at}`,
      `sip:${NUMBER}@${at};x=1?${source}`,
      `sip:${NUMBER}@${at};${source}?x=`,
      `sip:${NUMBER}@x;${source}?y=@${at}`,
      `sip:${NUMBER}%40${at};${source}@${at}`,
    ])
      assert.match(await asks(proxy.sip, uri), /^(none|SIP\/2.0 (400|401|404|416))/, uri);
    const { sip } = nodes.b.site;
    assert.match(
      await asks(sip, `sip:${NUMBER}@${sip.host}:${sip.port};${source}`, PATIENCE_MS),
      /^SIP\/2.0 (401|403)/,
      'past the proxy',
    );
    assert.equal(phone.seen, before);
  });
  test('sip proxy trunks - refused calls are no refused passwords', async () => {
    await using at = await desk();
    const calls = await Promise.all(Array.from({ length: 21 }, () => at.invite('009001234567')));
    for (const outgoing of calls) {
      await outgoing.ended();
      assert.equal(outgoing.status, 403);
    }
    await at.register();
  });
  test('sip proxy trunks - who guesses passwords is not answered any more, a trunk always', async () => {
    const guess = async (host: string): Promise<string> =>
      await registerPhone({
        server: proxy.sip,
        extension: '1007',
        password: 'wrong',
        at: { host, port: await freePort() },
      }).then(
        () => 'registered',
        (error: unknown) => String(error),
      );
    assert.match(await guess(byAddress.server.host), / 404 /, 'a trunk is no phone');
    const guessing = sameClass(byAddress.server.host);
    for (let i = 0; i < 21; i += 1) assert.match(await guess(guessing), / 401 /);
    const at = { host: guessing, port: await freePort() };
    assert.equal(await optionsAnswered(proxy.sip, at), false);
    await callsBothWays();
  });
  test('sip proxy trunks - a network that the site blocks gets no answer at the proxy, until it is released', async () => {
    const { site } = nodes.b;
    const stranger = '127.3.4.5';
    const at = async () => ({ host: stranger, port: await freePort() });
    assert.equal(await optionsAnswered(proxy.sip, await at(), PATIENCE_MS), true);
    const listed = async () => BlockedNetworks.parse(await asksNext('/api/v1/blocked-networks')).networks;
    await until('the node to block a guesser', async () => {
      await registerPhone({ server: site.sip, extension: '1007', password: 'wrong', at: await at() }).catch(
        () => undefined,
      );
      return (await listed()).length > 0;
    });
    const [{ id, network } = { id: 0, network: '' }] = await listed();
    assert.equal(network, '127.3.4.0/24');
    await until('the proxy to be silent', async () => !(await optionsAnswered(proxy.sip, await at())));
    assert.equal(
      await optionsAnswered(proxy.sip, { host: '127.3.5.5', port: await freePort() }, PATIENCE_MS),
      true,
    );
    const others = http.get(`${site.base}/api/nodes/blocked-networks`, {
      localAddress: stranger,
      agent: false,
    });
    const [refused] = (await once(others, 'response')) as [http.IncomingMessage];
    refused.resume();
    assert.equal(refused.statusCode, 404, 'only the proxy itself is told');
    await asksNext(`/api/v1/blocked-networks/${id}`, 'DELETE');
    await until('the proxy to answer', async () => optionsAnswered(proxy.sip, await at()));
  });
  test('sip proxy trunks - the proxy dies: trunks leave and register by the other one', async (t) => {
    await proxy.die();
    const died = performance.now();
    await until(
      'the carrier to know the other proxy',
      async () =>
        (await contactsOf(byAccount)).includes(`sip:${ACCOUNT}@${spare.sip.host}:${spare.sip.port}`),
      { ms: 120_000, seen: () => ({ tail: nodes.b.site.tail() }) },
    );
    t.diagnostic(`registered by the other proxy after ${Math.round(performance.now() - died)} ms`);
    await reached(nodes.b);
    await callsBothWays(spare);
    const { details } = (await asksNext('/readyz')) as {
      readonly details: Readonly<Record<string, string>>;
    };
    const [dead, alive] = [proxy, spare].map(({ sip }) => `${sip.host}:${sip.port}`);
    assert.ok(details['sip_proxies']?.startsWith(`${dead}: `));
    assert.ok(details['sip_proxies']?.endsWith(`; ${alive}: answers, trunks pass it`));
  });
});
/** Another address whose refused passwords the proxy counts together with those of this one. */
function sameClass(host: string): string {
  const classOf = (one: string): string => createHash('md5').update(one).digest('hex').slice(0, 4);
  for (let i = 0; ; i += 1) {
    const other = `127.${9 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
    if (classOf(other) === classOf(host)) return other;
    assert.ok(i < 4_000_000, 'no such address');
  }
}
/** Whether OPTIONS from this address is answered in time; a busy machine may need longer than two seconds for an answer. */
async function optionsAnswered(
  to: { readonly host: string; readonly port: number },
  { host, port }: { readonly host: string; readonly port: number },
  ms = 2_000,
): Promise<boolean> {
  await using socket = dgram.createSocket('udp4').bind(port, host);
  await once(socket, 'listening');
  const lines = [
    `OPTIONS sip:${to.host}:${to.port} SIP/2.0`,
    `Via: SIP/2.0/UDP ${host}:${port};rport;branch=z9hG4bK${port}`,
    'Max-Forwards: 70',
    `From: <sip:anybody@${host}>;tag=1`,
    `To: <sip:${to.host}:${to.port}>`,
    `Call-ID: ${port}`,
    'CSeq: 1 OPTIONS',
    'Content-Length: 0',
  ];
  socket.send(`${lines.join('\r\n')}\r\n\r\n`, to.port, to.host);
  const answer = await once(socket, 'message', { signal: AbortSignal.timeout(ms) }).catch(() => null);
  return answer !== null;
}
