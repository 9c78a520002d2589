/** Names that people choose beside the ones that files of the engine have already. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import type { Site } from '../../../ports/site.ts';
import { hiddenSecrets } from './hidden.ts';
import * as objects from '../../../../test/support/rendered-company.ts';

/** Of the other files of that kind a section may be there once for each type of object. */
const FILES = ['extensions.conf', 'queues.conf', 'confbridge.conf', 'musiconhold.conf', 'res_parking.conf'];
const sectionsOf = (text: string): string[] => [...text.matchAll(/^\[([^\]]+)\]/gm)].map((m) => m[1]!);
const hang_up = { kind: 'hang_up' } as const;

/** One object of every kind for each name. */
function called(names: readonly string[]): Site {
  let last = 6000;
  const number = (): string => String(++last);
  const many = <T>(make: (name: string, i: number) => T): T[] => names.map(make);
  const music = many((name) => ({
    name,
    title: 'Music',
    prompts: ['welcome'],
    order: 'random' as const,
  }));
  return objects.company({
    extensions: [
      objects.extension('1001', { recording: 'always', forward_outside: true, caller_id: '4930' }),
    ],
    feature_codes: FEATURE_CODES.map((code) =>
      code.id === 'agent.pause' ? { ...code, moved: { from: '*22', to: '*99' } } : code,
    ),
    prompts: [{ name: 'welcome', title: 'Welcome', sound: 'a'.repeat(64) }],
    queues: many((name) => objects.queue({ name, number: number(), exit: { key: '0', to: hang_up } })),
    ring_groups: many((name) => objects.ringGroup({ name, number: number(), members: ['1001'] })),
    menus: many((name) => objects.menu({ name, otherwise: hang_up })),
    time_conditions: many((name) =>
      objects.timeCondition({ name, when_open: hang_up, when_closed: hang_up }),
    ),
    holidays: many((name) => objects.holidays({ name, days: [{ title: 'A day', month: 1, day: 1 }] })),
    conferences: many((name) => objects.conference({ name, number: number() })),
    music_classes: music,
    parking_lots: many((name, i) =>
      objects.parkingLot({ name, number: number(), first_slot: 800_000 + 2 * i, last_slot: 800_001 + 2 * i }),
    ),
    trunks: many((name) => objects.trunk({ name, host: '192.0.2.1' })),
    inbound_routes: many((name) => objects.inboundRoute({ name, trunk: name, number: '49', to: hang_up })),
    outbound_routes: many((name) =>
      objects.outboundRoute({ name, patterns: ['0X!'], trunks: [{ trunk: name }] }),
    ),
  });
}

test('conf/names - no name of an object makes a section that is there already', () => {
  const plain = objects.renderCompany(called(['main']));
  const there = new Set(FILES.flatMap((file) => sectionsOf(plain.get(file)!)));
  const names = new Set(['main', 'default', 'main-1', 'main-2', '1', '2']);
  for (const section of there) {
    const parts = section.split('-');
    parts.forEach((_, i) => names.add(parts.slice(i).join('-')));
  }
  // The renderer refuses these for queues.
  for (const name of ['general', 'waiting-room']) names.delete(name);
  const usable = [...names].filter((name) => /^[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?$/.test(name));
  assert.ok(usable.length > 60, `${usable.length} names`);
  const files = objects.renderCompany(called(usable));
  for (const file of FILES) {
    const sections = sectionsOf(files.get(file)!);
    const twice = sections.filter((name, i) => sections.indexOf(name) !== i);
    assert.deepEqual(twice, [], file);
  }
});

test('conf/names - the PINs of a conference are hidden wherever a file has them', () => {
  const shown = (pin: string): string => {
    const files = objects.renderCompany(
      objects.company({
        conferences: [objects.conference({ name: 'boss', number: '7200', pin, leader_pin: '556677' })],
      }),
    );
    const text = [...files].map(([name, file]) => hiddenSecrets(name, file)).join('\n');
    assert.match([...files.values()].join('\n'), new RegExp(pin), 'a file has it');
    for (const secret of [pin, '556677']) assert.doesNotMatch(text, new RegExp(secret));
    return text;
  };
  assert.equal(shown('918273'), shown('918273'));
  assert.notEqual(shown('918273'), shown('918274'));
});
