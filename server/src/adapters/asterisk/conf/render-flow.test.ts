/** Accepted and refused values in the files of ring groups, menus and the like. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HolidaysConfig, TimeConditionConfig } from '@offhook/contract/config-call-flow.ts';
import { ServiceError } from '../../../core/errors.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import type { Site } from '../../../ports/site.ts';
import {
  company,
  conference,
  holidays,
  menu,
  parkingLot,
  queue,
  renderCompany,
  ringGroup,
  timeCondition,
} from '../../../../test/support/rendered-company.ts';

const prompt = { prompt: 'welcome' };
const hang_up = { kind: 'hang_up', reason: 'busy', play: prompt } as const;
/** One of everything, with every field. */
const everything = (): Site =>
  company({
    feature_codes: FEATURE_CODES.map((code) =>
      code.id === 'agent.pause' ? { ...code, moved: { from: '*22', to: '*99' } } : code,
    ),
    queues: [
      queue({
        name: 'support',
        number: '500',
        members: [{ extension: '1003', static: true, penalty: 4 }],
        music_class: 'calm',
        announcement: prompt,
        agent_announcement: prompt,
        periodic_announcement: { sound: prompt, every_seconds: 30 },
        otherwise: { kind: 'menu', key: 'main' },
        exit: { key: '1', to: { kind: 'conference', key: 'room' } },
      }),
    ],
    ring_groups: [
      ringGroup({
        name: 'front',
        number: '620',
        members: ['1002', '1003'],
        recording: 'always',
        otherwise: { kind: 'mailbox', key: '4000' },
      }),
    ],
    menus: [
      menu({
        name: 'main',
        number: '800',
        greeting: prompt,
        choices: [
          { key: '1', to: { kind: 'ring_group', key: 'front' } },
          { key: '2', to: { kind: 'time_condition', key: 'office' } },
          { key: '3', to: { kind: 'queue', key: 'support' } },
        ],
        otherwise: hang_up,
      }),
    ],
    time_conditions: [
      timeCondition({
        name: 'office',
        number: '810',
        hours: [{ days: ['mon'], from: '22:00', to: '02:00' }],
        holidays: ['feasts'],
        when_open: { kind: 'service', key: '600' },
        when_closed: hang_up,
        on_holiday: hang_up,
      }),
    ],
    holidays: [holidays({ name: 'feasts', days: [{ title: 'May', year: 2027, month: 5, day: 1 }] })],
    conferences: [
      conference({ name: 'room', number: '830', pin: '1234', leader_pin: '5678', music_class: 'calm' }),
    ],
    mailboxes: [{ number: '4000', title: 'Front', pin: '2468' }],
    parking_lots: [parkingLot({ name: 'shop', music_class: 'calm' })],
    music_classes: [{ name: 'calm', title: 'Calm', prompts: ['welcome'], order: 'random' }],
    prompts: [{ name: 'welcome', title: 'Welcome', sound: 'ab'.repeat(32) }],
    settings: {
      name: 'site',
      sign_out_hours: null,
      customer_languages: [],
      language: 'en',
      recording_announcement: prompt,
    },
  });
const MINE = [
  'queues',
  'ring_groups',
  'menus',
  'time_conditions',
  'holidays',
  'conferences',
  'mailboxes',
  'parking_lots',
  'music_classes',
  'prompts',
  'settings',
] as const;

type Path = readonly (string | number)[];
function* leaves(value: unknown, at: Path = []): Generator<readonly [Path, unknown]> {
  if (value !== null && typeof value === 'object')
    for (const [key, one] of Object.entries(value)) yield* leaves(one, [...at, key]);
  else yield [at, value];
}
/** The same site with another value at that place. */
function withValue(path: Path, value: unknown): Site {
  const site = everything();
  const copy = { ...site, ...structuredClone(Object.fromEntries(MINE.map((k) => [k, site[k]]))) } as Site;
  let here = copy as unknown as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) here = here[key] as typeof here;
  here[path.at(-1)!] = value;
  return copy;
}
const refuses = (work: () => unknown, says: RegExp): void => {
  assert.throws(
    work,
    (e) => e instanceof ServiceError && e.code === 'invalid_request' && says.test(e.message),
  );
};

const ATTACKS = [
  'a\nb => c',
  'a\r',
  'q\0q',
  'q;q',
  '[qq]',
  '#include qq',
  '#exec qq',
  '${SHELL(qq)}',
  '"qq"',
  'q,q',
  'q&q',
  'q|q',
  'q)q',
  '../qq',
  'q\\q',
  '`qq`',
  'q=>q',
  '😀',
  'qq'.repeat(5_120),
];
test('conf/render - every text of ring groups, menus and the like is refused or is in no file', () => {
  const fields = [...leaves(Object.fromEntries(MINE.map((k) => [k, everything()[k]])))].filter(
    ([, value]) => typeof value === 'string',
  );
  let [turned, left] = [0, 0];
  for (const [path] of fields)
    for (const attack of ATTACKS) {
      let files: ReadonlyMap<string, string>;
      try {
        files = renderCompany(withValue(path, attack));
      } catch (error) {
        assert.ok(
          error instanceof ServiceError && error.code === 'invalid_request',
          `${path.join('.')}: ${String(error)}`,
        );
        turned += 1;
        continue;
      }
      for (const [name, text] of files)
        assert.ok(!text.includes(attack), `${path.join('.')} brings ${JSON.stringify(attack)} into ${name}`);
      left += 1;
    }
  // Titles, and people who are not there, are in no file.
  assert.ok(fields.length > 60 && turned > left && left > 100, `${fields.length}: ${turned} and ${left}`);
});

test('conf/render - every number of ring groups, menus and the like is in its range or refused', () => {
  const fields = [...leaves(Object.fromEntries(MINE.map((k) => [k, everything()[k]])))].filter(
    ([path, value]) => typeof value === 'number' && !path.includes('thresholds'),
  );
  assert.ok(fields.length > 15);
  for (const [path] of fields)
    for (const value of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e12, '7'])
      assert.throws(
        () => renderCompany(withValue(path, value)),
        ServiceError,
        `${path.join('.')} = ${String(value)}`,
      );
});

test('conf/render - the order of objects makes no difference', () => {
  const one = everything();
  const site: Site = {
    ...one,
    ring_groups: [...one.ring_groups, ringGroup({ name: 'back', number: '621', members: ['1002'] })],
    menus: [...one.menus, menu({ name: 'zero', otherwise: { kind: 'queue', key: 'support' } })],
    parking_lots: [...one.parking_lots, parkingLot({ number: '710', first_slot: 711, last_slot: 712 })],
  };
  const turned = { ...site };
  for (const key of ['extensions', 'services', ...MINE] as const)
    if (Array.isArray(site[key])) Object.assign(turned, { [key]: site[key].toReversed() });
  assert.deepEqual([...renderCompany(turned)], [...renderCompany(site)]);
});

test('conf/render - numbers, names and ways that mean two things or none are refused', () => {
  const site = everything();
  const with_ =
    (fields: Partial<Site>): (() => unknown) =>
    () =>
      renderCompany({ ...site, ...fields });
  refuses(
    with_({ ring_groups: [ringGroup({ name: 'a', number: '500', members: ['1002'] })] }),
    /"500" is both/,
  );
  refuses(with_({ mailboxes: [{ number: '1002', title: 'x', pin: '1234' }] }), /"1002" is both/);
  refuses(with_({ conferences: [] }), /conference room cannot be reached/);
  refuses(with_({ mailboxes: [] }), /mailbox 4000 cannot be reached/);
  refuses(with_({ prompts: [] }), /there is no prompt "welcome"/);
  refuses(with_({ music_classes: [] }), /there is no music class "calm"/);
  refuses(with_({ holidays: [] }), /there are no holidays "feasts"/);
  refuses(with_({ menus: [...site.menus, ...site.menus] }), /two menus are named main/);
  for (const name of ['general', 'waiting-room'])
    refuses(with_({ queues: [...site.queues, queue({ name, number: '599' })] }), /cannot be named/);
  refuses(
    with_({ conferences: [conference({ name: 'room', number: '830', wait_for_leader: true })] }),
    /nobody can be the leader/,
  );
  refuses(
    with_({
      feature_codes: [
        { ...FEATURE_CODES.find((c) => c.id === 'agent.pause')!, moved: { from: '*22', to: '*9' } },
      ],
      services: [{ number: '*97', kind: 'echo', title: 'Echo' }],
    }),
    /cannot be distinguished/,
  );
});

test('conf/render - hours and days that are none are refused before', () => {
  const hours = (from: string, to: string) =>
    TimeConditionConfig.safeParse({
      name: 'a',
      title: 'A',
      hours: [{ days: ['mon'], from, to }],
      when_open: { kind: 'hang_up' },
      when_closed: { kind: 'hang_up' },
    }).success;
  for (const [from, to] of [
    ['08:00', '08:00'],
    ['24:00', '08:00'],
    ['25:00', '26:00'],
    ['8:0', '09:00'],
    ['8', '09:00'],
    ['008:00', '09:00'],
  ] as const)
    assert.ok(!hours(from, to), `${from} ${to}`);
  assert.ok(hours('00:00', '24:00') && hours('22:00', '00:00'));
  const day = (year: number | null, month: number, d: number) =>
    HolidaysConfig.safeParse({ name: 'a', title: 'A', days: [{ title: 'A', year, month, day: d }] }).success;
  assert.ok(day(null, 2, 29) && day(2028, 2, 29));
  assert.ok(!day(2027, 2, 29) && !day(null, 2, 30) && !day(null, 4, 31));
});
