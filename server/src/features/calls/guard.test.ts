import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallSettings } from '@offhook/contract/call-settings.ts';
import { INITIAL_CALL_SETTINGS } from '@offhook/contract/call-settings.ts';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { callsRig } from '../../../test/support/calls-rig.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Actor } from '../../ports/operations.ts';
import { classify, countryOf } from './destinations.ts';
import { createGuard } from './guard.ts';
import type { Usage } from './store.ts';

const own = { has: (number: string) => ['1004', '500', '600', '701'].includes(number) };
const settings: CallSettings = {
  ...INITIAL_CALL_SETTINGS,
  prefixes: [
    ...INITIAL_CALL_SETTINGS.prefixes,
    { prefix: '015', destination: 'mobile' },
    { prefix: '0900', destination: 'premium' },
    { prefix: '+49', destination: 'national' },
    { prefix: '+4915', destination: 'mobile' },
  ],
};
const actor = (level: PersonLevel, key = false): Actor => ({
  ip: null,
  caller: {
    session_id: 1,
    person_id: 1,
    extension: '1003',
    username: 'bea',
    level,
    expires_at: 0,
    cookie: false,
    key: key ? { id: 1, name: 'k', scopes: [], queues: null, extensions: null } : null,
  },
});
function guardWith(change: Partial<CallSettings> = {}, used = new Map<string, Usage>()) {
  const now = { ms: 1_000_000, day: '2026-11-21' };
  const kept: unknown[] = [];
  const guard = createGuard({
    settings: () => ({ ...settings, ...change }),
    own,
    outside: {
      leadsOut: (number) => number.startsWith('03') || number === '999',
      mayCall: (extension, number) => extension !== '1005' || number !== '030999',
      isEmergency: (number) => number === '03112',
    },
    used,
    store: { keepUsage: async (...row) => void kept.push(row) },
    clock: { now: () => now.ms, sleep: () => Promise.reject(new Error('nothing sleeps')) },
    today: () => ({ day: now.day, seconds_left: 3600 }),
  });
  return { guard, now, kept };
}
const refusal = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;

test('guard - a number has the class of its longest prefix, own numbers first', () => {
  const cases: Readonly<Record<string, string>> = {
    1004: 'internal',
    500: 'internal',
    701: 'internal',
    1005: 'unknown',
    '*97': 'feature_code',
    '12#4': 'feature_code',
    112: 'emergency',
    1120: 'unknown',
    '0301234567': 'national',
    '01511234567': 'mobile',
    '0900123456': 'premium',
    '+49301234567': 'national',
    '+4915112345678': 'mobile',
    '004915112345678': 'mobile',
    '+12025550101': 'international',
    '0012025550101': 'international',
    '+19005550101': 'premium',
    '+499001234567': 'premium',
    '00499001234567': 'premium',
    '+449098790123': 'premium',
    '+442071234567': 'international',
    '+33899123456': 'premium',
    '+8816123456': 'premium',
    '008816123456': 'premium',
    '+': 'international',
  };
  for (const [number, expected] of Object.entries(cases)) {
    assert.equal(classify(number, own, settings).destination, expected, number);
  }
  assert.deepEqual(
    ['+12025550101', '+74951234567', '+493012', '+35312345', '+902125550101', '+8816'].map(countryOf),
    ['1', '7', '49', '353', '90', '881'],
  );
  assert.equal(classify('0049301', own, settings).country, '49');
  assert.equal(classify('030123', own, settings).country, null);
});

test('guard - only internal numbers unless the level permits more; a key counts as a user; a right is no route', async () => {
  const { guard } = guardWith({
    allowed: { ...settings.allowed, supervisor: ['internal', 'national', 'mobile'] },
  });
  assert.equal(await guard.admit(actor('supervisor'), '1002', '0301234'), 'national', 'a route leads there');
  assert.equal(await guard.admit(actor('user'), '1003', '1004'), 'internal');
  for (const level of ['user', 'agent', 'admin'] as const) {
    for (const number of ['0301234', '01511234', '+12025550101', '+8816123', '5551234', '*97']) {
      await assert.rejects(
        guard.admit(actor(level), '1003', number),
        refusal('destination_not_allowed'),
        number,
      );
    }
  }
  await assert.rejects(guard.admit(actor('supervisor'), '1002', '01511234'), refusal('no_route'));
  await assert.rejects(
    guard.admit(actor('supervisor'), '1002', '+8816123'),
    refusal('destination_not_allowed'),
  );
  await assert.rejects(
    guard.admit(actor('supervisor', true), '1003', '0301234'),
    refusal('destination_not_allowed'),
  );
  await assert.rejects(guard.admit(actor('user'), '1003', '112'), refusal('no_route'));
  const may = guardWith({ allowed: { ...settings.allowed, user: ['internal', 'national'] } }).guard;
  assert.equal(await may.admit(actor('user'), '1005', '030998'), 'national');
  await assert.rejects(may.admit(actor('user'), '1005', '030999'), refusal('destination_not_allowed'));
  assert.deepEqual(
    [
      guard.refusals().premium,
      guard.refusals().feature_code,
      guard.refusals().emergency,
      guard.refusals().internal,
    ],
    [4, 3, 1, 0],
  );
});

test('guard - calls in a minute and on a day, each person for itself; the day is kept', async () => {
  const { guard, now, kept } = guardWith(
    { per_minute: 2, per_day: 3 },
    new Map([['1004', { calls: 3, countries: [] }]]),
  );
  const place = (who: string) => guard.admit(actor('user'), who, '1004');
  await place('1003');
  now.ms += 30_000;
  await place('1003');
  await assert.rejects(
    place('1003'),
    (e) => refusal('too_many_requests')(e) && (e as ServiceError).extras.retry_after_seconds === 30,
  );
  await place('1005');
  await assert.rejects(
    place('1004'),
    (e) => refusal('too_many_requests')(e) && (e as ServiceError).extras.retry_after_seconds === 3600,
    'used up before a restart',
  );
  now.ms += 30_000;
  await place('1003');
  now.ms += 60_000;
  await assert.rejects(place('1003'), refusal('too_many_requests'));
  now.day = '2026-11-22';
  await place('1003');
  assert.deepEqual(kept.at(-1), ['1003', '2026-11-22', { calls: 1, countries: [] }]);
});

test('guard - simultaneous calls cannot pass a limit together', async () => {
  const { guard } = guardWith({ per_minute: 5 });
  const all = await Promise.allSettled(
    Array.from({ length: 20 }, () => guard.admit(actor('user'), '1003', '1004')),
  );
  assert.equal(all.filter((r) => r.status === 'fulfilled').length, 5);
});

test('guard - more countries on one day than the site lets through', async () => {
  const used = new Map([['1003', { calls: 2, countries: ['1', '49'] }]]);
  const { guard } = guardWith(
    { countries_per_day: 2, allowed: { ...settings.allowed, user: ['international'] } },
    used,
  );
  await assert.rejects(guard.admit(actor('user'), '1003', '+12025550101'), refusal('no_route'), 'one it had');
  await assert.rejects(guard.admit(actor('user'), '1003', '+33123456'), refusal('destination_not_allowed'));
});

test('guard - switched off, every call and transfer is refused', async () => {
  const { guard } = guardWith({ enabled: false });
  await assert.rejects(guard.admit(actor('admin'), '1001', '1004'), refusal('destination_not_allowed'));
});

test('guard - only the own number and the site’s numbers may be shown', () => {
  const { guard } = guardWith({ caller_ids: ['4930123'] });
  guard.checkCallerId('1003', '1003');
  guard.checkCallerId('1003', '4930123');
  assert.throws(() => guard.checkCallerId('1003', '1004'), refusal('destination_not_allowed'));
});

test('guard - settings: read and changed by administrators, in force at once, kept, audited', async (t) => {
  const rig = await callsRig(t);
  const initial = await rig.request('token-admin', 'GET', '/settings/calls');
  assert.deepEqual(initial.body['settings'], INITIAL_CALL_SETTINGS);
  for (const token of ['token-user', 'token-agent', 'token-supervisor']) {
    assert.equal((await rig.request(token, 'GET', '/settings/calls')).status, 403);
    assert.equal((await rig.request(token, 'PUT', '/settings/calls', INITIAL_CALL_SETTINGS)).status, 403);
  }
  for (const bad of [
    {},
    { ...INITIAL_CALL_SETTINGS, per_day: 0 },
    { ...INITIAL_CALL_SETTINGS, more: true },
    { ...INITIAL_CALL_SETTINGS, allowed: { ...INITIAL_CALL_SETTINGS.allowed, user: ['feature_code'] } },
    { ...INITIAL_CALL_SETTINGS, prefixes: [{ prefix: 'x', destination: 'national' }] },
    { ...INITIAL_CALL_SETTINGS, prefixes: [{ prefix: '0', destination: 'internal' }] },
  ]) {
    assert.equal(
      (await rig.request('token-admin', 'PUT', '/settings/calls', bad)).status,
      400,
      JSON.stringify(bad),
    );
  }
  const off = { ...INITIAL_CALL_SETTINGS, enabled: false };
  assert.equal((await rig.request('token-admin', 'PUT', '/settings/calls', off)).status, 200);
  rig.scene.device('1003', 'NOT_INUSE');
  const refused = await rig.post('token-agent', '', { to: '1004' });
  assert.deepEqual([refused.status, refused.body.code], [403, 'destination_not_allowed']);
  assert.deepEqual(
    rig.trail.map((l) => [l.action, l.outcome, l.actor, l.detail?.['code'] ?? null]),
    [
      ['calls.configure', 'ok', 'admin', null],
      ['calls.originate', 'refused', 'agent', 'destination_not_allowed'],
    ],
  );
  assert.equal((await rig.open()).settings().enabled, false, 'a service after this one has them too');
});

test('guard - emergency numbers with a route are always permitted and not counted', async () => {
  const { guard, kept } = guardWith({ enabled: false, per_minute: 1, per_day: 1 });
  for (const number of ['999', '03112', '999'])
    assert.equal(await guard.admit(actor('user'), '1003', number), 'emergency', number);
  await assert.rejects(guard.admit(actor('user'), '1003', '110'), refusal('no_route'));
  assert.deepEqual(kept, []);
});
