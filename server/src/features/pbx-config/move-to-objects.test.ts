import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kysely } from 'kysely';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import { toPbxConfig } from './config.ts';
import { allObjects } from './model.ts';
import { openObjects } from './objects.ts';
import { migrations } from './tables.ts';

type Row = Record<string, unknown>;

test('pbx-config - a site of an older version keeps everything it had, and its people their ids', async () => {
  await using temp = await temporaryStore();
  const { store } = temp;
  const before = migrations.filter((m) => m.id < '0006');
  await store.migrate('pbx-config', before);
  const db = store.db<Record<string, Row>>() as unknown as Kysely<Record<string, Row>>;
  const put = async (table: string, ...rows: Row[]): Promise<void> => {
    for (const row of rows) await db.insertInto(table).values(row).execute();
  };
  const person = (id: number, extension: string, fields: Row = {}) => ({
    id,
    extension,
    username: `p${extension}`,
    name: `Person ${extension}`,
    email: null,
    mobile: null,
    department: 'Büro',
    level: 'agent',
    active: 1,
    sip_password: 'a-secret-of-24-letters-0',
    voicemail: 1,
    voicemail_pin: '4711',
    ...fields,
  });
  await put(
    'people',
    person(7, '1003', { level: 'admin' }),
    person(9, '1004', { active: 0, recording: 'always' }),
  );
  await put(
    'endpoints',
    { name: '1003', person_id: 7, kind: 'sip' },
    { name: '1004-web', person_id: 9, kind: 'webrtc' },
  );
  await put('queues', {
    id: 3,
    name: 'support',
    number: '500',
    title: '',
    strategy: 'linear',
    ring_seconds: 12,
    wrap_up_seconds: 5,
    max_wait_seconds: 60,
    max_callers: 4,
    leave_when_empty: 1,
    exit_key: '9',
    exit_number: '600',
  });
  await put(
    'queue_agents',
    { queue_id: 3, person_id: 7, static: 1 },
    { queue_id: 3, person_id: 9, static: 0 },
  );
  await put('pause_reasons', { id: 'lunch', name: 'Lunch', position: 2, paid: 0, longest_seconds: 60 });
  await put('services', { number: '600', kind: 'echo', title: 'Echo' });
  await put(
    'pbx_settings',
    { key: 'parking', value: '{"number":"700","first_slot":701,"last_slot":705,"timeout_seconds":30}' },
    { key: 'recording_announcement', value: '"conf-now-recording"' },
  );
  const trunk = { host: '192.0.2.1', port: 5060, transport: 'udp', register: 0, codecs: '["alaw"]' };
  await put(
    'trunks',
    { ...trunk, id: 1, name: 'north', title: 'North', username: 'u', password: 'p' },
    { ...trunk, id: 2, name: 'south', title: 'South' },
  );
  const change = { strip: 0, prepend: '' };
  await put(
    'inbound_routes',
    { trunk_id: 1, number: '+49', prefix: 1, to_number: '500', ...change },
    { trunk_id: 2, number: '44', prefix: 0, to_trunk_id: 1, strip: 1, prepend: '0' },
  );
  await put(
    'outbound_routes',
    { prefix: '0', position: 2, trunk_id: 2, ...change },
    { prefix: '0', position: 1, trunk_id: 1, strip: 1, prepend: '+49' },
    { prefix: '00', position: 0, trunk_id: 1, ...change },
  );
  await store.migrate('pbx-config', migrations);

  const objects = await openObjects(store);
  assert.equal(objects.version, 1);
  for (const { kind, key, body } of allObjects(objects.applied()))
    assert.deepEqual(CONFIG_KINDS[kind].schema.parse(body), body, `${kind} ${key}`);
  const config = toPbxConfig(objects.applied());
  assert.deepEqual(
    config.people.map(({ person: p, recording }) => [
      p.id,
      p.extension,
      p.active,
      p.level,
      recording,
      p.endpoints.map((e) => e.name),
    ]),
    [
      [7, '1003', true, 'admin', 'never', ['1003']],
      [9, '1004', false, 'agent', 'always', ['1004-web']],
    ],
  );
  const [queue] = config.queues;
  assert.deepEqual(
    [queue?.title, queue?.ring_seconds, queue?.max_callers, queue?.leave_when_empty, queue?.join_when_empty],
    ['support', 12, 4, true, true],
  );
  assert.deepEqual(queue?.exit, { key: '9', to: { kind: 'service', key: '600' } });
  assert.deepEqual(queue?.members, [
    { extension: '1003', static: true, penalty: 0 },
    { extension: '1004', static: false, penalty: 0 },
  ]);
  assert.deepEqual(config.pause_reasons, [
    { id: 'lunch', name: 'Lunch', paid: false, longest_seconds: 60, supervisor_only: false },
  ]);
  assert.deepEqual(config.settings.recording_announcement, { built_in: 'conf-now-recording' });
  assert.equal(config.parking_lots[0]?.last_slot, 705);
  assert.deepEqual(
    config.trunks.map((t) => [t.name, t.login]),
    [
      ['north', { username: 'u', password: 'p' }],
      ['south', null],
    ],
  );
  assert.deepEqual(
    config.inbound_routes.map((r) => [r.trunk, r.number, r.prefix, r.to]),
    [
      ['north', '+49', true, { kind: 'queue', key: 'support' }],
      ['south', '44', false, { kind: 'trunk', key: 'north', strip: 1, prepend: '0' }],
    ],
  );
  assert.deepEqual(
    config.outbound_routes.map((r) => [r.patterns, r.trunks.map((t) => [t.trunk, t.strip, t.prepend])]),
    [
      [['00X!'], [['north', 0, '']]],
      [
        ['0X!'],
        [
          ['north', 1, '+49'],
          ['south', 0, ''],
        ],
      ],
    ],
  );
  await assert.rejects(db.selectFrom('people').selectAll().execute(), /no such table/);
});

test('pbx-config - a store that nobody filled has nothing to move', async () => {
  await using temp = await temporaryStore();
  await temp.store.migrate('pbx-config', migrations);
  assert.equal((await openObjects(temp.store)).version, 0);
});
