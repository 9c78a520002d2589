import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { allObjects } from './model.ts';
import { openObjects } from './objects.ts';
import { migrations } from './tables.ts';
import type { ObjectTables } from './tables.ts';

const hangUp = { kind: 'hang_up', reason: 'normal', play: null };
/** An object of each kind with every field that it has in a site of 0.1.0. */
const OF_0_1_0: Readonly<Partial<Record<ConfigKind, Readonly<Record<string, unknown>>>>> = {
  extension: {
    extension: '1001',
    username: 'defne',
    name: 'Defne',
    email: null,
    mobile: null,
    department: null,
    level: 'admin',
    active: true,
    devices: ['sip', 'webrtc', 'mobile'],
    voicemail: true,
    voicemail_pin: '471100',
    sip_password: 'a'.repeat(32),
    forward_outside: false,
    recording: 'never',
    caller_id: null,
    pickup_group: null,
    call_permission: ['emergency', 'local', 'national', 'mobile'],
  },
  queue: {
    name: 'support',
    number: '500',
    title: 'Support',
    strategy: 'ringall',
    members: [{ extension: '1001', static: false, penalty: 0 }],
    ring_seconds: 15,
    retry_seconds: 1,
    wrap_up_seconds: 0,
    max_wait_seconds: 0,
    max_callers: 0,
    weight: 0,
    ring_in_use: false,
    join_when_empty: true,
    leave_when_empty: false,
    exit: { key: '1', to: hangUp },
    otherwise: hangUp,
    recording: 'never',
    music_class: null,
    announcement: null,
    agent_announcement: null,
    periodic_announcement: { sound: { built_in: 'hello-world' }, every_seconds: 60 },
    announce_position: false,
    announce_hold_time: false,
    announce_every_seconds: 0,
    announce_to_first: false,
    service_level_seconds: 20,
    thresholds: { waiting: { warn: 1, alarm: 2 }, longest_wait_seconds: null, service_level_percent: null },
  },
  ring_group: {
    name: 'front',
    number: '550',
    title: 'Front',
    strategy: 'all',
    members: ['1001'],
    ring_seconds: 20,
    recording: 'never',
    otherwise: hangUp,
  },
  menu: {
    name: 'main',
    number: '560',
    title: 'Main',
    greeting: { prompt: 'welcome' },
    choices: [{ key: '1', to: { kind: 'trunk', key: 'north', strip: 0, prepend: '112' } }],
    dial_extensions: false,
    timeout_seconds: 5,
    attempts: 3,
    otherwise: hangUp,
  },
  time_condition: {
    name: 'office',
    number: '570',
    title: 'Office',
    hours: [{ days: ['mon'], from: '08:00', to: '17:00' }],
    holidays: ['feasts'],
    override: 'none',
    when_open: hangUp,
    when_closed: hangUp,
    on_holiday: null,
  },
  holidays: { name: 'feasts', title: 'Feasts', days: [{ title: 'New year', year: null, month: 1, day: 1 }] },
  conference: {
    name: 'all',
    number: '580',
    title: 'All',
    wait_for_leader: false,
    max_members: 50,
    music_class: null,
    announce: true,
  },
  mailbox: { number: '590', title: 'Front', pin: '471100' },
  parking_lot: {
    name: 'default',
    title: 'Parking',
    number: '700',
    first_slot: 701,
    last_slot: 720,
    timeout_seconds: 120,
    music_class: null,
  },
  music_class: { name: 'slow', title: 'Slow', prompts: ['welcome'], order: 'random' },
  prompt: { name: 'welcome', title: 'Welcome', sound: 'a'.repeat(64) },
  trunk: {
    name: 'north',
    title: 'North',
    enabled: true,
    host: '192.0.2.1',
    port: 5060,
    transport: 'udp',
    username: null,
    register: false,
    codecs: ['alaw'],
    outbound_number: null,
    show_extensions: false,
    max_calls: 30,
  },
  inbound_route: {
    name: 'main',
    title: null,
    trunk: null,
    number: null,
    prefix: false,
    caller: null,
    to: hangUp,
  },
  outbound_route: {
    name: 'out',
    title: null,
    position: 100,
    patterns: ['0X.'],
    class: 'national',
    trunks: [{ trunk: 'north', strip: 1, prepend: '' }],
  },
  feature_code: { id: 'agent.login', code: '*22', enabled: true },
  pause_reason: {
    id: 'break',
    name: 'Break',
    position: 0,
    paid: true,
    longest_seconds: null,
    supervisor_only: false,
  },
  service: { number: '600', kind: 'echo', title: 'Echo test' },
  settings: { name: 'site', recording_announcement: null },
};

test('tables - objects of a site of 0.1.0 have every field after the migrations', async () => {
  await using temp = await temporaryStore();
  await temp.store.migrate(
    'pbx-config',
    migrations.filter(({ id }) => id === '0100-pbx-config'),
  );
  const rows = Object.entries(OF_0_1_0).map(([kind, body], i) => ({
    id: i + 1,
    kind,
    key: String(body[CONFIG_KINDS[kind as ConfigKind].key]),
    body: JSON.stringify(body),
  }));
  await temp.store.transaction<ObjectTables, void>(async (trx) => {
    await trx
      .insertInto('config_versions')
      .values({ author: 'setup', comment: null, at: 1, objects: rows.length })
      .execute();
    await trx
      .insertInto('config_objects')
      .values(rows.map((row) => ({ ...row, since_version: 1, until_version: null })))
      .execute();
  });
  await temp.store.migrate('pbx-config', migrations);
  const objects = [...allObjects((await openObjects(temp.store)).applied())];
  assert.equal(objects.length, rows.length);
  for (const { kind, body } of objects)
    assert.deepEqual(
      body,
      CONFIG_KINDS[kind].schema.parse(body),
      `${kind}: a migration has to add the field`,
    );
});
