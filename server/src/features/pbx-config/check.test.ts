import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';
import { checkModel } from './check.ts';
import type { House } from './check.ts';
import { storedObject, toModel } from './model.ts';

const HOUSE = { codes: new Map([['agent.pause', '*22']]) };
type Given = readonly [kind: ConfigKind, body: object];
const GOOD: readonly Given[] = [
  ['extension', { extension: '1001', username: 'ada', name: 'Ada', level: 'admin' }],
  ['queue', { name: 'support', number: '500', title: 'Support' }],
  ['service', { number: '600', kind: 'echo', title: 'Echo' }],
  ['trunk', { name: 'north', title: 'North', host: 'sip.example.com' }],
];
/** Findings in a valid company with these objects added or replaced. */
const found = (...more: readonly Given[]): string[] => {
  const objects = [...GOOD, ...more].map(([kind, body], i) =>
    storedObject(i + 1, kind, CONFIG_KINDS[kind].schema.parse(body) as ConfigBody<ConfigKind>),
  );
  return checkModel(toModel(objects), HOUSE).map((f) => `${f.kind} ${f.key}: ${f.path}: ${f.detail}`);
};
const route = (name: string, fields: object = {}): Given => [
  'inbound_route',
  { name, trunk: 'north', number: '49', to: { kind: 'extension', key: '1001' }, ...fields },
];
const exit = (to: object): Given => [
  'queue',
  { name: 'support', number: '500', title: 'Support', exit: { key: '0', to } },
];
const out = (trunk: string): Given => [
  'outbound_route',
  { name: 'out', patterns: ['0X!'], trunks: [{ trunk }] },
];

test('pbx-config - routes and exits with existing destinations are valid', () => {
  for (const to of [
    { kind: 'extension', key: '1001' },
    { kind: 'queue', key: 'support' },
    { kind: 'service', key: '600' },
    { kind: 'trunk', key: 'north', prepend: '+4930555' },
  ])
    assert.deepEqual(found(route('in', { to }), exit(to), out('north')), []);
  const others = [{ number: '50' }, { prefix: true }, { trunk: null }, { caller: '+44' }];
  assert.deepEqual(found(route('in'), ...others.map((fields, i) => route(`other-${i}`, fields))), []);
});

test('pbx-config - a missing destination is found, with its field', () => {
  const cases: [Given, string][] = [
    [route('in', { trunk: 'south' }), 'inbound_route in: trunk: there is no trunk "south"'],
    [
      route('in', { to: { kind: 'extension', key: '1099' } }),
      'inbound_route in: to: there is no extension "1099"',
    ],
    [route('in', { to: { kind: 'service', key: '*22' } }), 'inbound_route in: to: there is no service "*22"'],
    [route('in', { to: { kind: 'trunk', key: 'south' } }), 'inbound_route in: to: there is no trunk "south"'],
    [out('south'), 'outbound_route out: trunks.0.trunk: there is no trunk "south"'],
    [exit({ kind: 'extension', key: '1099' }), 'queue support: exit.to: there is no extension "1099"'],
    [
      exit({ kind: 'trunk', key: 'north', strip: 1 }),
      'queue support: exit.to.prepend: is needed: it is the complete number to call over this trunk',
    ],
  ];
  for (const [given, says] of cases) assert.deepEqual(found(given), [says]);
});

test('pbx-config - a number with two meanings is found with both objects', () => {
  const ring: Given = ['ring_group', { name: 'a', number: '500', title: 'A', members: ['1001'] }];
  assert.deepEqual(found(exit({ kind: 'extension', key: '1001' }), ring), [
    'ring_group a: number: 500 is taken by queue support',
    'queue support: number: 500 is taken by ring group a',
  ]);
});

test('pbx-config - outbound routes that strip a whole number, hide an emergency number or are too many are found', () => {
  const outbound = (name: string, fields: object): Given => [
    'outbound_route',
    { name, patterns: ['0X!'], trunks: [{ trunk: 'north' }], ...fields },
  ];
  const trunks = [{ trunk: 'north', strip: 2 }];
  assert.deepEqual(found(outbound('a', { trunks })), [
    'outbound_route a: trunks.0.strip: must leave at least one digit of the shortest number',
  ]);
  assert.deepEqual(found(outbound('a', { trunks: [{ trunk: 'north', strip: 3 }] })), [
    'outbound_route a: trunks.0.strip: must not strip more digits than the shortest pattern has',
  ]);
  assert.deepEqual(found(outbound('a', { trunks: [{ trunk: 'north', strip: 2, prepend: '112' }] })), []);
  assert.deepEqual(found(outbound('sos', { class: 'emergency', patterns: ['5XX'] })), [
    'outbound_route sos: patterns: 500 is queue support, so calls to it would not reach this emergency route',
  ]);
  const same = Array.from({ length: 65 }, (_, i) => outbound(`r${i + 10}`, {}));
  assert.deepEqual(found(...same.slice(1)), []);
  assert.deepEqual(found(...same), [
    'outbound_route r74: patterns: more than 64 routes overlap in their numbers',
  ]);
  const many = Array.from({ length: 21 }, (_, i) =>
    outbound(`r${i + 10}`, { patterns: Array.from({ length: 100 }, (__, j) => `${i + 10}${j + 100}`) }),
  );
  assert.deepEqual(found(...many), [
    'outbound_route r30: patterns: all routes together have 2100 patterns, more than 2000',
  ]);
});

test('pbx-config - two trunks with one host need different numbers, unless one of them registers', () => {
  const trunk = (name: string, fields: object = {}): Given => [
    'trunk',
    { name, title: 'Trunk', host: 'SIP.example.com', ...fields },
  ];
  const other = { kind: 'queue', key: 'support' };
  const routes = (fields: object = {}): Given[] => [
    route('a', { number: null }),
    route('b', { number: null, trunk: 'south', to: other, ...fields }),
  ];
  assert.deepEqual(found(trunk('south'), ...routes()), [
    'inbound_route b: trunk: cannot be distinguished from trunk north of inbound route a, which has the same host and does not register either; name different numbers',
  ]);
  for (const fields of [
    { host: 'sip2.example.com' },
    { srv: true },
    { enabled: false },
    { register: true, username: 'x', password: 'secret' },
  ])
    assert.deepEqual(found(trunk('south', fields), ...routes()), []);
  for (const fields of [{ number: '49' }, { caller: '+44' }, { to: { kind: 'extension', key: '1001' } }])
    assert.deepEqual(found(trunk('south'), ...routes(fields)), []);
});

test('pbx-config - two inbound routes for the same calls are found', () => {
  assert.deepEqual(found(route('a'), route('b', { to: { kind: 'queue', key: 'support' } })), [
    'inbound_route b: number: matches the same calls as inbound route a',
  ]);
});

test('pbx-config/check - a company without an administrator, or without people', () => {
  const says = 'at least one active person must keep the level admin';
  assert.deepEqual(
    checkModel(toModel([]), HOUSE).map((f) => `${f.kind} ${f.key}: ${f.path}: ${f.detail}`),
    [`extension : : ${says}`],
  );
  const ada = { extension: '1001', username: 'ada', name: 'Ada' };
  assert.deepEqual(found(['extension', { ...ada, level: 'admin', active: false }]), [
    `extension 1001: level: ${says}`,
  ]);
});
test('pbx-config/check - a prompt whose sound was not uploaded', () => {
  const [here, gone] = ['a'.repeat(64), 'b'.repeat(64)];
  const prompt = (name: string, sound: string) => storedObject(0, 'prompt', { name, title: name, sound });
  const [, first] = GOOD[0]!;
  const admin = storedObject(0, 'extension', CONFIG_KINDS.extension.schema.parse(first));
  const model = toModel([admin, prompt('here', here), prompt('gone', gone)]);
  const about = (house: House) =>
    checkModel(model, house).map((f) => `${f.kind} ${f.key}: ${f.path}: ${f.detail}`);
  assert.deepEqual(about({ ...HOUSE, hasSound: (sound) => sound === here }), [
    'prompt gone: sound: there is no such sound; upload it first',
  ]);
  assert.deepEqual(about(HOUSE), []);
});

test('pbx-config - time conditions that only lead to each other are found, other loops are not', () => {
  const condition = (
    name: string,
    open: object,
    closed: object = { kind: 'extension', key: '1001' },
  ): Given => ['time_condition', { name, title: name, when_open: open, when_closed: closed }];
  const time = (key: string) => ({ kind: 'time_condition', key });
  const says = 'when_open: leads back to itself through time conditions only';
  assert.deepEqual(found(condition('a', time('a'))), [`time_condition a: ${says}`]);
  const three = [
    condition('a', time('b')),
    condition('b', { kind: 'queue', key: 'support' }, time('c')),
    condition('c', time('a')),
  ];
  assert.deepEqual(
    found(...three),
    ['a', 'b', 'c'].map((name) => `time_condition ${name}: ${says}`),
  );
  const menu = (to: object): Given => [
    'menu',
    { name: 'main', title: 'Main', choices: [{ key: '1', to }], otherwise: to },
  ];
  assert.deepEqual(found(condition('a', { kind: 'menu', key: 'main' }), menu(time('a'))), []);
  assert.deepEqual(found(condition('a', time('b')), condition('b', { kind: 'queue', key: 'support' })), []);
});

test('pbx-config - section names reserved by the engine are found', () => {
  for (const name of ['general', 'globals', 'waiting-room'])
    assert.deepEqual(found(['queue', { name, number: '501', title: 'Q' }]), [
      `queue ${name}: name: is reserved by the engine; choose another name`,
    ]);
});

test('pbx-config/check - more parking slots than the limit are found', () => {
  const lots = (count: number): Given[] =>
    Array.from({ length: count }, (_, i) => [
      'parking_lot',
      {
        name: `lot-${i}`,
        title: 'Lot',
        number: String(800_000 + i),
        first_slot: 100_000 + 1000 * i,
        last_slot: 100_999 + 1000 * i,
      },
    ]);
  assert.deepEqual(found(...lots(10)), []);
  assert.deepEqual(found(...lots(11)), [
    'parking_lot lot-9: last_slot: all parking lots together have more than 10000 slots',
  ]);
});

test('pbx-config/check - of many findings, the first are reported', () => {
  const members = Array.from({ length: 1000 }, (_, i) => ({ extension: String(3000 + i) }));
  const queues = Array.from({ length: 11 }, (_, i): Given => [
    'queue',
    { name: `q-${i}`, number: String(200 + i), title: 'Queue', members },
  ]);
  assert.equal(found(...queues).length, 10_000);
});

test('pbx-config/check - a trunk at the address of all browsers is found', () => {
  const trunk = (host: string): Given => ['trunk', { name: 'own', title: 'Own', host }];
  for (const host of [
    '127.0.0.1',
    'localhost',
    'LocalHost',
    'sip.localhost',
    'localhost.localdomain',
    '127.1',
    '0',
    '2130706433',
    '0x7f.0.0.1',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:0.0.0.0',
    '0.0.0.0',
    '::',
  ])
    assert.deepEqual(found(trunk(host)), [
      'trunk own: host: must not be the address that the phones of browsers come from',
    ]);
  for (const host of ['127.0.0.2', '192.0.2.1', 'sip.example.com', 'localhost.example.com', '2001:db8::1'])
    assert.deepEqual(found(trunk(host)), []);
});

test('pbx-config/check - codes and services that the engine cannot distinguish while they are dialled are found', () => {
  const house: House = {
    codes: new Map([
      ['agent.pause', '*22'],
      ['calls.forward', '*72'],
      ['calls.pickup', '**'],
    ]),
    patterns: new Map([
      ['agent.pause', ['*22', '_*22Z', '_*22ZX']],
      ['calls.forward', ['_*72X.']],
      ['calls.pickup', ['_**X.']],
    ]),
  };
  const about = (...given: readonly Given[]): string[] =>
    checkModel(
      toModel(
        [...GOOD, ...given].map(([kind, body], i) =>
          storedObject(i + 1, kind, CONFIG_KINDS[kind].schema.parse(body) as ConfigBody<ConfigKind>),
        ),
      ),
      house,
    ).map((f) => `${f.kind} ${f.key}: ${f.path}: ${f.detail}`);
  const code = (id: string, to: string, more: object = {}): Given => [
    'feature_code',
    { id, code: to, ...more },
  ];
  const echo = (number: string): Given => ['service', { number, kind: 'echo', title: 'Echo' }];
  assert.deepEqual(about(code('agent.pause', '*7'), echo('*73'), echo('*721')), [
    'service *73: number: *73 cannot be distinguished from *7Z, feature code agent.pause',
    'service *721: number: *721 cannot be distinguished from *7ZX, feature code agent.pause',
  ]);
  assert.deepEqual(about(code('agent.pause', '**')), [
    'feature_code agent.pause: code: **ZX cannot be distinguished from **X., feature code calls.pickup',
  ]);
  assert.deepEqual(about(echo('*7212')), [
    'service *7212: number: *7212 cannot be distinguished from *72X., feature code calls.forward',
  ]);
  assert.deepEqual(
    about(code('calls.forward', '*72', { enabled: false }), echo('*7212'), code('agent.pause', '#2')),
    [],
  );
});

test('pbx-config - ports and addresses of the network that exclude each other are found', () => {
  const network = (fields: object): Given => ['network', { name: 'site', ...fields }];
  const mapped = { local: '192.168.1.2', external: '203.0.113.7' };
  assert.deepEqual(found(network({ turn_port: 3478, ice_hosts: [mapped] })), []);
  assert.deepEqual(found(network({ turn_port: 3478, ice_hosts: [{ ...mapped, keep_local: false }] })), [
    'network site: ice_hosts.0.keep_local: must be true with TURN, which relays to the local address',
  ]);
  assert.deepEqual(found(network({ ice_hosts: [{ ...mapped, keep_local: false }] })), []);
  const outside = { external_address_source: 'stun', stun_server: 'stun.example.com' };
  assert.deepEqual(found(network(outside)), []);
  assert.deepEqual(found(network({ ...outside, stun_server: null })), [
    'network site: stun_server: is missing: it is needed to determine the external address',
  ]);
  assert.deepEqual(found(network({ ...outside, external_address_source: 'interface' })), [
    'network site: external_interface: is missing: it is needed to determine the external address',
  ]);
  const locations = ['10.0.0.0/8', '10.0.0.1/8', '10.0.0.0/9'].map((net, i) => ({ net, location: `${i}` }));
  assert.deepEqual(found(network({ locations })), [
    'network site: locations.1.net: this network is "0" already',
  ]);
});

test('pbx-config/check - ports that two services would listen at are found, those of the settings too', () => {
  const house: House = {
    codes: new Map(),
    ports: [
      { protocol: 'tcp', from: 8080, to: 8080, by: 'OFFHOOK_LISTEN' },
      { protocol: 'udp', from: 5060, to: 5060, by: 'OFFHOOK_SIP_LISTEN' },
    ],
    rtpPorts: { protocol: 'udp', from: 10_000, to: 10_999, by: 'OFFHOOK_RTP_PORTS' },
  };
  const about = (fields: object): string[] => {
    const body = CONFIG_KINDS.network.schema.parse({ name: 'site', ...fields }) as ConfigBody<ConfigKind>;
    const others = GOOD.map(([kind, given], i) =>
      storedObject(i + 2, kind, CONFIG_KINDS[kind].schema.parse(given) as ConfigBody<ConfigKind>),
    );
    return checkModel(toModel([storedObject(1, 'network', body), ...others]), house).map(
      ({ path, detail }) => `${path}: ${detail}`,
    );
  };
  assert.deepEqual(about({ tls_port: 5061, ldap_port: 636, turn_port: 3478, turn_tls_port: 5349 }), []);
  assert.deepEqual(about({ tls_port: 5061, turn_port: 5061 }), [
    'turn_port: port 5061 is also used by tls_port',
  ]);
  assert.deepEqual(about({ ldap_port: 8080 }), ['ldap_port: port 8080 is also used by OFFHOOK_LISTEN']);
  // SIP over UDP leaves the TCP port of the same number free.
  assert.deepEqual(about({ ldap_port: 5060 }), []);
  assert.deepEqual(about({ turn_port: 5060 }), ['turn_port: port 5060 is also used by OFFHOOK_SIP_LISTEN']);
  const media = { from: 49_000, to: 49_200 };
  assert.deepEqual(about({ turn_port: 3478, rtp_ports: media }), [
    'turn_relay_ports: port 49152 is also used by rtp_ports',
  ]);
  assert.deepEqual(about({ rtp_ports: media }), [], 'nothing is relayed without TURN');
  const relay = { from: 10_500, to: 10_600 };
  assert.deepEqual(about({ turn_port: 3478, turn_relay_ports: relay }), [
    'turn_relay_ports: port 10500 is also used by OFFHOOK_RTP_PORTS',
  ]);
  assert.deepEqual(about({ turn_port: 3478, turn_relay_ports: relay, rtp_ports: media }), []);
  assert.deepEqual(about({ turn_port: 49_100, rtp_ports: media, turn_relay_ports: relay }), [
    'rtp_ports: port 49100 is also used by turn_port',
  ]);
});

test('pbx-config - a token leads to one phone', () => {
  const phone = (name: string): Given => [
    'phone',
    { name, vendor: 'yealink', extensions: ['1001'], token: 'b'.repeat(43) },
  ];
  assert.deepEqual(found(phone('desk'), phone('door')), ['phone door: token: phone desk has this token']);
});
