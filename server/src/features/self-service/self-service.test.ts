import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { FeaturesChange } from '@offhook/contract/features.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import type { ExtensionFeatures } from '../../ports/engine-state.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Store } from '../../ports/store.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { createFakePbx } from '../../../test/support/fake-engine.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { createSelfService } from './service.ts';
import type { SelfService } from './service.ts';

const OFF = {
  dnd_enabled: false,
  call_forward_number: '',
  cf_busy_number: '',
  cf_noanswer_number: '',
  cf_noanswer_timeout: 20,
  allowed_phone_mode: 'all',
} as const;
const actor = (extension: string, level: 'user' | 'supervisor' = 'user'): Actor => ({
  caller: {
    session_id: 1,
    person_id: 1,
    extension,
    username: `u${extension}`,
    expires_at: 0,
    cookie: false,
    level,
    key: null,
  },
  ip: '127.0.0.1',
});

async function rig(t: TestContext) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-self-service-'));
  const clock = createVirtualClock();
  const pbx = createFakePbx(clock);
  const directory = directoryFixture();
  const refuse = { store: false };
  const real = await openTestStore(path.join(folder, 'offhook.db'));
  const store: Store = {
    ...real,
    transaction: (work) =>
      refuse.store
        ? Promise.reject(new ServiceError('store_unavailable', 'the disk is full'))
        : real.transaction(work),
  };
  const trail: AuditEntry[] = [];
  const audit = {
    record(entry: AuditEntry) {
      trail.push(entry);
      return Promise.resolve();
    },
    recordIn: (_trx: unknown, entry: AuditEntry) => audit.record(entry),
  };
  const begin = (): Promise<SelfService> =>
    createSelfService({
      engine: pbx.engine,
      live: pbx.live,
      directory,
      isPlace: (number) => number === '800',
      mayForwardOutside: (extension) => extension === '1004',
      destinationOf: (number) => (number.startsWith('0900') ? 'premium' : 'national'),
      store,
      audit,
      clock,
      log: silent,
    });
  const r = {
    clock,
    pbx,
    directory,
    refuse,
    trail,
    service: await begin(),
    set: (change: FeaturesChange, extension = '1005', by = actor(extension)) =>
      r.service.change(by, extension, change),
    shown: (extension = '1005') => r.service.read(actor(extension).caller, extension),
    /** Rows in the engine's store that differ from the defaults. */
    kept: (extension = '1005') => {
      const { changed_at: _time, ...values } = pbx.kept.get(extension)!;
      return values;
    },
    fails: async (change: FeaturesChange, extension?: string, by?: Actor): Promise<string> => {
      try {
        await r.set(change, extension, by);
      } catch (error) {
        if (error instanceof ServiceError) return error.code;
        throw error;
      }
      return 'done';
    },
    /** Compares with the engine and waits until idle, like the loop after every batch. */
    async settle() {
      r.service.onStepped();
      await r.service.idle();
    },
    async restart(between: () => void = () => {}) {
      await r.service.close();
      pbx.linkDown();
      between();
      pbx.serviceRestarts();
      r.service = await begin();
      pbx.linkUp();
      await r.settle();
    },
  };
  t.after(async () => {
    await r.service.close();
    await real.close();
    await rm(folder, { recursive: true, force: true });
  });
  pbx.linkUp();
  await r.settle();
  return r;
}

test('self-service - a setting that is already set is confirmed by the engine', async (t) => {
  const r = await rig(t);
  await r.set({ dnd_enabled: true });
  const sent = r.pbx.sentFeatures.length;
  for (const code of ['engine_timeout', 'engine_unavailable'] as const) {
    r.pbx.onRoundTrip(() => Promise.reject(new ServiceError(code, 'stopped, and still shown as connected')));
    assert.equal(await r.fails({ dnd_enabled: true }), code);
  }
  r.pbx.onRoundTrip(() => r.pbx.keeps('1005', { dnd: false, changed_at: r.clock.now() + 1 }));
  assert.equal(await r.fails({ dnd_enabled: true }), 'done');
  assert.equal(r.kept().dnd, true, 'switched off by a phone meanwhile');
  assert.equal(r.pbx.sentFeatures.length, sent + 1);
});

test('self-service - a change succeeds when the engine shows it, and only changed fields are sent', async (t) => {
  const r = await rig(t);
  assert.deepEqual(r.shown(), { extension: '1005', ...OFF });
  const features = await r.set({ dnd_enabled: true, cf_noanswer_timeout: 30 });
  assert.deepEqual(features, { extension: '1005', ...OFF, dnd_enabled: true, cf_noanswer_timeout: 30 });
  assert.deepEqual(r.pbx.sentFeatures.at(-1)?.changes, { dnd: true, ring_seconds: 30 });
  assert.deepEqual(
    r.trail.map((e) => [e.action, e.object, e.outcome]),
    [['features.change', '1005', 'ok']],
  );
  await r.set({ dnd_enabled: true });
  assert.equal(r.pbx.sentFeatures.length, 1, 'a repeat sends nothing');
  await r.set({ dnd_enabled: false });
  const [one, two] = r.pbx.sentFeatures;
  assert.ok(two!.changed_at > one!.changed_at, 'later also in the same millisecond');
});

test('self-service - invalid changes are refused with their code, not sent, and audited', async (t) => {
  const r = await rig(t);
  for (const [extension, number, code] of [
    ['1005', '1005', 'invalid_request'],
    ['1005', '1099', 'no_route'],
    ['1005', '600', 'no_route'],
    ['1005', '1006', 'done'],
    ['1005', '500', 'done'],
    ['1005', '800', 'done'],
  ] as const) {
    for (const field of ['call_forward_number', 'cf_busy_number', 'cf_noanswer_number'] as const) {
      const before = r.pbx.sentFeatures.length;
      assert.equal(await r.fails({ [field]: number }, extension), code, `${field} ${number}`);
      if (code === 'done') continue;
      assert.equal(r.pbx.sentFeatures.length, before);
      assert.deepEqual([r.trail.at(-1)?.outcome, r.trail.at(-1)?.detail?.['code']], ['refused', code]);
    }
  }
  r.directory.change('1006', { active: false });
  assert.equal(await r.fails({ call_forward_number: '1006' }, '1004'), 'no_route');
  assert.equal(await r.fails({ dnd_enabled: true }, '1002', actor('1005')), 'forbidden');
  assert.equal(await r.fails({ dnd_enabled: true }, '', actor('')), 'forbidden');
  assert.equal(await r.fails({ dnd_enabled: true }, '1999', actor('1002', 'supervisor')), 'not_found');
  assert.equal(await r.fails({ dnd_enabled: true }, '1005', actor('1002', 'supervisor')), 'done');
  assert.equal(r.trail.at(-1)?.actor, 'u1002');
});

test('self-service - a change by phone is adopted, at once and after a restart of service or engine', async (t) => {
  const r = await rig(t);
  r.pbx.keeps('1005', { dnd: true, changed_at: r.clock.now() });
  assert.equal(r.shown().dnd_enabled, true, 'read before the service adopted it');
  await r.settle();
  await r.restart();
  assert.equal(r.shown().dnd_enabled, true);
  assert.equal(r.pbx.sentFeatures.length, 0);
  await r.clock.advance(10);
  await r.restart(() =>
    r.pbx.kept.set('1005', { ...r.pbx.kept.get('1005')!, dnd: false, changed_at: r.clock.now() }),
  );
  assert.equal(r.shown().dnd_enabled, false, 'a change by phone while the service was away is newer');
  assert.equal(r.pbx.sentFeatures.length, 0);
});

test('self-service - a change that the engine lost is restored, with the service running or stopped', async (t) => {
  const r = await rig(t);
  const lost = (): void => {
    r.pbx.kept.delete('1005');
  };
  await r.set({ dnd_enabled: true, cf_busy_number: '1006' });
  const meant = r.kept();
  r.pbx.linkDown();
  assert.equal(r.shown().dnd_enabled, true);
  r.pbx.linkUp({ restarted: true, change: lost });
  await r.settle();
  assert.deepEqual(r.kept(), meant);
  await r.restart(lost);
  assert.deepEqual(r.kept(), meant);
  // Only the time was lost; the lamp may be lost too.
  const sent = r.pbx.sentFeatures.length;
  await r.restart(() => r.pbx.kept.set('1005', { ...r.pbx.kept.get('1005')!, changed_at: 0 }));
  assert.equal(r.pbx.sentFeatures.length, sent + 1);
  await r.restart();
  assert.equal(r.pbx.sentFeatures.length, sent + 1);
  // Written by hand, without a time.
  await r.restart(() => r.pbx.kept.set('1005', { ...r.pbx.kept.get('1005')!, forward: '1006' }));
  assert.deepEqual(r.kept(), meant);
});

test('self-service - an interrupted change is an error, and the former settings are restored', async (t) => {
  const r = await rig(t);
  await r.set({ cf_busy_number: '1006' });
  const before = r.kept();
  for (const how of ['half', 'done-cut', 'cut'] as const) {
    r.pbx.scriptFeatures(() => how);
    assert.equal(await r.fails({ dnd_enabled: true }), 'engine_unavailable', how);
    assert.equal(r.trail.at(-1)?.outcome, 'failed');
    assert.equal(r.shown().dnd_enabled, false);
    r.pbx.scriptFeatures(() => 'ok');
    r.pbx.linkDown();
    r.pbx.linkUp();
    await r.settle();
    assert.deepEqual(r.kept(), before, how);
  }
  r.pbx.scriptFeatures(() => ({ refuse: 'no' }));
  assert.equal(await r.fails({ dnd_enabled: true }), 'engine_refused');
  r.pbx.linkDown();
  assert.equal(await r.fails({ dnd_enabled: true }), 'engine_unavailable');
  assert.equal(r.shown().dnd_enabled, false);
});

test('self-service - after an interrupted change and a kill, the next service restores the former settings', async (t) => {
  const r = await rig(t);
  await r.set({ cf_busy_number: '1006' });
  const before = r.kept();
  await r.restart(() => r.pbx.kept.set('1005', { ...r.pbx.kept.get('1005')!, dnd: true }));
  assert.deepEqual(r.kept(), before, 'a change without a written time does not count');
});

test('self-service - with a full disk a change is an error and undone; the change of a code stays and is stored later', async (t) => {
  const r = await rig(t);
  r.refuse.store = true;
  assert.equal(await r.fails({ dnd_enabled: true }), 'store_unavailable');
  r.service.onStepped();
  while (r.pbx.kept.get('1005')?.dnd === true) await new Promise((done) => setImmediate(done));
  assert.equal(r.shown().dnd_enabled, false);
  r.pbx.keeps('1006', { dnd: true, changed_at: r.clock.now() });
  r.service.onStepped();
  assert.equal(r.shown('1006').dnd_enabled, true);
  r.refuse.store = false;
  await r.clock.advance(60_000);
  await r.settle();
  await r.restart(() => r.pbx.kept.clear());
  assert.equal(r.pbx.kept.get('1006')?.dnd, true);
});

test('self-service - changes of codes that wait for the database are stored when the service ends', async (t) => {
  const r = await rig(t);
  r.refuse.store = true;
  for (const extension of ['1004', '1006']) r.pbx.keeps(extension, { dnd: true, changed_at: r.clock.now() });
  r.service.onStepped();
  await r.clock.advance(0);
  r.refuse.store = false;
  await r.restart(() => r.pbx.kept.clear());
  assert.deepEqual([r.pbx.kept.get('1004')?.dnd, r.pbx.kept.get('1006')?.dnd], [true, true]);
});

test('self-service - a number of an emergency route is no target of a forward, whatever the number plan says', async (t) => {
  const r = await rig(t);
  r.directory.leadsOut = () => true;
  r.directory.isEmergency = (number) => number === '144';
  assert.equal(await r.fails({ call_forward_number: '144' }, '1004'), 'destination_not_allowed');
  assert.equal(await r.fails({ call_forward_number: '145' }, '1004'), 'done');
});

test('self-service - a forward by phone to a premium number is removed; one without a route stays', async (t) => {
  const r = await rig(t);
  r.directory.leadsOut = (number) => number.startsWith('0');
  r.pbx.keeps('1004', { forward: '0900123', forward_busy: '030123', changed_at: r.clock.now() });
  r.pbx.keeps('1005', { forward: '1099', forward_busy: '030123', changed_at: r.clock.now() });
  await r.settle();
  assert.deepEqual([r.kept('1004').forward, r.kept('1004').forward_busy], ['', '030123']);
  assert.deepEqual([r.kept('1005').forward, r.kept('1005').forward_busy], ['1099', '']);
  assert.equal(await r.fails({ cf_noanswer_number: '0900123' }, '1004'), 'destination_not_allowed');
  assert.equal(await r.fails({ cf_noanswer_number: '030123' }, '1005'), 'destination_not_allowed');
  assert.equal(await r.fails({ cf_noanswer_number: '030123' }, '1004'), 'done');
});

test('self-service - changes of one extension run one after the other, with a limit of waiting ones', async (t) => {
  const r = await rig(t);
  const codes = await Promise.all(
    Array.from({ length: 40 }, (_, i) => r.fails({ cf_noanswer_timeout: 5 + i })),
  );
  const done = codes.filter((code) => code === 'done').length;
  assert.ok(
    done >= 10 && done < 40 && codes.slice(0, done).every((code) => code === 'done'),
    codes.join(' '),
  );
  assert.ok(codes.slice(done).every((code) => code === 'too_many_requests'));
  assert.equal(r.shown().cf_noanswer_timeout, 4 + done, 'the last accepted change');
});

test('self-service - a change by code between reading and writing is kept', async (t) => {
  const r = await rig(t);
  r.pbx.scriptFeatures(() => {
    const now: Partial<ExtensionFeatures> = { dnd: true, changed_at: r.clock.now() };
    r.pbx.keeps('1005', now);
    return 'ok';
  });
  await r.set({ cf_busy_number: '1006' });
  r.pbx.scriptFeatures(() => 'ok');
  await r.settle();
  assert.deepEqual([r.kept().dnd, r.kept().forward_busy], [true, '1006']);
  assert.deepEqual([r.shown().dnd_enabled, r.shown().cf_busy_number], [true, '1006']);
});

test('self-service - a change by code that was read before the write does not confirm the write', async (t) => {
  const r = await rig(t);
  const written = { ...FEATURES_OFF, dnd: true, forward: '1006' };
  Object.assign(r.pbx.engine, {
    keepFeatures(extension: string, _changes: unknown, changed_at: number) {
      r.pbx.keeps(extension, { dnd: true, changed_at: changed_at + 1_000 });
      const stored = { ...written, changed_at };
      setImmediate(() => r.pbx.keeps(extension, stored));
      return Promise.resolve(stored);
    },
  });
  await r.set({ call_forward_number: '1006' });
  assert.deepEqual([r.shown().dnd_enabled, r.shown().call_forward_number], [true, '1006']);
  await r.settle();
  assert.equal(r.kept().forward, '1006');
});

test('self-service - the first change of a new holder takes over no forward that the engine still has', async (t) => {
  const r = await rig(t);
  await r.set({ call_forward_number: '1006' });
  await r.clock.advance(1_000);
  let writes = 0;
  r.pbx.scriptFeatures(() => ((writes += 1) === 1 ? { refuse: 'not now' } : 'ok'));
  r.directory.give('1005', r.clock.now());
  await r.set({ dnd_enabled: true });
  assert.equal(writes, 2);
  assert.deepEqual([r.kept().dnd, r.kept().forward], [true, '']);
  assert.deepEqual(r.shown(), { extension: '1005', ...OFF, dnd_enabled: true });
});

test('self-service - a new holder of an extension starts without the settings of the former one', async (t) => {
  const r = await rig(t);
  await r.set({ dnd_enabled: true, call_forward_number: '1006' });
  const person = r.directory.byExtension('1005')!;
  r.directory.remove('1005');
  await r.service.idle();
  assert.deepEqual([r.kept().dnd, r.kept().forward], [false, '']);
  r.directory.put(person);
  await r.restart();
  assert.deepEqual(r.shown(), { extension: '1005', ...OFF });
});

test('self-service - a direct change of the holder inherits no forward, also after a restart', async (t) => {
  const r = await rig(t);
  await r.set({ dnd_enabled: true, call_forward_number: '1006' });
  await r.clock.advance(1_000);
  r.directory.give('1005', r.clock.now());
  assert.deepEqual(r.shown(), { extension: '1005', ...OFF }, 'also before the engine cleared it');
  await r.service.idle();
  assert.deepEqual([r.kept().dnd, r.kept().forward], [false, '']);
  await r.clock.advance(1_000);
  await r.set({ call_forward_number: '1004' });
  await r.settle();
  await r.restart();
  assert.equal(r.shown().call_forward_number, '1004', 'the forward of the new holder stays');
  await r.restart(() => r.directory.give('1005', r.clock.now() + 1_000));
  assert.deepEqual(r.shown(), { extension: '1005', ...OFF });
  assert.equal(r.kept().forward, '');
});

test('self-service - a change of a holder whose clock is behind the start of the holder stays', async (t) => {
  const r = await rig(t);
  r.directory.give('1005', r.clock.now() + 60_000);
  await r.set({ call_forward_number: '1004' });
  await r.settle();
  assert.equal(r.shown().call_forward_number, '1004');
  assert.equal(r.kept().forward, '1004');
});
