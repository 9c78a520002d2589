import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partsOf, prove, proven } from './node-proof.ts';

const PARTS = partsOf({ method: 'POST', url: '/api/v1/x' });
const SAID = { ip: '203.0.113.9', protocol: 'https', host: 'pbx.example.com' };

test('node proof - what a node of the site says is believed', () => {
  assert.deepEqual(proven('secret', prove('secret', SAID, PARTS), PARTS), SAID);
});
test('node proof - nothing else is: another secret, request, text or time', () => {
  const now = Date.now();
  const right = prove('secret', SAID, PARTS, now);
  const [, at, sum] = right.split('.');
  const forged = Buffer.from(JSON.stringify({ ...SAID, ip: '10.0.0.1' })).toString('base64url');
  assert.equal(proven('other', right, PARTS, now), null);
  assert.equal(proven('secret', right, partsOf({ method: 'POST', url: '/api/v1/y' }), now), null);
  assert.equal(proven('secret', right, ['call', ...PARTS.slice(1)], now), null);
  assert.equal(proven('secret', `${forged}.${at}.${sum}`, PARTS, now), null);
  assert.equal(proven('secret', right, PARTS, now + 16 * 60_000), null);
  for (const header of ['', '.', '..', 'a.b', `${right}.x`, 'x'.repeat(9_000), undefined, [right]])
    assert.equal(proven('secret', header, PARTS, now), null);
});
