import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeDns } from '../../../test/support/fake-dns.ts';
import type { FakeRecords } from '../../../test/support/fake-dns.ts';
import { PATIENCE_MS } from '../../../test/support/until.ts';
import { findServers } from './trunk-servers.ts';

const DOMAIN = 'carrier.example.com';
async function asked(
  records: FakeRecords,
  transport: 'udp' | 'tcp' | 'tls' = 'udp',
  srv = true,
): Promise<string[]> {
  await using dns = await startFakeDns(records);
  const found = await findServers([dns.address])(
    { host: DOMAIN, port: 5060, transport, srv },
    AbortSignal.timeout(PATIENCE_MS),
  );
  return found.map(({ host, port, addresses }) => `${host}:${port} ${addresses.join(' ')}`);
}
const A = {
  'one.example.com': ['192.0.2.9', '192.0.2.1'],
  'two.example.com': ['192.0.2.2'],
  'three.example.com': ['192.0.2.3'],
};

test('trunk servers - in order of priority, then of weight, each by the service of the transport', async () => {
  const records = [
    [20, 0, 5060, 'three.example.com'],
    [10, 1, 5062, 'two.example.com'],
    [10, 9, 5061, 'one.example.com'],
  ] as const;
  const wanted = [
    'one.example.com:5061 192.0.2.1 192.0.2.9',
    'two.example.com:5062 192.0.2.2',
    'three.example.com:5060 192.0.2.3',
  ];
  assert.deepEqual(await asked({ a: A, srv: { [`_sip._udp.${DOMAIN}`]: records } }), wanted);
  assert.deepEqual(await asked({ a: A, srv: { [`_sip._tcp.${DOMAIN}`]: records } }, 'tcp'), wanted);
  assert.deepEqual(await asked({ a: A, srv: { [`_sips._tcp.${DOMAIN}`]: records } }, 'tls'), wanted);
});

test('trunk servers - a trunk that is not to follow SRV records has the addresses of its host', async () => {
  const records: FakeRecords = {
    srv: { [`_sip._udp.${DOMAIN}`]: [[0, 0, 5070, 'one.example.com']] },
    a: { ...A, [DOMAIN]: ['192.0.2.7'] },
  };
  assert.deepEqual(await asked(records, 'udp', false), [`${DOMAIN}:5060 192.0.2.7`]);
});
test('trunk servers - without SRV records it is the domain itself, and a server without an address is left out', async () => {
  assert.deepEqual(await asked({ a: { [DOMAIN]: ['192.0.2.7'] } }), [`${DOMAIN}:5060 192.0.2.7`]);
  const srv = {
    [`_sip._udp.${DOMAIN}`]: [
      [1, 0, 5060, 'gone.example.com'],
      [2, 0, 5060, 'two.example.com'],
    ],
  } as const;
  assert.deepEqual(await asked({ a: A, srv }), ['two.example.com:5060 192.0.2.2']);
});

test('trunk servers - what is no answer is an error, never an empty list; this machine is no server', async () => {
  const name = `_sip._udp.${DOMAIN}`;
  await assert.rejects(asked({ fault: 'refuse' }), new RegExp(`^Error: ${name}: `));
  await assert.rejects(asked({ fault: 'silent' }), new RegExp(`^Error: ${name}: `));
  await assert.rejects(asked({ srv: { [name]: [[0, 0, 5060, '']] } }), /offers no such service$/);
  const own = { [name]: [[0, 0, 5060, 'own.example.com']] } as const;
  await assert.rejects(
    asked({ srv: own, a: { 'own.example.com': ['127.0.0.1', '0.0.0.0', '224.0.0.1'] } }),
    /no server of it has an IPv4 address that can be used$/,
  );
});

test('trunk servers - at most eight, however many there are', async () => {
  const srv = Array.from({ length: 20 }, (_, i) => [i, 0, 5060 + i, 'one.example.com'] as const);
  const found = await asked({ a: A, srv: { [`_sip._udp.${DOMAIN}`]: srv } });
  assert.deepEqual([found.length, found[0]], [8, 'one.example.com:5060 192.0.2.1 192.0.2.9']);
});
