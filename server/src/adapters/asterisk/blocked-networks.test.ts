/** Blocked networks on a real engine: what is rejected, and that no reload is needed by what goes on. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PASSWORD, company, trunk } from '../../../test/support/rendered-company.ts';
import { startFakeAmi } from '../../../test/support/fake-ami.ts';
import { registerPhone } from '../../../test/support/phone.ts';
import { statusOf } from './phone/message.ts';
import { openTransport, randomTag } from './phone/transport.ts';
import { startTestEngine } from '../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../test/support/throwaway-engine.ts';
import { systemClock } from '../../core/clock.ts';
import { silent } from '../../core/log.ts';
import type { Instance } from './conf/instance.ts';
import { blockNetworks, registeredAddresses, trunkAddresses } from './blocked-networks.ts';

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(company());
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const reading = () => ({ clock: systemClock, log: silent, signal: new AbortController().signal });
/** Answer to a request from this address with a wrong password. */
async function answer(host: string, method: 'REGISTER' | 'INVITE'): Promise<number> {
  const at = `${engine.server.host}:${engine.server.port}`;
  const transport = await openTransport({
    server: engine.server,
    username: 'nobody',
    password: 'wrong',
    at: { host, port: 0 },
    onRequest() {},
  });
  try {
    const dialog = {
      callId: randomTag(),
      local: `<sip:nobody@${at}>;tag=${randomTag()}`,
      remote: `<sip:1001@${at}>`,
      target: `sip:1001@${at}`,
      cseq: 0,
    };
    return statusOf(await transport.send(dialog, method, {}).response);
  } finally {
    await transport.close();
  }
}

test('blocked networks - the engine rejects what comes from them and nothing else, over a restart too', async () => {
  const scanner = '127.9.9.9';
  assert.equal(await answer(scanner, 'REGISTER'), 401);
  assert.equal(await answer(scanner, 'INVITE'), 401, 'without an account nothing is reached');
  assert.deepEqual(await registeredAddresses(engine.instance, reading()), [], 'nobody is registered');
  await using desk = await registerPhone({ server: engine.server, extension: '1001', password: PASSWORD });
  assert.deepEqual(await registeredAddresses(engine.instance, reading()), ['127.0.0.1']);
  const many = Array.from({ length: 499 }, (_, i) => `203.0.${i % 250}.0/24`);
  assert.equal(
    await blockNetworks(engine.instance, [...many, '127.9.9.0/24', '2001:db8:0:1::/64'], engine.cli),
    true,
  );
  assert.equal(await answer(scanner, 'REGISTER'), 403);
  assert.equal(await answer(scanner, 'INVITE'), 403);
  await desk.register();
  const call = await desk.invite('600');
  await call.answered();
  await call.hangup();
  await engine.restart();
  assert.equal(await answer(scanner, 'REGISTER'), 403);
  assert.equal(await blockNetworks(engine.instance, [], engine.cli), true);
  assert.equal(await answer(scanner, 'REGISTER'), 401);
  await desk.register();
});

test('blocked networks - the addresses of phones are read whole, however long a contact is, also behind the SIP proxy', async (t) => {
  const uris = [
    'sip:1003@192.0.2.7:5060;ob',
    'sips:u:p@[2001:db8:1234:5678:9abc:def0:1234:5678]:5061;transport=tls',
    'sip:pbx.example.com',
    'sip:198.51.100.9',
    'sip:1004@192.0.2.7:5062;x=a/b@203.0.113.1',
  ];
  const proxied = (from: string) => ({
    endpoint: '1004',
    uri: 'sip:1004@10.1.2.3:5060',
    path: `<sip:192.0.2.99:5060;lr;received=${from}>`,
  });
  const fake = await startFakeAmi({
    state: {
      contacts: [
        ...uris.map((uri) => ({ endpoint: '1003', uri })),
        proxied('sip:203.0.113.77:40000'),
        proxied('sip:203.0.113.78:40000%3Btransport%3Dtls'),
        proxied('sip:[2001:db8::7]:40000'),
      ],
    },
  });
  t.after(() => fake.close());
  const instance = { ami_port: fake.port, ami_actions: fake.target.actions } as Instance;
  assert.deepEqual(await registeredAddresses(instance, reading()), [
    '192.0.2.7',
    '2001:db8:1234:5678:9abc:def0:1234:5678',
    '198.51.100.9',
    '203.0.113.77',
    '203.0.113.78',
    '2001:db8::7',
  ]);
});

test('blocked networks - trunks have the addresses that the engine found for their names', async () => {
  const servers = [{ host: 'a.example.com', port: 5060, addresses: ['198.51.100.1', '198.51.100.2'] }];
  const trunks = [
    trunk({ name: 'name', host: 'localhost', port: 5999 }),
    trunk({ name: 'six', host: '2001:db8:1234:5678:9abc:def0:1234:5678' }),
    trunk({ name: 'found', host: 'example.com', srv: true, servers }),
    trunk({ name: 'behind', host: '192.0.2.9' }),
  ];
  await using other = await startTestEngine(company({ trunks }), {
    sip_proxies: [{ host: '127.0.0.2', port: 9 }],
  });
  assert.deepEqual((await trunkAddresses(other.cli)).toSorted(), [
    '127.0.0.1',
    '192.0.2.9',
    '198.51.100.1',
    '198.51.100.2',
    '2001:db8:1234:5678:9abc:def0:1234:5678',
  ]);
});
test('blocked networks - a value that would make the engine reject everybody is refused', async () => {
  for (const bad of ['', '0.0.0.0/0', '203.0.113.7/24\npermit = 0.0.0.0/0', '203.0.113.0/24;', 'x'])
    await assert.rejects(blockNetworks(engine.instance, [bad], engine.cli), /must be a network/, bad);
  assert.equal(await answer('127.9.9.9', 'REGISTER'), 401);
});
test('blocked networks - an equal list is not read again, unless the engine may not have read it', async () => {
  let reloads = 0;
  let fails = false;
  const console = async (text: string): Promise<string> => {
    if (text.startsWith('module reload')) {
      reloads += 1;
      if (fails) throw new Error('the link is down');
    }
    return await engine.cli(text);
  };
  const block = (...networks: string[]) => blockNetworks(engine.instance, networks, console);
  await block('127.9.9.0/24', '127.9.8.0/24');
  assert.equal(reloads, 1);
  assert.equal(await block('127.9.8.0/24', '127.9.9.0/24'), true);
  assert.equal(reloads, 1, 'a database may return them in another order');
  fails = true;
  await assert.rejects(block());
  fails = false;
  assert.equal(await answer('127.9.9.9', 'REGISTER'), 403, 'the engine has not read the empty list');
  assert.equal(await block(), true);
  assert.equal(reloads, 3);
  assert.equal(await answer('127.9.9.9', 'REGISTER'), 401);
});
