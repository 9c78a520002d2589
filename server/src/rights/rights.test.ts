import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Scope } from '@offhook/contract/keys.ts';
import { callbacksOf, callsOf, checkParking, heardAs, historyOf, recordingsOf, scopeOf } from './rights.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { topicsOf } from './topics.ts';
import type { KeyRights, Principal } from './rights.ts';
import type { PersonLevel } from '@offhook/contract/ids.ts';

const person = (level: PersonLevel): Principal => ({ extension: '1003', level, key: null });
const key = (fields: Partial<KeyRights>): Principal => ({
  extension: '',
  level: 'supervisor',
  key: { id: 1, name: 'crm', scopes: [], queues: null, extensions: null, ...fields },
});
const OWN = ['support'];
const heard = (who: Principal, ...topics: string[]) => topics.map((topic) => heardAs(who, topic, OWN));

test('rights - a person receives readable topics: own calls, own queues, everything as a supervisor', () => {
  const wide = ['presence', 'calls', 'history', 'queues', 'agents', 'config', 'system'];
  assert.deepEqual(heard(person('user'), ...wide), [['presence'], null, null, null, null, null, null]);
  assert.deepEqual(heard(person('user'), 'calls/mine', 'history/mine', 'presence/1001', 'parking'), [
    ['calls/mine/1003'],
    ['history/mine/1003'],
    ['presence/1001'],
    ['parking'],
  ]);
  assert.deepEqual(heard(person('user'), 'queues/support', 'agents/1003'), [null, null]);
  assert.deepEqual(heard(person('agent'), 'queues', 'queues/support', 'queues/sales'), [
    ['queues/support'],
    ['queues/support'],
    null,
  ]);
  assert.deepEqual(heard(person('agent'), 'agents', 'agents/1003', 'agents/1004', 'calls'), [
    ['agents/1003'],
    ['agents/1003'],
    null,
    null,
  ]);
  assert.deepEqual(
    heard(person('supervisor'), ...wide),
    ['presence', 'calls', 'history', 'queues', 'agents', null, null].map((t) => t && [t]),
  );
  assert.deepEqual(
    heard(person('admin'), ...wide),
    wide.map((t) => [t]),
  );
});

test('rights - alerts: whoever sees all calls hears all, a person those that name it, a limited key none', () => {
  assert.deepEqual(heard(person('user'), 'alerts', 'alerts/1001'), [['alerts/mine/1003'], null]);
  assert.deepEqual(heard(person('supervisor'), 'alerts'), [['alerts']]);
  const limited = key({ scopes: ['calls:read'], extensions: ['1001'] });
  const none = key({ scopes: ['queues:read'] });
  assert.deepEqual(
    [key({ scopes: ['calls:read'] }), limited, none].map((who) => heardAs(who, 'alerts', OWN)),
    [['alerts'], null, null],
  );
  const emergency = { type: 'call.emergency', data: { extensions: ['1008'], notified: ['1003'] } };
  const refused = (reason: string) => ({ type: 'call.refused', data: { extensions: ['1008'], reason } });
  assert.deepEqual(
    [emergency, refused('budget'), refused('class')].map((event) =>
      topicsOf(event as unknown as DomainEvent),
    ),
    [
      ['calls', 'calls/mine/1008', 'alerts', 'alerts/mine/1003'],
      ['calls', 'calls/mine/1008', 'alerts'],
      ['calls', 'calls/mine/1008'],
    ],
  );
});

test('rights - a key receives the topics of its scopes, narrowed to its objects, and none of a person', () => {
  const reads = key({
    scopes: ['directory:read', 'calls:read', 'queues:read'],
    queues: ['sales'],
    extensions: ['1001', '1002'],
  });
  assert.deepEqual(heard(reads, 'presence', 'presence/1002', 'presence/1003'), [
    ['presence/1001', 'presence/1002'],
    ['presence/1002'],
    null,
  ]);
  assert.deepEqual(heard(reads, 'calls', 'calls/mine', 'parking'), [
    ['calls/mine/1001', 'calls/mine/1002'],
    null,
    null,
  ]);
  assert.deepEqual(heard(reads, 'queues', 'queues/sales', 'queues/support'), [
    ['queues/sales'],
    ['queues/sales'],
    null,
  ]);
  assert.deepEqual(heard(reads, 'agents', 'history', 'config', 'system'), [null, null, null, null]);
  assert.deepEqual(
    heard(key({ scopes: ['calls:read', 'system:read'] }), 'calls', 'parking', 'system', 'config'),
    [['calls'], ['parking'], ['system'], null],
  );
  assert.deepEqual(heard(key({ scopes: ['calls:read'], extensions: [] }), 'calls', 'parking'), [null, null]);
  assert.deepEqual(heard(key({ scopes: ['queues:read'] }), 'parking'), [null]);
});

test('rights - a key limited to queues reaches calls, history and recordings of the extensions it names only', () => {
  const scopes: Scope[] = ['calls:read', 'calls:control', 'history:read', 'history:write', 'recordings:read'];
  const reachOf = (who: Principal) => [
    callsOf(who),
    callsOf(who, 'control'),
    historyOf(who),
    historyOf(who, 'write'),
    recordingsOf(who, true),
    callbacksOf(who, [], 'read').extensions,
  ];
  const sales = { scopes, queues: ['sales'] };
  assert.deepEqual(reachOf(key({ scopes })), Array(6).fill(null));
  assert.deepEqual(reachOf(key(sales)), Array(6).fill([]));
  assert.deepEqual(reachOf(key({ ...sales, extensions: ['1003'] })), Array(6).fill(['1003']));
  assert.deepEqual(callbacksOf(key(sales), [], 'read').queues, ['sales']);
  assert.deepEqual(heard(key(sales), 'calls', 'history', 'alerts', 'parking'), [null, null, null, null]);
  assert.throws(() => checkParking(key(sales)), { code: 'forbidden' });
});

test('rights - the configuration goes to administrators and keys of the whole site, as over HTTP', () => {
  const scopes = ['config:read'] as const;
  assert.deepEqual(heard(key({ scopes }), 'config'), [['config']]);
  assert.deepEqual(heard(key({ scopes, queues: ['sales'] }), 'config'), [null]);
  assert.deepEqual(heard(key({ scopes, extensions: ['1001'] }), 'config'), [null]);
});

test('rights - shared customers go to every person and to keys of the whole site, personal ones to their person', () => {
  const both = ['phonebook/shared', 'phonebook/mine'];
  assert.deepEqual(heard(person('user'), ...both), [['phonebook/shared'], ['phonebook/mine/1003']]);
  assert.deepEqual(heard(person('admin'), ...both), [['phonebook/shared'], ['phonebook/mine/1003']]);
  const scopes = ['phonebook:read'] as const;
  assert.deepEqual(heard(key({ scopes }), ...both), [['phonebook/shared'], null]);
  assert.deepEqual(heard(key({ scopes: ['calls:read'] }), ...both), [null, null]);
  assert.deepEqual(heard(key({ scopes, queues: ['sales'] }), ...both), [null, null]);
  assert.deepEqual(heard(key({ scopes, extensions: [] }), ...both), [null, null]);
});

test('rights - an unknown topic has no receiver', () => {
  const names = [
    '',
    '*',
    'calls/1001',
    'calls/mine/1001',
    'history/1001',
    'config/x',
    'system/x',
    'parking/701',
    'phonebook',
    'phonebook/mine/1003',
    'phonebook/shared/1',
  ];
  for (const topic of names) {
    assert.equal(heardAs(person('admin'), topic, OWN), null, topic);
  }
});
test('rights - each topic but personal ones has one scope that lets keys receive it', () => {
  const topics = [
    'presence',
    'presence/1003',
    'calls',
    'parking',
    'queues/sales',
    'agents',
    'history',
    'phonebook/shared',
    'config',
    'calls/mine',
    'phonebook/mine',
  ];
  assert.deepEqual(topics.map(scopeOf), [
    'directory:read',
    'directory:read',
    'calls:read',
    'calls:read',
    'queues:read',
    'agents:read',
    'history:read',
    'phonebook:read',
    'config:read',
    undefined,
    undefined,
  ]);
});
