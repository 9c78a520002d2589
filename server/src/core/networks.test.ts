import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from './networks.ts';

test('networks - /24 of IPv4 and /56 of IPv6, however an address is written', () => {
  assert.equal(networkOf('192.0.2.7'), '192.0.2');
  assert.equal(networkOf('::ffff:192.0.2.7'), '192.0.2');
  assert.equal(networkOf('2001:db8:1:2ff:3:4:5:6'), '2001:db8:1:200');
  assert.equal(networkOf('2001:0DB8:0001:0002::1'), '2001:db8:1:0');
  assert.equal(networkOf('2001:db8::1'), '2001:db8:0:0');
  assert.equal(networkOf('::1'), '0:0:0:0');
  assert.equal(networkOf('fe80::1%eth0'), 'fe80:0:0:0');
  assert.equal(networkOf('nonsense'), 'unknown');
});
test('networks - wider ones', () => {
  assert.equal(networkOf('192.0.2.7', 16, 48), '192.0');
  assert.equal(networkOf('192.0.2.7', 32), '192.0.2.7');
  assert.equal(networkOf('2001:db8:1:2ff::6', 16, 48), '2001:db8:1');
  assert.equal(networkOf('2001:db8:1:2ff::6', 24, 64), '2001:db8:1:2ff');
});
