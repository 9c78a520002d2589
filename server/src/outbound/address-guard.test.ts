import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceError } from '../core/errors.ts';
import { createGuard } from './address-guard.ts';
import type { Address } from './address-guard.ts';

const outcome = (url: string, allow: string[] = []): string => {
  try {
    return createGuard(allow).readTarget(url).href;
  } catch (error) {
    return (error as ServiceError).code;
  }
};

test('address guard - only public addresses in their plain spelling, by http and https', () => {
  for (const url of [
    'http://127.0.0.1/',
    'http://127.8.9.1:8080/x',
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://100.64.0.1/',
    'http://100.127.255.255/',
    'http://192.0.0.8/',
    'http://198.18.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:10.0.0.1]/',
    'http://[::ffff:a00:1]/',
    'http://[::127.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fc00::1]/',
    'http://[fd12:3456::1]/',
    'http://[fec0::1]/',
    'http://[ff02::1]/',
    'http://[64:ff9b::a00:1]/',
    'http://[64:ff9b:1::1]/',
    'http://[2002:a00:1::]/',
    'http://[2001::1]/',
    'http://[2001:db8::1]/',
    'http://localhost/',
    'http://LOCALHOST/',
    'http://localhost./',
    'http://a.localhost/',
    'http://example.com./',
    // Other spellings of an address, private or not.
    'http://0x7f000001/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://0x08080808/',
    'http://１２７.0.0.1/',
    'http://exa\tmple.com/',
    'http://example.com\\@10.0.0.1/',
    ' http://example.com/',
    'http:example.com/',
    'http:/\\example.com/',
    'file:///etc/passwd',
    'gopher://example.com/',
    'ftp://example.com/',
    'ws://example.com/',
    'javascript:alert(1)',
    'http://user:pass@example.com/',
    'http://user@example.com/',
    'http://:pass@example.com/',
    'http://example.com:22/',
    'http://example.com:25/',
    'http://example.com:0/',
    'https://example.com:5038/',
    'https://example.com/#secret',
  ]) {
    assert.equal(outcome(url), 'webhook_target_refused', JSON.stringify(url));
  }
  for (const url of ['', 'example.com', '/hook', 'http://', 'http://[::1', 'http://example.com:99999/']) {
    assert.equal(outcome(url), 'invalid_request', JSON.stringify(url));
  }
  for (const [url, read] of [
    ['https://crm.example.com/hook?key=1', 'https://crm.example.com/hook?key=1'],
    ['http://example.com', 'http://example.com/'],
    ['https://Example.COM:8443/a', 'https://example.com:8443/a'],
    ['http://8.8.8.8:80/', 'http://8.8.8.8/'],
    ['http://[2606:4700::1111]:8080/', 'http://[2606:4700::1111]:8080/'],
    ['https://xn--bcher-kva.example/', 'https://xn--bcher-kva.example/'],
  ] as const) {
    assert.equal(outcome(url), read);
  }
});

test('address guard - what is listed may be called, and only that', () => {
  const allow = ['crm.internal', '10.1.0.0/16', '127.0.0.1', 'fd00::/8', 'localhost'];
  assert.equal(outcome('http://crm.internal:8080/', allow), 'http://crm.internal:8080/');
  assert.equal(outcome('http://10.1.255.1/', allow), 'http://10.1.255.1/');
  assert.equal(outcome('http://[fd00::1]/', allow), 'http://[fd00::1]/');
  assert.equal(outcome('http://localhost:3000/', allow), 'http://localhost:3000/');
  for (const url of [
    'http://10.2.0.1/',
    'http://127.0.0.2/',
    'http://[fe80::1]/',
    'http://crm.internal:22/',
  ]) {
    assert.equal(outcome(url, allow), 'webhook_target_refused', url);
  }
  const guard = createGuard(allow);
  const list: Address[] = [
    { address: '10.1.0.9', family: 4 },
    { address: '10.9.0.9', family: 4 },
    { address: '::ffff:10.9.0.9', family: 6 },
    { address: 'fe80::1%eth0', family: 6 },
    { address: '93.184.216.34', family: 4 },
    { address: 'nonsense', family: 4 },
  ];
  assert.deepEqual(
    guard.allowed('crm.example.com', list).map(({ address }) => address),
    ['10.1.0.9', '93.184.216.34'],
  );
  assert.deepEqual(guard.allowed('crm.internal', list), list, 'whatever a listed name means');
});

/** The spellings of IPv6 that carry an IPv4 address. */
const CARRIERS: Readonly<Record<string, (high: string, low: string) => string>> = {
  mapped: (high, low) => `::ffff:${high}:${low}`,
  compatible: (high, low) => `::${high}:${low}`,
  translated: (high, low) => `::ffff:0:${high}:${low}`,
  nat64: (high, low) => `64:ff9b::${high}:${low}`,
  'local nat64': (high, low) => `64:ff9b:1::${high}:${low}`,
  '6to4': (high, low) => `2002:${high}:${low}::1`,
  teredo: (high, low) => `2001::${high}:${low}`,
};

test('address guard - an address that is not public is refused in whatever carries it, as text and as what a name means', () => {
  const guard = createGuard([]);
  const refused = (address: string): void => {
    const family = address.includes(':') ? 6 : 4;
    assert.deepEqual(guard.allowed('crm.example.com', [{ address, family }]), [], address);
    assert.equal(
      outcome(`http://${family === 6 ? `[${address}]` : address}/`),
      'webhook_target_refused',
      address,
    );
  };
  for (const [what, ip] of Object.entries({
    unspecified: '0.0.0.0',
    'this network': '0.1.2.3',
    private: '10.0.0.1',
    shared: '100.100.100.200',
    loopback: '127.0.0.1',
    'link-local, metadata': '169.254.169.254',
    'last of the link-local': '169.254.255.255',
    'metadata of Azure': '168.63.129.16',
    'private, last': '172.31.255.255',
    'metadata of Oracle': '192.0.0.192',
    office: '192.168.255.255',
    benchmarks: '198.19.255.255',
    multicast: '224.0.0.251',
    'multicast, last': '239.255.255.255',
    reserved: '240.0.0.1',
    broadcast: '255.255.255.255',
  })) {
    refused(ip);
    const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
    for (const [carrier, spell] of Object.entries(CARRIERS)) {
      const address = spell((a * 256 + b).toString(16), (c * 256 + d).toString(16));
      assert.ok(URL.canParse(`http://[${address}]/`), `${what} ${carrier}`);
      refused(address);
    }
  }
  for (const ip of [
    '::',
    '::1',
    'fe80::a9fe:a9fe',
    'febf::1',
    'fec0::1',
    'fc00::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    'ff01::1',
    'ff0e::1',
    '100::1',
    '5f00::1',
    '3fff::1',
  ]) {
    refused(ip);
  }
  for (const ip of [
    '1.1.1.1',
    '11.0.0.0',
    '100.128.0.0',
    '168.63.129.17',
    '172.32.0.0',
    '2606:4700::1111',
    '2a00::1',
  ])
    assert.equal(guard.allowed('crm.example.com', [{ address: ip, family: 4 }]).length, 1, ip);
});
