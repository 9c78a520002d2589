import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelOf } from '../../../test/support/config-company.ts';
import { configRig } from '../../../test/support/config-rig.ts';
import { checkModel } from './check.ts';
import type { House } from './check.ts';
import type { Objects } from './put.ts';

const person = (extension: string, fields: object = {}) => ({
  extension,
  username: `p${extension}`,
  name: `Person ${extension}`,
  level: 'admin' as const,
  devices: ['sip' as const],
  ...fields,
});
const B = { node: 'b', title: 'Branch', host: '192.0.2.9' };
const at = (node: string | null): House => ({ codes: new Map(), node });
/** Findings in a company where 1002 and the queue are homed at b. */
const found = (more: Objects = {}, house: House = at('a')): string[] =>
  checkModel(
    modelOf({
      engine: [B],
      extension: [person('1001'), person('1002', { engine: 'b' })],
      queue: [
        { name: 'support', number: '500', title: 'Support', members: [{ extension: '1002' }], engine: 'b' },
      ],
      ...more,
    }),
    house,
  ).map(({ kind, key, path, detail }) => `${kind} ${key}: ${path}: ${detail}`);

test('pbx-config engines - people, a queue and its members at another engine are valid', () => {
  assert.deepEqual(found(), []);
  assert.deepEqual(found({}, { codes: new Map() }), []);
});

test('pbx-config engines - a queue and its members have one engine', () => {
  const queue = (engine: string | null, extension: string) => ({
    queue: [{ name: 'support', number: '500', title: 'Support', members: [{ extension }], engine }],
  });
  const other = 'queue support: members.0.extension: must be homed at the engine of the queue';
  assert.deepEqual(found(queue('b', '1001')), [other]);
  assert.deepEqual(found(queue(null, '1002')), [other]);
  assert.deepEqual(found(queue(null, '1001')), []);
});

test('pbx-config engines - an engine that something is homed at cannot be missing', () => {
  assert.deepEqual(found({ engine: [] }), [
    'extension 1002: engine: there is no engine "b"',
    'queue support: engine: there is no engine "b"',
  ]);
});

test('pbx-config engines - each engine has an address of its own, by any spelling', () => {
  const second = (host: string) => found({ engine: [B, { ...B, node: 'c', host }] });
  assert.deepEqual(second('192.0.2.10'), []);
  assert.deepEqual(second('192.0.2.9'), ['engine c: host: engine b has this address']);
  const six = [
    { ...B, host: '2001:db8::9' },
    { ...B, node: 'c', host: '2001:DB8:0::9' },
  ];
  assert.deepEqual(found({ engine: six }), ['engine c: host: engine b has this address']);
  const own = 'must not be the address that the phones of browsers come from';
  assert.deepEqual(found({ engine: [{ ...B, host: '127.0.0.1' }] }), [`engine b: host: ${own}`]);
  const trunk = [{ name: 'north', title: 'North', host: '192.0.2.9' }];
  assert.deepEqual(found({ trunk }), ['engine b: host: trunk north has this address']);
  const north = [{ name: 'north', title: 'North', host: '2001:DB8:0::9' }];
  assert.deepEqual(found({ engine: six.slice(0, 1), trunk: north }), [
    'engine b: host: trunk north has this address',
  ]);
  assert.deepEqual(found({ trunk: [{ name: 'north', title: 'North', host: 'sip.example.com' }] }), []);
});

test('pbx-config engines - they need several nodes, and the leading one is none of them', () => {
  assert.deepEqual(found({}, at(null)), [
    'engine b: node: this site has one node; other engines need OFFHOOK_NODE and PostgreSQL',
  ]);
  assert.deepEqual(found({}, at('b')), [
    'engine b: node: must not be the leading node, which has the objects without an engine of their own',
  ]);
});

test('pbx-config engines - there are sixteen at most', () => {
  const engines = (count: number) => ({
    engine: [
      B,
      ...Array.from({ length: count - 1 }, (_, i) => ({ ...B, node: `n${i}`, host: `192.0.2.${100 + i}` })),
    ],
  });
  assert.deepEqual(found(engines(16)), []);
  assert.deepEqual(
    found(engines(17)).map((text) => text.replace(/n[0-9]+/, 'n')),
    ['engine n: node: a site has at most 16 engines beside that of the leading node'],
  );
});

test('pbx-config engines - what works at one engine only is refused for people of another', () => {
  const extension = [person('1001'), person('1002', { engine: 'b', devices: ['sip', 'webrtc'] })];
  assert.deepEqual(found({ extension }), [
    'extension 1002: devices: must be a desk phone to use another engine',
  ]);
  const phone = (extensions: string[]) => ({ phone: [{ name: 'desk', vendor: 'yealink', extensions }] });
  assert.deepEqual(found(phone(['1002'])), []);
  assert.deepEqual(found(phone(['1001', '1002'])), [
    'phone desk: extensions.1: must be homed at the same engine as the other lines of the phone',
  ]);
  const to = { kind: 'hang_up' as const };
  const office = { name: 'office', number: '565', title: 'Office', when_open: to, when_closed: to };
  assert.deepEqual(found({ time_condition: [{ ...office, switched_by: ['1001', '1002'] }] }), [
    'time_condition office: switched_by.1: can only be switched by phones at the engine of the leading node',
  ]);
});

test('pbx-config engines - by the API an engine is made, named by people and queues, and not deleted while they name it', async (t) => {
  const { ask } = await configRig(t);
  const made = await ask('POST', 'engines', B);
  assert.deepEqual([made.status, made.body.object.port], [201, 5060], made.text);
  assert.equal((await ask('POST', 'engines', { ...B, node: 'c', host: 'branch.example.com' })).status, 400);
  const person = { extension: '1050', username: 'ada', name: 'Ada Lovelace', devices: ['sip'] };
  const unknown = await ask('POST', 'extensions', { ...person, engine: 'nowhere' });
  assert.deepEqual(
    [unknown.status, unknown.body.code, unknown.body.findings[0].path],
    [422, 'invalid_configuration', 'engine'],
  );
  assert.equal((await ask('POST', 'extensions', { ...person, engine: 'b' })).status, 201);
  const mixed = await ask('PATCH', 'queues/support', { engine: 'b' });
  assert.deepEqual([mixed.status, mixed.body.code], [422, 'invalid_configuration']);
  const queue = { name: 'far', number: '590', title: 'Far', engine: 'b', members: [{ extension: '1050' }] };
  assert.equal((await ask('POST', 'queues', queue)).status, 201);
  const used = await ask('DELETE', 'engines/b');
  assert.deepEqual([used.status, used.body.code], [409, 'in_use']);
  assert.deepEqual(
    used.body.used_by.map(({ kind, key, path }: Record<string, string>) => `${kind} ${key}: ${path}`),
    ['extension 1050: engine', 'queue far: engine'],
  );
  for (const path of ['queues/far', 'extensions/1050', 'engines/b'])
    assert.equal((await ask('DELETE', path)).status, 200, path);
});
