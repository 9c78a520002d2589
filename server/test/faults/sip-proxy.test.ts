/** Desk phones that know one address, that of the SIP proxy, over failovers of the engine nodes behind it. */
import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { openPostgresSiteNodes } from '../../src/adapters/postgres/site-nodes.ts';
import { switchTo } from '../../src/boot/nodes.ts';
import { systemClock } from '../../src/core/clock.ts';
import { issueCertificate } from '../../src/adapters/certificates/local-authority.ts';
import { statusOf } from '../../src/adapters/asterisk/phone/message.ts';
import { openTransport, randomTag } from '../../src/adapters/asterisk/phone/transport.ts';
import { askSip } from '../../src/adapters/asterisk/sip-probe.ts';
import { ableToLead, startNodes } from '../support/nodes.ts';
import type { TestNode, TestNodes } from '../support/nodes.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone, PhoneOptions } from '../support/phone.ts';
import { freePort } from '../support/ports.ts';
import { startPostgres } from '../support/postgres.ts';
import { sipProxyFor } from '../support/sip-proxy.ts';
import type { TestSipProxy } from '../support/sip-proxy.ts';
import { until } from '../support/until.ts';

describe('sip proxy', () => {
  /** Everything that is open, phones first: they say goodbye through the proxy, also where a test has failed. */
  const stack = new AsyncDisposableStack();
  let url = '';
  let nodes: TestNodes;
  let proxy: TestSipProxy;
  let caller: Phone;
  let called: Phone;
  let byTcp: Phone;
  let byTls: Phone;
  before(async () => {
    const server = stack.use(await startPostgres());
    url = await server.createDatabase();
    const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-sip-proxy-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const pair = await issueCertificate(folder, ['127.0.0.1'], Date.now());
    const [certificate, key] = [path.join(folder, 'certificate.pem'), path.join(folder, 'key.pem')];
    await writeFile(certificate, pair.certificate);
    await writeFile(key, pair.key);
    const tlsPort = await freePort();
    proxy = stack.use(
      await sipProxyFor(() => [nodes.a.site, nodes.b.site], {
        OFFHOOK_SIP_TLS_PORT: String(tlsPort),
        OFFHOOK_TLS_CERTIFICATE: certificate,
        OFFHOOK_TLS_KEY: key,
      }),
    );
    nodes = stack.use(
      await startNodes({ a: url, b: url }, { OFFHOOK_SIP_PROXY: `${proxy.sip.host}:${proxy.sip.port}` }),
    );
    await proxy.start();
    caller = await phone('1007');
    called = await phone('1008');
    byTcp = await phone('1006', { tcp: true });
    byTls = await phone('1005', {
      ca: await readFile(path.join(folder, 'ca.pem'), 'utf8'),
      server: { host: proxy.sip.host, port: tlsPort },
    });
  });
  after(() => stack.disposeAsync());
  const phone = async (extension: string, options: Partial<PhoneOptions> = {}): Promise<Phone> =>
    stack.use(
      await registerPhone({
        server: proxy.sip,
        extension,
        password: nodes.passwords.get(extension)!,
        ...options,
      }),
    );
  const call = async (from: Phone, to: Phone): Promise<void> => {
    const outgoing = await from.invite(to.extension);
    const incoming = await to.incoming(outgoing);
    incoming.ring();
    await incoming.answer();
    await outgoing.answered();
    await outgoing.bridged();
    await incoming.hangup();
    await outgoing.ended();
    assert.equal(outgoing.endedBy, 'them');
  };
  /** Phones that the engine of a node can call. */
  const reached = async ({ site }: TestNode): Promise<string[]> =>
    [...(await site.engineCli('pjsip show contacts')).matchAll(/Contact: +(\d+)\/\S+ +\S+ +Avail/g)]
      .map(([, extension]) => extension!)
      .toSorted();
  const knows = async (node: TestNode, extensions: readonly string[]): Promise<void> => {
    let last: readonly string[] = [];
    await until(
      `${extensions.join(' ')} at node ${node.name}`,
      async () => JSON.stringify((last = await reached(node))) === JSON.stringify(extensions),
      { ms: 60_000, seen: () => ({ last, tail: node.site.tail() }) },
    );
  };
  /** The proxy sends to this node, and phones that did not register again are called there. */
  async function callsAt(node: TestNode, t: TestContext, what: string): Promise<void> {
    await node.leads();
    const led = performance.now();
    const at = `${node.site.sip.host}:${node.site.sip.port}`;
    let metrics = '';
    await until(
      `the SIP proxy to send to node ${node.name}`,
      async () => {
        metrics = await (await fetch(`${proxy.metrics}/metrics`)).text();
        return metrics.includes(`offhook_sip_proxy_leader{node="${at}"} 1`);
      },
      { seen: () => ({ metrics: metrics.split('\n').filter((line) => line.includes('sip_proxy')) }) },
    );
    await call(caller, called);
    const ms = performance.now() - led;
    await call(caller, byTcp);
    await call(byTls, caller);
    await call(caller, byTls);
    t.diagnostic(`${what}: a call ${Math.round(ms)} ms after the node was ready`);
    assert.match(await node.site.engineCli('pjsip show contacts'), /1008\/sip:1008@/);
  }

  test('sip proxy - phones register and call through it, and the standby knows them', async (t) => {
    await callsAt(nodes.a, t, 'at first');
    await knows(nodes.b, ['1005', '1006', '1007', '1008']);
    await byTcp.unregister();
    await knows(nodes.b, ['1005', '1007', '1008']);
    await byTcp.register();
    await knows(nodes.b, ['1005', '1006', '1007', '1008']);
  });
  test('sip proxy - the leading node is killed: phones that do nothing are called at the next one', async (t) => {
    const { a, b } = nodes;
    const engine = a.site.enginePid()!;
    await a.site.kill('SIGKILL');
    process.kill(engine, 'SIGKILL');
    await callsAt(b, t, 'killed');
    await a.site.start('answers');
    await a.standsBy();
    await knows(a, ['1005', '1006', '1007', '1008']);
  });
  test('sip proxy - a switch: phones follow it, and the standby begins no call', async (t) => {
    const { a, b } = nodes;
    const known = openPostgresSiteNodes(url);
    try {
      await ableToLead(known, 'a');
      await switchTo(known, 'a', systemClock);
    } finally {
      await known.close();
    }
    await callsAt(a, t, 'switched');
    await b.standsBy();
    await knows(b, ['1005', '1006', '1007', '1008']);
    const before = called.seen;
    await b.site.engineCli('channel originate PJSIP/1008 application Wait 5');
    await until('the call of the standby to be refused', async () =>
      (await b.site.engineCli('core show channels count')).includes('0 active calls'),
    );
    assert.equal(called.seen, before);
    // Phones by TCP and TLS would have to connect again after the next test.
    await byTcp[Symbol.asyncDispose]();
    await byTls[Symbol.asyncDispose]();
  });
  test('sip proxy - Kamailio is killed: it is started again, without a word of the phones', async () => {
    const { pid } = proxy;
    process.kill(pid, 'SIGKILL');
    await until('another process of Kamailio', () => proxy.pid !== pid);
    await proxy.ready();
    await call(caller, called);
  });
  test('sip proxy - its program is killed: the next one adopts Kamailio', async () => {
    const { pid } = proxy;
    await proxy.kill('SIGKILL');
    await call(caller, called);
    await proxy.start();
    assert.equal(proxy.pid, pid);
    await call(called, caller);
  });
  test('sip proxy - a stranger reaches no third party, and what is no sound request gets no answer', async () => {
    await using target = dgram.createSocket('udp4').bind(0, '127.0.0.1');
    await once(target, 'listening');
    let leaked = 0;
    target.on('message', () => (leaked += 1));
    await using stranger = dgram.createSocket('udp4').bind(0, '127.0.0.1');
    await once(stranger, 'listening');
    const answers: string[] = [];
    stranger.on('message', (data) => {
      const text = data.toString();
      answers.push(`${/^CSeq: 1 (\S*)/im.exec(text)?.[1]} ${text.split('\r\n')[0]}`);
    });
    const { port } = stranger.address();
    const to = `127.0.0.1:${target.address().port}`;
    const proxyAt = `${proxy.sip.host}:${proxy.sip.port}`;
    const send = (method: string, uri: string, ...more: string[]): void => {
      const id = Math.random().toString(16).slice(2);
      const lines = [
        `${method} ${uri} SIP/2.0`,
        `Via: SIP/2.0/UDP 127.0.0.1:${port};rport;branch=z9hG4bK${id}`,
        'From: <sip:stranger@127.0.0.1>;tag=1',
        `Call-ID: ${id}`,
        `CSeq: 1 ${method}`,
        `Contact: <sip:stranger@127.0.0.1:${port}>`,
        'Content-Length: 0',
        ...more,
      ];
      stranger.send(`${lines.join('\r\n')}\r\n\r\n`, proxy.sip.port, proxy.sip.host);
    };
    const heard = (pattern: RegExp): Promise<unknown> =>
      until(`an answer ${pattern}`, () => answers.some((one) => pattern.test(one)), {
        seen: () => ({ answers }),
      });
    const inDialog = ['To: <sip:x@127.0.0.1>;tag=2', 'Max-Forwards: 70'];
    send('BYE', `sip:x@${to}`, `Route: <sip:${proxyAt};lr>`, ...inDialog);
    await heard(/ 403 /);
    send(
      'INVITE',
      `sip:x@${to}`,
      `Route: <sip:${proxyAt};lr>, <sip:${to};lr>`,
      'To: <sip:x@127.0.0.1>',
      'Max-Forwards: 70',
    );
    await heard(/ 401 /);
    send('INVITE', `sip:x@${proxyAt}`, 'To: <sip:x@127.0.0.1>', 'Max-Forwards: 0');
    await heard(/ 483 /);
    send('INFO', `sip:x@${proxyAt}`, 'To: <sip:x@127.0.0.1>', 'Max-Forwards: 70');
    await heard(/ 405 /);
    send(
      'REGISTER',
      `sip:${proxyAt}`,
      'To: <sip:x@127.0.0.1>',
      'Max-Forwards: 70',
      `X: ${'x'.repeat(20_000)}`,
    );
    send('nonsense', '');
    stranger.send(Buffer.from([0, 1, 2, 3]), proxy.sip.port, proxy.sip.host);
    // Answered after all of that, so that what it answers to it has come before.
    await call(caller, called);
    send('SUBSCRIBE', `sip:x@${proxyAt}`, 'To: <sip:x@127.0.0.1>', 'Max-Forwards: 0');
    await heard(/^SUBSCRIBE .* 483 /);
    assert.deepEqual(
      [...new Set(answers.map((one) => one.split(' ')[0]!))],
      ['BYE', 'INVITE', 'INFO', 'SUBSCRIBE'],
    );
    assert.equal(leaked, 0);
  });
  const guess = (): Promise<void> =>
    assert.rejects(
      registerPhone({ server: proxy.sip, extension: '1001', password: 'wrong' }),
      /answered with SIP\/2.0 401/,
    );
  const counted = async (): Promise<Readonly<Record<string, string>>> =>
    Object.fromEntries(
      [...(await proxy.command('htable.dump', 'refused')).matchAll(/name: (\S+)\s+value: (\d+)/g)].map(
        ([, name, value]) => [name!, value!],
      ),
    );
  /** Final answer to a request of a phone by this password; 408 for none. */
  async function askedBy(
    password: string,
    { username = '1001', port = 0, patience_ms = 60_000, method = 'INVITE', tag = '' } = {},
  ): Promise<number> {
    const at = `${proxy.sip.host}:${proxy.sip.port}`;
    const transport = await openTransport({
      server: proxy.sip,
      username,
      password,
      at: { host: '127.0.0.1', port },
      onRequest() {},
    });
    try {
      const dialog = {
        callId: randomTag(),
        local: `<sip:${username}@${at}>;tag=${randomTag()}`,
        remote: `<sip:112@${at}>${tag}`,
        target: `sip:112@${at}`,
        cseq: 0,
      };
      return statusOf(await transport.send(dialog, method, { patience_ms }).response);
    } finally {
      await transport.close();
    }
  }
  test('sip proxy - refused passwords behind one address silence no phone that works and no call', async () => {
    const port = await freePort();
    await using beside = await phone('1004', { at: { host: '127.0.0.1', port } });
    const isKnown = (): Promise<boolean> =>
      proxy.command('htable.dump', 'phones').then((text) => text.includes(`127.0.0.1:${port}`));
    await until('the node to have asked the phone', isKnown);
    for (let refused = 0; refused < 21; refused += 1) await guess();
    await assert.rejects(askSip(proxy.sip, 'guest', 2_000), /no answer in 2 s/);
    await beside.register();
    // As after a restart of Kamailio: calls begin, are acknowledged and ended.
    await proxy.command('htable.flush', 'phones');
    const flushed = performance.now();
    await call(caller, called);
    await call(beside, called);
    assert.ok(performance.now() - flushed < 30_000, 'before the node asks the phones again');
    assert.deepEqual(Object.values(await counted()), ['21']);
    await proxy.command('htable.flush', 'refused');
  });
  test('sip proxy - a phone with a refused password is not known any more; refused calls are limited too', async () => {
    const port = await freePort();
    const isKnown = (): Promise<boolean> =>
      proxy.command('htable.dump', 'phones').then((text) => text.includes(`127.0.0.1:${port}`));
    await proxy.command('htable.seti', 'phones', `127.0.0.1:${port}`, '1');
    assert.equal(await isKnown(), true);
    assert.equal(await askedBy('wrong', { port }), 401);
    assert.equal(await isKnown(), false);
    for (let refused = 1; refused < 21; refused += 1) assert.equal(await askedBy('wrong'), 401);
    assert.deepEqual(Object.values(await counted()), ['21']);
    assert.equal(await askedBy(nodes.passwords.get('1001')!, { patience_ms: 2_000 }), 408);
    // With a tag it is no request of a dialog, which would reach the node without the Path of the proxy.
    assert.equal(await askedBy('wrong', { method: 'REGISTER', tag: ';tag=1' }), 401);
    await proxy.command('htable.flush', 'refused');
  });
  test('sip proxy - a phone that registered within a day registers again at another port, until too many passwords of its own are refused', async () => {
    const phones = ['1009', '1010'] as const;
    for (const extension of phones) await (await phone(extension))[Symbol.asyncDispose]();
    const register = (username: string, password = nodes.passwords.get(username)!): Promise<number> =>
      askedBy(password, { username, method: 'REGISTER', patience_ms: 5_000 });
    for (let refused = 0; refused < 21; refused += 1) assert.equal(await register('1009', 'wrong'), 401);
    assert.equal(await register('1009'), 408);
    assert.equal(await register('1011'), 408, 'it registered nowhere');
    await using again = await phone('1010');
    assert.equal(again.extension, '1010');
    await proxy.command('htable.flush', 'refused');
    await proxy.command('htable.flush', 'guessed');
  });
  test('sip proxy - an address with too many refused passwords gets no answer, until five minutes after the first', async () => {
    // All of them have the address of this test.
    await caller[Symbol.asyncDispose]();
    await called[Symbol.asyncDispose]();
    assert.equal(await askSip(proxy.sip, 'guest', 20_000), 200);
    for (let refused = 0; refused < 20; refused += 1) await guess();
    const [[name, value] = []] = Object.entries(await counted());
    assert.equal(value, '20');
    // Five minutes after the first, all but its end.
    await proxy.command('htable.setex', 'refused', name!, '20');
    await guess();
    await assert.rejects(askSip(proxy.sip, 'guest', 2_000), /no answer in 2 s/);
    await until('an answer', () => askSip(proxy.sip, 'guest', 2_000).catch(() => null));
  });
});
