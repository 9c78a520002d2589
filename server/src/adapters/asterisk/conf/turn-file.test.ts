import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkConfig } from '@offhook/contract/config-network.ts';
import { edgesOf } from '../../../core/networks.ts';
import { SETTINGS, company, renderCompany } from '../../../../test/support/rendered-company.ts';
import { hiddenSecrets } from './hidden.ts';
import { TURN_FILE } from './turn-file.ts';

const SECRET = 'abcdefghijklmnopqrstuvwxyz';
const rendered = (network: object, settings = { ...SETTINGS, turn_secret: SECRET }): string =>
  renderCompany(company({ network: NetworkConfig.parse(network) }), settings).get(TURN_FILE)!;

test('turn file - nothing runs without a port; with one only the engine and named networks are reached', () => {
  assert.doesNotMatch(rendered({}), /^[a-z]/m);
  const text = rendered({
    turn_port: 3478,
    external_address: '203.0.113.7',
    turn_nets: ['10.1.0.0/16', 'fd00:1::/32'],
  });
  assert.match(text, /^listening-port=3478$/m);
  assert.match(text, /^no-tls$/m);
  assert.deepEqual(text.match(/^(?:denied|allowed)-peer-ip=.*$/gm), [
    'denied-peer-ip=0.0.0.0-255.255.255.255',
    'denied-peer-ip=::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    'allowed-peer-ip=203.0.113.7',
    'allowed-peer-ip=10.1.0.0-10.1.255.255',
    'allowed-peer-ip=fd00:1:0:0:0:0:0:0-fd00:1:ffff:ffff:ffff:ffff:ffff:ffff',
  ]);
  assert.ok(!hiddenSecrets(TURN_FILE, text).includes(SECRET));
});

test('turn file - a secret or network with a line break is refused', () => {
  assert.throws(() => rendered({ turn_port: 3478 }, { ...SETTINGS, turn_secret: `${SECRET}\ncli` }), {
    code: 'invalid_request',
  });
  for (const turn_nets of [['10.0.0.0/8\nno-auth'], ['10.0.0.0/33'], ['everything']])
    assert.equal(NetworkConfig.safeParse({ turn_nets }).success, false);
});

test('turn file - the edges of a network', () => {
  assert.deepEqual(edgesOf('192.168.7.9/22'), ['192.168.4.0', '192.168.7.255']);
  assert.deepEqual(edgesOf('0.0.0.0/0'), ['0.0.0.0', '255.255.255.255']);
  assert.deepEqual(edgesOf('::ffff:10.0.0.0/104'), ['0:0:0:0:0:ffff:a00:0', '0:0:0:0:0:ffff:aff:ffff']);
});
