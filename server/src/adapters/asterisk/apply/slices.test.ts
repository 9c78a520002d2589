import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Instance } from '../conf/instance.ts';
import { renderSite } from '../conf/render.ts';
import { company, trunk } from '../../../../test/support/rendered-company.ts';
import { readMeant } from './meant.ts';
import { slicesOf, withoutPhones } from './slices.ts';

const account = { user: 'u', secret: 'a-secret-of-24-letters-0' };
const instance: Instance = {
  folder: '/srv/engine',
  run_dir: '/srv/engine/run',
  node: 'ast1',
  ami_port: 5038,
  http_port: 8088,
  ami_events: account,
  ami_actions: account,
};
const program = { command: ['x'], version: '22', modules_dir: null, data_dir: '/srv', origin: 'test' };
const rendered = renderSite(
  company({ trunks: [trunk({ name: 'north', host: '192.0.2.1' })] }),
  instance,
  program,
  { sip: { host: '127.0.0.1', port: 5060 }, rtp: { from: 20_000, to: 20_999 }, zone: 'UTC' },
);
const files = new Map([
  ...rendered,
  ['custom/pjsip.conf', '[hand](sip)\n[hand](credentials)\n[hand](addresses)\n'],
]);
const phones = /^(?:endpoint|auth|aor) /;
const keys = (of: ReadonlyMap<string, string>): string[] =>
  [...readMeant(of).objects.keys()].filter((key) => phones.test(key)).sort();
const endpoints = keys(files).flatMap((key) => /^endpoint (.*)/.exec(key)?.[1] ?? []);

test('apply/slices - a small set is one slice, as it is', () => {
  const [only, ...more] = slicesOf(files, endpoints);
  assert.equal(more.length, 0);
  assert.equal(only!.files, files);
  assert.deepEqual(only!.endpoints, endpoints);
});

test('apply/slices - every phone of a large set is in one slice with its three objects, and in no other', () => {
  const slices = slicesOf(files, endpoints, { many: 5, each: 7 });
  assert.equal(slices.length, Math.ceil(endpoints.length / 7));
  assert.deepEqual(
    slices.map((s) => s.whole),
    slices.map((_, i) => i === 0),
  );
  assert.deepEqual(slices.flatMap((s) => s.endpoints).sort(), [...endpoints].sort());
  const found = slices.map((s) => keys(s.files));
  assert.deepEqual([...new Set(found.flat())].sort(), keys(files));
  const again = found.flat().filter((key, i, all) => all.indexOf(key) !== i);
  assert.deepEqual([...new Set(again)], ['aor trunk-north', 'endpoint trunk-north']);
  for (const [i, slice] of slices.entries()) {
    assert.deepEqual(
      readMeant(slice.files).problems.filter((p) => p.file?.startsWith('pjsip')),
      [],
    );
    for (const name of slice.endpoints.filter((n) => !n.startsWith('trunk')))
      assert.deepEqual(
        found[i]!.filter((key) => key.endsWith(` ${name}`)),
        [`aor ${name}`, `auth ${name}`, `endpoint ${name}`],
      );
    for (const [name, text] of files)
      if (slice.whole && !/^pjsip_(?:endpoints|auths|aors)\.conf$/.test(name))
        assert.equal(slice.files.get(name), text, name);
  }
});

test('apply/slices - a set without known phones has everything else as it was', () => {
  const known = new Set(endpoints.filter((name) => name.startsWith('100')));
  assert.ok(known.size > 1 && known.size < endpoints.length);
  const rest = withoutPhones(files, known)!;
  assert.deepEqual(
    keys(rest),
    keys(files).filter((key) => !known.has(key.slice(key.indexOf(' ') + 1))),
  );
  assert.deepEqual(readMeant(rest).problems, []);
  for (const [name, text] of files)
    if (!/^pjsip_(?:endpoints|auths|aors)\.conf$/.test(name)) assert.equal(rest.get(name), text, name);
  const none = keys(withoutPhones(files, new Set(endpoints))!);
  assert.deepEqual(
    none.filter((key) => key.startsWith('endpoint ')),
    ['endpoint hand', 'endpoint trunk-north'],
  );
});

test('apply/slices - what cannot be cut between two sections is not cut', () => {
  const name = 'pjsip_endpoints.conf';
  const text = files.get(name)!;
  const last = text.lastIndexOf('[1010');
  for (const wrong of [
    text.replace('[1003](sip)', ';-- [1003](sip)'),
    text.replace('[1003](sip)', '[1003(sip)'),
    `${text.slice(0, last)}#include other.conf\n${text.slice(last)}`,
  ]) {
    assert.notEqual(wrong, text);
    const uncut = new Map([...files, [name, wrong]]);
    assert.equal(slicesOf(uncut, endpoints, { many: 5, each: 7 }).length, 1);
    assert.equal(withoutPhones(uncut, new Set(['1004'])), null);
  }
});

test('apply/meant - of two objects with one name the second is a problem, wherever it stands', () => {
  const twice = new Map([...files, ['custom/pjsip.conf', '[1001](sip)\n']]);
  assert.deepEqual(readMeant(twice).problems, [
    { object: 'endpoint 1001', file: 'pjsip_endpoints.conf', words: 'it is listed twice' },
  ]);
});
