import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { REPOSITORY } from '../../../test/support/sources.ts';
import { parseTemplate, renderTemplate } from './template.ts';
import type { Format, Values } from './template.ts';
import { VARIABLES, offsetOf, valuesOf } from './values.ts';
import { loadVendors } from './vendors.ts';

const KNOWN = { title: 'text', on: 'flag', list: { label: 'text' } } as const;
const filled = (text: string, values: Values, format: Format = 'lines'): string =>
  renderTemplate(parseTemplate(text, format, KNOWN), values);

test('phones - a template repeats lists, shows flags and escapes every value for its format', () => {
  const values = { title: `<a b="c">&'`, on: true, list: [{ label: 'x' }, { label: 'y' }] };
  assert.equal(
    filled('{{#list}}\n{{label}} of {{title}}\n{{/list}}\n', { ...values, title: 'T' }),
    'x of T\ny of T\n',
  );
  assert.equal(filled('<t>{{title}}</t>', values, 'xml'), '<t>&lt;a b=&quot;c&quot;&gt;&amp;&apos;</t>');
  assert.deepEqual(JSON.parse(filled('{"t":"{{title}}"}', { ...values, title: 'a"\\b' }, 'json')), {
    t: 'a"\\b',
  });
  assert.equal(filled('{{#on}}1{{/on}}{{^on}}0{{/on}}', { ...values, on: false }), '0');
  for (const title of ['a\nb', 'a\u2028b', '\u0000', '\ud800'])
    assert.throws(() => filled('{{title}}', { ...values, title }), /control characters/);
});
test('phones - a template is refused for what it does not know', () => {
  for (const [text, reason] of [
    ['{{other}}', /no variable other/],
    ['{{label}}', /no variable label/],
    ['{{list}}', /is no text/],
    ['{{#title}}{{/title}}', /is no section/],
    ['{{^list}}{{/list}}', /is no section/],
    ['{{#list}}', /has no end/],
    ['{{/list}}', /ends no section/],
    ['{{#list}}{{/on}}', /ends no section/],
    ['{{&title}}', /not a variable/],
    ['{{constructor}}', /no variable constructor/],
  ] as const)
    assert.throws(() => parseTemplate(text, 'lines', KNOWN), reason, text);
});
test('phones - the templates of every vendor are filled with hostile names, and stay what they are', async () => {
  const faulty: string[] = [];
  const vendors = await loadVendors([path.join(REPOSITORY, 'phones')], (...what) => faulty.push(what.join()));
  assert.deepEqual(faulty, []);
  assert.deepEqual([...vendors.keys()], ['fanvil', 'grandstream', 'snom', 'yealink']);
  const name = `O'Neil (R&D) </settings>`;
  for (const vendor of vendors.values()) {
    const values = valuesOf(
      vendor,
      {
        name: 'a',
        title: null,
        vendor: vendor.name,
        mac: null,
        shared: false,
        location: null,
        extensions: ['1001', '1009'],
        layout: null,
        language: 'tr',
        transport: 'tcp',
      },
      {
        name: 'l',
        title: 'L',
        keys: Array.from({ length: 8 }, () => ({ does: 'extension', value: '1002', label: null })),
      },
      {
        person: (e) => (e === '1009' ? undefined : { name, password: `secret-${e}`, srtp: 'off' }),
        queue: () => undefined,
        nightSwitch: () => undefined,
        offset: '+1',
        ldap: null,
        pickup: '**',
      },
    );
    for (const { template } of vendor.files) {
      const address = {
        mac: '001565aabbcc',
        url: 'https://pbx/p/t',
        path: 'pbx/p/t',
        secure: true,
        server: 'pbx',
        ldap_server: 'pbx',
        port: '5060',
        backup: false,
      };
      const text = renderTemplate(template, { ...values, ...address });
      assert.match(text, /secret-1001/, vendor.name);
      assert.ok(
        text.includes('pbx/p/t'),
        'it names its own address, so that a phone assigned by click keeps it',
      );
      assert.equal(
        text.split(template.format === 'xml' ? '&lt;/settings&gt;' : name).length > 8,
        true,
        vendor.name,
      );
      if (template.format === 'xml') assert.ok(!text.includes(name), vendor.name);
      assert.doesNotMatch(text, /firmware/i);
    }
  }
  assert.ok(Object.keys(VARIABLES).length > 0);
});
test('phones - the offset of a zone is that without summer time', () => {
  assert.deepEqual(
    ['Europe/Berlin', 'Europe/Istanbul', 'America/New_York', 'Asia/Kolkata', 'UTC', 'Australia/Sydney'].map(
      (z) => offsetOf(z, 2026),
    ),
    ['+1', '+3', '-5', '+5:30', '+0', '+10'],
  );
});
