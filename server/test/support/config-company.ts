import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';
import { storedObject, toModel } from '../../src/features/pbx-config/model.ts';
import type { Model } from '../../src/features/pbx-config/model.ts';
import type { ConfigInput, Objects } from '../../src/features/pbx-config/put.ts';
import { withSecrets } from '../../src/features/pbx-config/secrets.ts';

const to = { kind: 'extension', key: '1001' } as const;
const sound = { prompt: 'welcome' };
/** One object of every kind with nearly every field, and the objects it needs. */
export const EVERYTHING: Required<Objects> = {
  extension: [
    {
      extension: '1001',
      username: 'ada',
      name: 'Ada Lovelace',
      level: 'admin',
      email: 'ada@example.com',
      mobile: '+12025550101',
      department: 'IT',
      caller_id: '+12025550100',
      pickup_group: 'it',
      voicemail_pin: '123456',
      sip_password: 'a-secret-of-24-letters-0',
    },
    { extension: '1002', username: 'bob', name: 'Bob' },
  ],
  queue: [
    {
      name: 'support',
      number: '500',
      title: 'Support',
      members: [{ extension: '1002' }],
      exit: { key: '0', to },
      otherwise: { kind: 'mailbox', key: '801' },
      music_class: 'calm',
      announcement: sound,
      agent_announcement: sound,
      periodic_announcement: { sound, every_seconds: 30 },
    },
  ],
  ring_group: [{ name: 'care', number: '550', title: 'Care', members: ['1002'], otherwise: to }],
  menu: [
    {
      name: 'main',
      number: '560',
      title: 'Main',
      greeting: sound,
      choices: [{ key: '1', to: { kind: 'queue', key: 'support' } }],
      otherwise: { kind: 'hang_up', reason: 'busy', play: sound },
    },
  ],
  time_condition: [
    {
      name: 'office',
      number: '565',
      title: 'Office',
      hours: [{ days: ['mon'], from: '08:00', to: '17:00' }],
      holidays: ['public'],
      when_open: to,
      when_closed: { kind: 'menu', key: 'main' },
      on_holiday: to,
    },
  ],
  holidays: [{ name: 'public', title: 'Public', days: [{ title: 'New Year', month: 1, day: 1 }] }],
  conference: [
    { name: 'room', number: '570', title: 'Room', pin: '1234', leader_pin: '5678', music_class: 'calm' },
  ],
  mailbox: [{ number: '801', title: 'Shared', pin: '4321' }],
  parking_lot: [
    {
      name: 'default',
      title: 'Parking',
      number: '700',
      first_slot: 701,
      last_slot: 705,
      music_class: 'calm',
    },
  ],
  music_class: [{ name: 'calm', title: 'Calm', prompts: ['welcome'] }],
  prompt: [{ name: 'welcome', title: 'Welcome', sound: 'a'.repeat(64) }],
  trunk: [
    {
      name: 'north',
      title: 'North',
      host: '192.0.2.7',
      username: 'user',
      password: 'p4ss',
      outbound_number: '+12025550199',
    },
  ],
  inbound_route: [
    {
      name: 'in',
      title: 'In',
      trunk: 'north',
      number: '+4930123',
      caller: '+49',
      to: { kind: 'trunk', key: 'north', prepend: '0' },
    },
  ],
  outbound_route: [
    { name: 'out', title: 'Out', patterns: ['00X!'], trunks: [{ trunk: 'north', prepend: '9' }] },
  ],
  call_limit: [{ name: 'travel', title: 'Travel', extensions: ['1002'], hours: 'office', calls_per_day: 20 }],
  feature_code: [{ id: 'agent.login', code: '*25' }],
  pause_reason: [{ id: 'break', name: 'Break' }],
  service: [{ number: '600', kind: 'echo', title: 'Echo' }],
  phone: [
    { name: 'reception', vendor: 'yealink', mac: '00:15:65:aa:bb:cc', extensions: ['1001'], layout: 'front' },
  ],
  phone_layout: [
    {
      name: 'front',
      title: 'Front',
      keys: [
        { does: 'extension', value: '1002' },
        { does: 'parking_slot', value: '701' },
        { does: 'queue', value: 'support' },
        { does: 'speed_dial', value: '*97', label: 'Messages' },
      ],
    },
  ],
  engine: [{ node: 'b', title: 'Branch', host: '192.0.2.9' }],
  network: [{ external_address: '203.0.113.7', local_nets: ['192.168.0.0/16'] }],
  settings: [{ recording_announcement: sound }],
};
/** The model of some objects as in the draft; throws schema errors. */
export const modelOf = (objects: Objects): Model => {
  let id = 0;
  return toModel(
    Object.entries(objects).flatMap(([kind, inputs]) =>
      (inputs as readonly ConfigInput<ConfigKind>[]).map((input) => {
        const body = CONFIG_KINDS[kind as ConfigKind].schema.parse(input) as ConfigBody<ConfigKind>;
        return storedObject((id += 1), kind as ConfigKind, withSecrets(kind as ConfigKind, body));
      }),
    ),
  );
};
