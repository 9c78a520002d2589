import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeDns } from '../../test/support/fake-dns.ts';
import { namedAddresses } from './trunk-lookup.ts';

test('trunk lookup - the present addresses of each enabled trunk with a name, with and without SRV records', async () => {
  await using dns = await startFakeDns({
    a: {
      'plain.example.com': ['192.0.2.1'],
      'sip.example.com': ['192.0.2.2'],
      'off.example.com': ['192.0.2.3'],
    },
    srv: { '_sip._udp.srv.example.com': [[1, 1, 5060, 'sip.example.com']] },
  });
  const trunk = { port: 5060, transport: 'udp', srv: false, enabled: true } as const;
  const trunks = [
    { ...trunk, name: 'plain', host: 'plain.example.com' },
    { ...trunk, name: 'srv', host: 'srv.example.com', srv: true },
    { ...trunk, name: 'off', host: 'off.example.com', enabled: false },
    { ...trunk, name: 'gone', host: 'gone.example.com' },
    { ...trunk, name: 'address', host: '198.51.100.1' },
  ];
  const config = { dnsServers: [dns.address] };
  assert.deepEqual(await namedAddresses(trunks, config), ['192.0.2.1', '192.0.2.2']);
  dns.become({ a: { 'plain.example.com': ['203.0.113.1'] } });
  assert.deepEqual(await namedAddresses(trunks, config), ['203.0.113.1'], 'nothing is kept');
});
