import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteTest } from '@offhook/contract/config-route-test.ts';
import { configRig } from '../../../test/support/config-rig.ts';
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import type { Objects } from './put.ts';

const extension = (key: string) => ({ kind: 'extension' as const, key });
const time = (key: string) => ({ kind: 'time_condition' as const, key });
const OBJECTS: Objects = {
  trunk: [
    { name: 'north', title: 'North', host: '192.0.2.1', outbound_number: '+49305550' },
    { name: 'south', title: 'South', host: '192.0.2.2', show_extensions: true },
    { name: 'off', title: 'Off', host: '192.0.2.3', enabled: false },
  ],
  outbound_route: [
    { name: 'abroad', position: 1, patterns: ['00.'], class: 'international', trunks: [{ trunk: 'south' }] },
    {
      name: 'out',
      position: 2,
      patterns: ['0.', '0800X.'],
      trunks: [{ trunk: 'north', strip: 1, prepend: '+49' }, { trunk: 'off' }, { trunk: 'south' }],
    },
    { name: 'help', position: 9, patterns: ['112'], class: 'emergency', trunks: [{ trunk: 'north' }] },
  ],
  inbound_route: [
    { name: 'main', number: '+49305550', to: time('office') },
    { name: 'vip', number: '+49305550', caller: '+44', owner_seconds: 15, to: extension('1003') },
    { name: 'rest', number: '+4930', prefix: true, trunk: 'south', to: { kind: 'hang_up', reason: 'busy' } },
    { name: 'circle', number: '1', to: time('there') },
    {
      name: 'transit',
      number: '999',
      prefix: true,
      to: { kind: 'trunk', key: 'south', strip: 3, prepend: '00' },
    },
  ],
  time_condition: [
    {
      name: 'office',
      title: 'Office',
      hours: [{ days: ['mon', 'tue'], from: '09:00', to: '17:00' }],
      holidays: ['public'],
      when_open: { kind: 'menu', key: 'front' },
      when_closed: { kind: 'ring_group', key: 'night' },
      on_holiday: { kind: 'hang_up' },
    },
    { name: 'there', title: 'There', when_open: time('back'), when_closed: time('back') },
    { name: 'back', title: 'Back', when_open: time('there'), when_closed: time('there') },
  ],
  holidays: [{ name: 'public', title: 'Public', days: [{ title: 'New year', month: 1, day: 1 }] }],
  menu: [
    {
      name: 'front',
      title: 'Front',
      choices: [
        { key: '1', to: { kind: 'queue', key: 'support' } },
        { key: '2', to: { kind: 'trunk', key: 'north', strip: 1, prepend: '+4930777' } },
      ],
      otherwise: extension('1002'),
    },
  ],
  ring_group: [
    { name: 'night', number: '551', title: 'Night', members: ['1003', '1004'], otherwise: extension('1002') },
  ],
};
async function rig(t: Parameters<typeof configRig>[0]) {
  const all = await configRig(t, { objects: OBJECTS });
  const ask = async (number: string, from: object, more: object = {}): Promise<RouteTest> => {
    const answer = await all.ask('POST', 'route-test', { number, from, ...more });
    assert.equal(answer.status, 200, answer.text);
    return answer.body.test;
  };
  return { ...all, of: ask };
}
const gist = (test: RouteTest): string[] =>
  test.ends.map((e) => (e.when === null ? '' : `${e.when}: `) + e.detail);
const north = (caller = '') => ({ trunk: 'north', caller });

test('route test - open, closed and holidays apply at the time of the question, in the zone of the site', async (t) => {
  const { of } = await rig(t);
  const open = await of('+49305550', north(), { at: '2026-11-23T06:00:00Z' });
  assert.equal(open.at, '2026-11-23T06:00:00.000Z');
  assert.deepEqual(
    open.steps.map((s) => `${s.object?.kind} ${s.object?.key} ${s.rule}`),
    [
      'inbound_route main number +49305550',
      'time_condition office hours.0',
      'menu front choices',
      'queue support number',
      'trunk north to',
      'extension 1002 devices',
    ],
  );
  const queue = gist(open)[1];
  assert.match(queue!, /^key 1: queue support with agents 10/);
  assert.deepEqual(gist(open), [
    'menu front asks for a key',
    queue,
    'key 2: trunk north as nobody',
    'no key: rings 1002, 1002-web, 1002-mobile',
  ]);
  assert.deepEqual(open.ends[2]!.ways, [{ trunk: 'north', number: '+4930777', shown_as: '' }]);
  const closed = await of('+49305550', north(), { at: '2026-11-23T05:59:59Z' });
  assert.deepEqual(gist(closed).slice(1), ['nobody answers: rings 1002, 1002-web, 1002-mobile']);
  for (const [at, is] of [
    ['2026-11-23T13:59:59Z', 'hours.0'],
    ['2026-11-23T14:00:00Z', 'hours'],
  ])
    assert.equal((await of('+49305550', north(), { at })).steps[1]!.rule, is, at);
  const holiday = await of('+49305550', north(), { at: '2027-01-01T10:00:00+03:00' });
  assert.deepEqual([gist(holiday), holiday.ends[0]!.cause], [['ends: normal'], 16]);
  assert.equal(holiday.steps[1]!.rule, 'holidays public: New year');
});

test('route test - a call names its limits, and an excluded country or hour is refused', async (t) => {
  const limits: Objects['call_limit'] = [
    { name: 'home', title: 'Home', classes: ['national'], countries: ['+49'], hours: 'office' },
    { name: 'other', title: 'Other', classes: ['national'], countries: ['+44'], extensions: ['1002'] },
  ];
  const { ask } = await configRig(t, { objects: { ...OBJECTS, call_limit: limits } });
  const test = async (extension: string, at: string): Promise<(string | number | null)[]> => {
    const answer = await ask('POST', 'route-test', { number: '030', at, from: { extension } });
    const { steps, ends }: RouteTest = answer.body.test;
    return [steps.at(-1)!.object!.key, steps.at(-1)!.rule, ends[0]!.kind, ends[0]!.cause];
  };
  const open = '2026-11-23T06:00:00Z';
  assert.deepEqual(await test('1001', open), ['home', 'classes', 'trunk', null]);
  assert.deepEqual(await test('1002', open), ['other', 'countries', 'refused', 21]);
  assert.deepEqual(await test('1001', '2026-11-22T06:00:00Z'), ['home', 'hours', 'refused', 21]);
});

test('route test - the number has priority over the caller, and a loop ends', async (t) => {
  const { of } = await rig(t);
  const vip = await of('+49305550', north('+44207'));
  assert.match(gist(vip)[0]!, /^rings 1003/);
  assert.deepEqual(
    vip.steps.map(({ rule }) => rule),
    ['number +49305550, caller +44…', 'owner_seconds', 'devices'],
  );
  assert.deepEqual(gist(await of('+49301', { trunk: 'south' })), ['ends: busy']);
  assert.deepEqual(gist(await of('+49301', north())), ['nothing matches']);
  assert.deepEqual(gist(await of('1', north())), ['refused: it is led in a circle']);
  const transit = await of('99944', north('+4915'));
  assert.deepEqual(transit.ends[0]!.ways, [{ trunk: 'south', number: '0044', shown_as: '+4915' }]);
});

test('route test - a number outside goes by position, by permission, over each enabled trunk', async (t) => {
  const { of, ask } = await rig(t);
  assert.deepEqual(gist(await of('0800123', { extension: '1002' })), [
    'trunk north to +49800123 as +49305550, then trunk south to 0800123 as 1002',
  ]);
  assert.deepEqual(gist(await of('0*1', { extension: '1002' })), ['refused: it holds more than digits']);
  const no = await ask('PATCH', 'extensions/1002', { call_permission: ['local'], caller_id: '+49305552' });
  assert.equal(no.status, 200, no.text);
  const refused = await of('0044207', { extension: '1002' }, { view: 'draft' });
  assert.deepEqual(
    [gist(refused), refused.ends[0]!.cause],
    [['refused: class international is not permitted'], 21],
  );
  assert.deepEqual(gist(await of('112', { extension: '1002' }, { view: 'draft' })), [
    'trunk north to 112 as +49305550',
  ]);
  // The same holds without configured permissions.
  assert.deepEqual(gist(await of('0044207', { extension: '1002' })), [
    'refused: class international is not permitted',
  ]);
  assert.deepEqual(gist(await of('7777', { extension: '1002' })), ['nothing matches']);
});

test('route test - present call settings of people are followed, outside only with permission', async (t) => {
  const { of, ask, features } = await rig(t);
  const desk = { extension: '1002' };
  features.set('1003', { ...FEATURES_OFF, forward: '0301' });
  assert.match(gist(await of('1003', desk))[0]!, /mailbox of 1003/);
  assert.equal((await ask('PATCH', 'extensions/1003', { forward_outside: true })).status, 200);
  assert.deepEqual(gist(await of('1003', desk, { view: 'draft' })), [
    'trunk north to +49301 as +49305550, then trunk south to 0301 as 1003',
  ]);
  features.set('1003', { ...FEATURES_OFF, forward: '112' });
  assert.match(gist(await of('1003', desk, { view: 'draft' }))[0]!, /mailbox of 1003/);
  features.set('1003', { ...FEATURES_OFF, dnd: true, forward_busy: '1004' });
  features.set('1004', { ...FEATURES_OFF, devices: 'webrtc' });
  assert.equal(gist(await of('1003', desk))[0], 'rings 1004-web');
  features.set('1003', { ...FEATURES_OFF, forward: '1004' });
  features.set('1004', { ...FEATURES_OFF, forward: '1003' });
  const round = await of('1003', desk);
  assert.equal(round.steps.filter((s) => s.detail.startsWith('calls go to')).length, 5);
  assert.match(gist(round)[0]!, /mailbox of 100/);
});

test('route test - a person with do-not-disturb does not ring in a group', async (t) => {
  const { of, features } = await rig(t);
  features.set('1003', { ...FEATURES_OFF, dnd: true });
  features.set('1004', { ...FEATURES_OFF, devices: 'sip', forward: '1002' });
  const desk = { extension: '1001' };
  assert.equal(gist(await of('551', desk))[0], 'rings 1004');
  features.set('1004', { ...FEATURES_OFF, dnd: true });
  assert.match(gist(await of('551', desk))[0]!, /^rings 1002/);
});

test('route test - a feature code is found by the number given by the site', async (t) => {
  const { ask } = await configRig(t, { objects: { feature_code: [{ id: 'agent.pause', code: '#91' }] } });
  for (const [number, detail] of [
    ['#91', 'feature code: Pause'],
    ['*22', 'nothing matches'],
  ]) {
    const answer = await ask('POST', 'route-test', { number, from: { extension: '1002' } });
    assert.deepEqual(gist(answer.body.test), [detail]);
  }
});

test('route test - caller and question are checked', async (t) => {
  const { ask } = await rig(t);
  const good = { number: '112', from: { extension: '1002' } };
  assert.equal((await ask('POST', 'route-test', good, { as: 'token-supervisor' })).status, 403);
  for (const [body, status] of [
    [{ ...good, from: { extension: '1999' } }, 404],
    [{ ...good, from: { trunk: 'off' } }, 404],
    [{ ...good, from: {} }, 400],
    [{ ...good, from: { extension: '1002', trunk: 'north' } }, 400],
    [{ ...good, number: '1\r\n[x]' }, 400],
    [{ ...good, number: '${SHELL(id)}' }, 400],
    [{ ...good, number: '1'.repeat(10_000) }, 400],
    [{ ...good, from: { trunk: 'north', caller: '"><' } }, 400],
    [{ ...good, at: 'tomorrow' }, 400],
    [{ ...good, at: '2026-11-23T06:00:00' }, 400],
    [{ ...good, view: 'live' }, 400],
    [{ ...good, more: 1 }, 400],
  ] as const) {
    const answer = await ask('POST', 'route-test', body);
    assert.equal(answer.status, status, `${JSON.stringify(body).slice(0, 100)}: ${answer.text}`);
  }
});
