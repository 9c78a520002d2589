import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_KINDS } from './config-objects.ts';
import type { ConfigKind } from './config-objects.ts';
import { referencesOf } from './config-references.ts';

const namedBy = (kind: ConfigKind, input: object): string[] =>
  referencesOf({ kind, body: CONFIG_KINDS[kind].schema.parse(input) }).map(
    (to) => `${to.path}: ${to.kind} ${to.key}`,
  );

test('config references - fields, members of lists, destinations and sounds refer to objects', () => {
  const title = 'Any';
  assert.deepEqual(
    namedBy('queue', {
      name: 'support',
      number: '500',
      title,
      members: [{ extension: '1001' }, { extension: '1002' }],
      exit: { key: '1', to: { kind: 'hang_up', play: { prompt: 'bye' } } },
      otherwise: { kind: 'trunk', key: 'north', prepend: '1' },
      music_class: 'jazz',
      announcement: { built_in: 'hello' },
      periodic_announcement: { sound: { prompt: 'wait' }, every_seconds: 30 },
    }),
    [
      'members.0.extension: extension 1001',
      'members.1.extension: extension 1002',
      'exit.to.play: prompt bye',
      'otherwise: trunk north',
      'music_class: music_class jazz',
      'periodic_announcement.sound: prompt wait',
    ],
  );
  assert.deepEqual(
    namedBy('time_condition', {
      name: 'office',
      title,
      holidays: ['public', 'own'],
      when_open: { kind: 'menu', key: 'front' },
      when_closed: { kind: 'mailbox', key: '580' },
    }),
    [
      'holidays.0: holidays public',
      'holidays.1: holidays own',
      'when_open: menu front',
      'when_closed: mailbox 580',
    ],
  );
  assert.deepEqual(
    namedBy('outbound_route', { name: 'out', patterns: ['0X.'], trunks: [{ trunk: 'a' }, { trunk: 'b' }] }),
    ['trunks.0.trunk: trunk a', 'trunks.1.trunk: trunk b'],
  );
  assert.deepEqual(namedBy('inbound_route', { name: 'in', to: { kind: 'service', key: '*97' } }), [
    'to: service *97',
  ]);
  assert.deepEqual(namedBy('mailbox', { number: '580', title }), []);
});
