import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crmLink } from './crm-link.ts';

const values = { number: '+4930123', name: 'A & B</b>#?', conversation: '01:1.2', queue: 'support' };

test('crm link - the name of a caller stays one part of the address', () => {
  assert.equal(
    crmLink('https://crm.example.com/s?phone={number}&n={name}&c={conversation}#{queue}', values),
    'https://crm.example.com/s?phone=%2B4930123&n=A%20%26%20B%3C%2Fb%3E%23%3F&c=01%3A1.2#support',
  );
  assert.equal(
    crmLink('http://crm/{name}', { ...values, name: '{number}/../x\uD800' }),
    'http://crm/%7Bnumber%7D%2F..%2Fx%EF%BF%BD',
  );
});
test('crm link - only web addresses are opened', () => {
  for (const pattern of [
    null,
    '',
    'crm.example.com/{number}',
    'javascript:alert({number})',
    'JavaScript:alert(1)//https://x',
    'data:text/html,{name}',
    'file:///etc/passwd',
    'https://',
  ]) {
    assert.equal(crmLink(pattern, values), null, String(pattern));
  }
});
