import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkConfig } from '@offhook/contract/config-network.ts';
import type { z } from 'zod';
import type { Site } from '../../../ports/site.ts';
import { SETTINGS, company, renderCompany, trunk } from '../../../../test/support/rendered-company.ts';

/** Files of a company whose network has these fields. */
const rendered = (fields: z.input<typeof NetworkConfig>, settings = SETTINGS) => {
  const files = renderCompany(company({ network: NetworkConfig.parse(fields) }), settings);
  return {
    sip: files.get('pjsip.conf')!,
    phones: files.get('pjsip_shared.conf')!,
    rtp: files.get('rtp.conf')!,
  };
};
const count = (text: string, line: string): number => text.split('\n').filter((l) => l === line).length;

test('network - without an external address the files name none, and browsers on loopback keep their media there', () => {
  const { sip, phones, rtp } = rendered({ local_nets: ['192.168.0.0/16'] });
  assert.doesNotMatch(sip, /external|local_net/);
  assert.doesNotMatch(rtp, /ice_host_candidates/);
  assert.match(phones, /^media_address = 127\.0\.0\.1$/m);
});
test('network - desk phones and trunks outside see the external address, those of the local nets and this machine do not', () => {
  const { sip, phones } = rendered({ external_address: '203.0.113.7', local_nets: ['192.168.0.0/16'] });
  for (const line of [
    'external_signaling_address = 203.0.113.7',
    'external_media_address = 203.0.113.7',
    'local_net = 127.0.0.0/8',
    'local_net = 192.168.0.0/16',
  ])
    assert.equal(count(sip, line), 2, `${line}, by UDP and TCP`);
  assert.doesNotMatch(phones, /^media_address/m, 'browsers outside reach no media on loopback');
});
test('network - media has an address, ports and mapped addresses of its own', () => {
  const { sip, rtp } = rendered({
    external_address: '203.0.113.7',
    external_media_address: '203.0.113.8',
    rtp_ports: { from: 20_000, to: 20_999 },
    ice_hosts: [
      { local: '192.168.1.4', external: '203.0.113.7', keep_local: false },
      { local: '10.0.0.4', external: '203.0.113.8' },
    ],
  });
  assert.match(sip, /^external_media_address = 203\.0\.113\.8$/m);
  assert.match(rtp, /^rtpstart = 20000$[^]*^rtpend = 20999$/m);
  assert.match(rtp, /^192\.168\.1\.4 => 203\.0\.113\.7$/m);
  assert.match(rtp, /^10\.0\.0\.4 => 203\.0\.113\.8,include_local_address$/m);
});
test('network - an external address of the other family is not shown by these transports', () => {
  const six = { ...SETTINGS, sip: { host: '::1', port: 5060 } };
  assert.doesNotMatch(rendered({ external_address: '203.0.113.7' }, six).sip, /external/);
  const { sip } = rendered({ external_address: '2001:db8::7', local_nets: ['fd00::/8'] }, six);
  assert.match(sip, /^external_media_address = 2001:db8::7\nlocal_net = ::1\/128\nlocal_net = fd00::\/8$/m);
});
test('network - IPv6 beside IPv4 has transports of its own, and an external address only of its own family', () => {
  const both = { ...SETTINGS, sip_ipv6: '2001:db8::5' };
  const network = { tls_port: 5061, local_nets: ['192.168.0.0/16', 'fd00::/8'] };
  const blocks = (external_address: string) =>
    rendered({ ...network, external_address }, both)
      .sip.split(/^(?=\[)/m)
      .filter((block) => block.startsWith('[transport-'))
      .map((block) => [
        /^\[(.*)\]/.exec(block)![1],
        /^bind = (.*)$/m.exec(block)![1],
        /^external_media_address = (.*)$/m.exec(block)?.[1],
      ]);
  assert.deepEqual(blocks('203.0.113.7'), [
    ['transport-udp', '127.0.0.1:5060', '203.0.113.7'],
    ['transport-tcp', '127.0.0.1:5060', '203.0.113.7'],
    ['transport-tls-5061', '127.0.0.1:5061', '203.0.113.7'],
    ['transport-udp-ipv6', '[2001:db8::5]:5060', undefined],
    ['transport-tcp-ipv6', '[2001:db8::5]:5060', undefined],
    ['transport-tls-5061-ipv6', '[2001:db8::5]:5061', undefined],
    ['transport-ws', '127.0.0.1', undefined],
  ]);
  assert.deepEqual(
    blocks('2001:db8:9::1').map(([, , shown]) => shown),
    [undefined, undefined, undefined, ...Array<string>(3).fill('2001:db8:9::1'), undefined],
  );
  const site = company({
    network: NetworkConfig.parse({ tls_port: 5061 }),
    trunks: [
      trunk({ name: 'six', host: '2001:db8::9', port: 5061, transport: 'tls' }),
      trunk({ name: 'four', host: '192.0.2.9', port: 5060 }),
    ],
  });
  const shared = renderCompany(site, both).get('pjsip_shared.conf')!;
  assert.match(
    shared,
    /^transport = transport-tls-5061-ipv6\n[^[]*^from_domain = 2001:db8::9\nrtp_ipv6 = yes$/m,
  );
  assert.match(shared, /^contact = sip:\[2001:db8::9\]:5061\\;transport=tls$/m);
  assert.equal(count(shared, 'rtp_ipv6 = yes'), 1);
});
test('network - an address that was found is shown to phones and browsers outside, and TURN needs none of it', () => {
  const network = NetworkConfig.parse({
    external_address_source: 'stun',
    external_address: '203.0.113.7',
    turn_port: 3478,
  });
  const files = (found_address: Site['found_address']) =>
    renderCompany(company({ network, found_address }), { ...SETTINGS, turn_secret: 'x'.repeat(43) });
  const [before, after] = [null, { address: '203.0.113.9', local: '192.168.1.4' }].map(files);
  assert.match(before!.get('pjsip.conf')!, /^external_media_address = 203\.0\.113\.7$/m);
  assert.doesNotMatch(before!.get('rtp.conf')!, /ice_host_candidates/);
  assert.match(after!.get('pjsip.conf')!, /^external_signaling_address = 203\.0\.113\.9$/m);
  assert.match(after!.get('pjsip.conf')!, /^external_media_address = 203\.0\.113\.9$/m);
  assert.match(after!.get('rtp.conf')!, /^192\.168\.1\.4 => 203\.0\.113\.9,include_local_address$/m);
  assert.deepEqual(
    [...after!.keys()].filter((name) => before!.get(name) !== after!.get(name)),
    ['pjsip.conf', 'rtp.conf'],
  );
});
test('network - addresses that nobody else can reach are refused', () => {
  const refused = [
    '0.0.0.0',
    '127.0.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'ff02::1',
    'pbx',
    '1.2.3.4\n',
  ];
  for (const external_address of refused)
    assert.equal(NetworkConfig.safeParse({ external_address }).success, false, external_address);
  for (const net of ['192.168.0.0', '192.168.0.0/33', '0.0.0.0/0\n[x]'])
    assert.equal(NetworkConfig.safeParse({ local_nets: [net] }).success, false, net);
  assert.equal(NetworkConfig.safeParse({ rtp_ports: { from: 20_000, to: 20_002 } }).success, false);
});
test('network - the engine asks the given DNS servers and no others, or those of the machine', () => {
  const files = (dns_servers: readonly string[]) => renderCompany(company(), { ...SETTINGS, dns_servers });
  const given = files(['192.0.2.53', '127.0.0.1:5353', '[2001:db8::53]:54']);
  assert.match(given.get('modules.conf')!, /^load = res_resolver_unbound\.so$/m);
  assert.match(
    given.get('resolver_unbound.conf')!,
    /^resolv =\nnameserver = 192\.0\.2\.53@53\nnameserver = 127\.0\.0\.1@5353\nnameserver = 2001:db8::53@54$/m,
  );
  assert.doesNotMatch(files([]).get('modules.conf')!, /unbound/);
});
