import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { PresenceChange } from '@offhook/contract/presence.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import { extensionSubject, numberSubject } from '../../numbers/subject.ts';
import type { PresenceSaid } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { createFakePbx } from '../../../test/support/fake-engine.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { until } from '../../../test/support/until.ts';
import { Presence } from './service.ts';
import { createPresenceStore } from './store.ts';

const actor = (extension: string): Actor => ({
  caller: {
    session_id: 1,
    person_id: 1,
    extension,
    username: `u${extension}`,
    expires_at: 0,
    cookie: false,
    level: 'user',
    key: null,
  },
  ip: '127.0.0.1',
});
const NOTHING = { personal: 'not_set', note: null, expires_at: null };
const HOUR = 3_600_000;

async function rig(t: TestContext) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-presence-'));
  const clock = createVirtualClock();
  const pbx = createFakePbx(clock);
  const directory = directoryFixture();
  const fails = { engine: false, store: false };
  const real = await openTestStore(path.join(folder, 'offhook.db'));
  const store = {
    ...real,
    db: () =>
      new Proxy(real.db(), {
        get(db, key) {
          if (fails.store) throw new ServiceError('store_unavailable', 'the disk is full');
          const value: unknown = Reflect.get(db, key);
          return typeof value === 'function' ? (value.bind(db) as unknown) : value;
        },
      }),
  } as typeof real;
  const told: PresenceSaid[] = [];
  const set: [string | null, string, boolean][] = [];
  const doNotDisturb = {
    isOn: (extension: string) => pbx.kept.get(extension)?.dnd === true,
    set(by: Actor | null, extension: string, on: boolean) {
      if (fails.engine) return Promise.reject(new ServiceError('engine_unavailable', 'the link is down'));
      set.push([by?.caller.username ?? null, extension, on]);
      pbx.keeps(extension, { dnd: on });
      return Promise.resolve();
    },
  };
  const begin = async () => {
    const { live } = pbx;
    const tell = (input: PresenceSaid): void => {
      told.push(input);
      pbx.tell(input);
    };
    const service = await Presence.open({ store, clock, log: silent, directory, live, doNotDisturb, tell });
    service.begin();
    return service;
  };
  pbx.linkUp();
  for (const extension of ['1005', '1006']) pbx.deviceState(extension, 'NOT_INUSE');
  const r = {
    clock,
    pbx,
    directory,
    fails,
    set,
    told,
    service: await begin(),
    say: (change: object, extension = '1005') =>
      r.service.change(actor(extension), PresenceChange.parse(change)),
    own: (extension = '1005') => r.service.read(actor(extension).caller),
    /** Presence as other persons see it. */
    shown(extension = '1005') {
      const { personal, note, expires_at, summary } = pbx.live.extension(extension)!;
      return [personal, note, expires_at === null ? null : expires_at - clock.now(), summary];
    },
    in: (ms: number) => new Date(clock.now() + ms).toISOString(),
    saved: async () => Object.fromEntries(await (await createPresenceStore(real)).load(() => null)),
    /** Removes the persons, which an earlier version did not store. */
    asEarlier: async (): Promise<void> => {
      const stored = await createPresenceStore(real);
      for (const [extension, statement] of await stored.load(() => null))
        await stored.save(extension, { ...statement, person: null });
    },
    /** Waits until exactly these are on disk, where a statement ends last. */
    async keepsOnly(...extensions: string[]) {
      let kept: string[] = [];
      await until(
        `statements of ${extensions.join(', ') || 'nobody'} only`,
        async () => {
          kept = Object.keys(await r.saved()).toSorted();
          return isDeepStrictEqual(kept, extensions);
        },
        { seen: () => kept },
      );
    },
    async restart(between: () => Promise<void> | void = () => {}) {
      await r.service.close();
      await between();
      r.service = await begin();
      await clock.advance(0);
    },
    code: async (change: object): Promise<string> => {
      try {
        await r.say(change);
      } catch (error) {
        if (error instanceof ServiceError) return error.code;
        throw error;
      }
      return 'done';
    },
  };
  t.after(async () => {
    await r.service.close();
    await real.close();
    await rm(folder, { recursive: true, force: true });
  });
  return r;
}

test('presence - a person’s status is published at once, with its note, until it expires', async (t) => {
  const r = await rig(t);
  assert.deepEqual(r.own(), NOTHING);
  const until = r.in(HOUR);
  const said = await r.say({ personal: 'away', note: 'At lunch', expires_at: until });
  assert.deepEqual(said, { personal: 'away', note: 'At lunch', expires_at: until });
  assert.deepEqual(r.own(), said);
  assert.deepEqual(r.shown(), ['away', 'At lunch', HOUR, 'away']);
  const event = r.pbx.published.findLast((e) => e.type === 'presence.changed');
  assert.equal(event?.subject, 'presence/1005');
  assert.ok(event?.type === 'presence.changed');
  assert.deepEqual([event.data.note, event.data.expires_at], ['At lunch', until]);
  await r.clock.advance(HOUR - 1);
  assert.deepEqual(r.shown(), ['away', 'At lunch', 1, 'away']);
  await r.clock.advance(1);
  assert.deepEqual(r.shown(), ['not_set', null, null, 'available']);
  assert.deepEqual(r.own(), NOTHING);
  await r.keepsOnly();
});

test('presence - a note alone changes neither the summary nor `since`', async (t) => {
  const r = await rig(t);
  const { since } = r.pbx.live.extension('1005')!;
  await r.clock.advance(1_000);
  await r.say({ personal: 'not_set', note: 'Room 12' });
  assert.deepEqual(r.shown(), ['not_set', 'Room 12', null, 'available']);
  assert.equal(r.pbx.live.extension('1005')!.since, since);
  const { length } = r.pbx.published;
  await r.say({ personal: 'not_set', note: 'Room 12' });
  assert.equal(r.pbx.published.length, length, 'an unchanged status publishes nothing');
  await r.say({ personal: 'not_set' });
  assert.deepEqual(r.shown(), ['not_set', null, null, 'available']);
});

test('presence - it survives a restart of the service and of the model, unless it has expired', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'xa', note: 'In Ankara', expires_at: r.in(40 * 24 * HOUR) });
  await r.say({ personal: 'chat', expires_at: r.in(HOUR) }, '1006');
  await r.restart(() => {
    r.pbx.linkDown();
    r.pbx.serviceRestarts();
  });
  assert.deepEqual(r.shown().slice(0, 2), ['xa', 'In Ankara'], 'before the engine is connected');
  r.pbx.linkUp();
  assert.deepEqual(r.shown().slice(0, 2), ['xa', 'In Ankara']);
  assert.equal(r.shown('1006')[0], 'chat');
  await r.restart(() => r.clock.advance(HOUR));
  assert.deepEqual(r.shown('1006').slice(0, 3), ['not_set', null, null]);
  await r.keepsOnly('1005');
  await r.clock.advance(40 * 24 * HOUR);
  await until('the end of the other one', () => r.shown()[0] === 'not_set');
});

test('presence - do not disturb equals that of the code: set, ended, and ended by its expiry', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'dnd', note: 'Board', expires_at: r.in(HOUR) });
  assert.deepEqual(r.shown().slice(0, 3), ['dnd', 'Board', HOUR]);
  assert.equal(r.own().personal, 'dnd');
  await r.clock.advance(HOUR);
  assert.deepEqual(r.shown().slice(0, 3), ['not_set', null, null]);
  assert.deepEqual(r.set, [
    ['u1005', '1005', true],
    [null, '1005', false],
  ]);
  await r.say({ personal: 'dnd' });
  await r.say({ personal: 'away' });
  assert.equal(r.shown()[0], 'away');
  assert.equal(r.pbx.kept.get('1005')?.dnd, false, 'another status ends it');
  r.pbx.keeps('1005', { dnd: true });
  assert.deepEqual(
    [r.shown()[0], r.own().personal],
    ['dnd', 'dnd'],
    'do not disturb set by a phone replaces the status',
  );
  r.pbx.keeps('1005', { dnd: false });
  assert.equal(r.shown()[0], 'away');
});

test('presence - do not disturb ended by a phone is not ended again at its time', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'dnd', note: 'Board', expires_at: r.in(HOUR) });
  r.pbx.keeps('1005', { dnd: false });
  const { length } = r.told;
  r.service.onStepped();
  await until('the end of do not disturb to be stored', () => r.told.length > length);
  assert.deepEqual(r.own(), { personal: 'not_set', note: 'Board', expires_at: r.in(HOUR) });
  r.pbx.keeps('1005', { dnd: true });
  r.service.onStepped();
  await r.clock.advance(HOUR);
  assert.deepEqual(r.shown().slice(0, 2), ['dnd', null], 'the newer do not disturb has no expiry');
});

test('presence - without the engine, the status ends on time, and do not disturb ends once the engine is back', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'dnd', note: 'Board', expires_at: r.in(HOUR) });
  r.fails.engine = true;
  await r.clock.advance(HOUR);
  assert.deepEqual(r.shown().slice(0, 2), ['dnd', null]);
  await r.restart();
  r.fails.engine = false;
  await r.clock.advance(5_000);
  assert.deepEqual(r.shown().slice(0, 2), ['not_set', null]);
  await r.keepsOnly();
});

test('presence - a failed write changes nothing', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'away', note: 'Out' });
  r.fails.engine = true;
  assert.equal(await r.code({ personal: 'dnd' }), 'engine_unavailable');
  assert.deepEqual(r.shown().slice(0, 2), ['away', 'Out']);
  r.fails.engine = false;
  r.fails.store = true;
  assert.equal(await r.code({ personal: 'dnd', note: 'x' }), 'store_unavailable');
  assert.deepEqual(r.shown().slice(0, 2), ['away', 'Out']);
  assert.deepEqual(r.set.at(-1), ['u1005', '1005', false], 'restored');
});

test('presence - invalid times and notes are refused', async (t) => {
  const r = await rig(t);
  for (const expires_at of [r.in(0), r.in(-1), r.in(367 * 24 * HOUR)]) {
    assert.equal(await r.code({ personal: 'away', expires_at }), 'invalid_request', expires_at);
  }
  assert.equal(await r.code({ personal: 'not_set', expires_at: r.in(HOUR) }), 'invalid_request');
  assert.throws(() => r.service.read(actor('').caller), { code: 'forbidden' });
  for (const note of ['', ' ', 'a\nb', 'a\0', '\u202Etxt', '\u2028', 'x'.repeat(141)]) {
    assert.equal(PresenceChange.safeParse({ personal: 'away', note }).success, false, JSON.stringify(note));
  }
  for (const note of ['<b>back</b> "at" 5', 'Öğle yemeği 🥗', '👩‍💻', 'x'.repeat(140)]) {
    assert.equal(PresenceChange.safeParse({ personal: 'away', note }).success, true, note);
  }
  for (const body of [
    {},
    { personal: 'lunch' },
    { personal: 'away', until: 1 },
    { personal: 'away', note: 5 },
  ]) {
    assert.equal(PresenceChange.safeParse(body).success, false, JSON.stringify(body));
  }
});

test('presence - the next holder of a number starts without a status', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'away', note: 'Out' });
  const eve = r.directory.byExtension('1005')!;
  r.directory.remove('1005');
  r.directory.put({ ...eve, id: 99 });
  assert.deepEqual(r.own(), NOTHING, 'also before the statement has been deleted');
  await until('colleagues see no status', () => r.shown()[0] === 'not_set');
  await r.keepsOnly();
  await r.say({ personal: 'chat', note: null });
  await r.restart();
  assert.equal(r.own().personal, 'chat');
  r.directory.remove('1005');
  await r.clock.advance(0);
  await r.keepsOnly();
});

test('presence - a status stored by an earlier version is that of the present holder', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'away', note: 'Out' });
  await r.restart(r.asEarlier);
  assert.equal(r.own().note, 'Out');
  const eve = r.directory.byExtension('1005')!;
  r.directory.remove('1005');
  r.directory.put({ ...eve, id: 99 });
  assert.deepEqual(r.own(), NOTHING);
  await r.keepsOnly();
});

test('presence - a status stored by an earlier version ends with its holder, also where no service runs then', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'away', note: 'Out' });
  await r.say({ personal: 'away', note: 'Up' }, '1006');
  await r.restart(r.asEarlier);
  const eve = r.directory.byExtension('1005')!;
  assert.equal((await r.saved())['1005']?.person, eve.id);
  await r.restart(() => {
    r.directory.remove('1005');
    r.directory.put({ ...eve, id: 99 });
  });
  assert.deepEqual(r.own(), NOTHING);
  assert.equal(r.own('1006').note, 'Up', 'its holder is the same');
  await r.keepsOnly('1006');
});

test('presence - do not disturb of the former holder ends when the holder changes', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'dnd', note: 'Board' });
  const eve = r.directory.byExtension('1005')!;
  r.directory.remove('1005');
  r.directory.put({ ...eve, id: 99 });
  await r.keepsOnly();
  assert.equal(r.pbx.kept.get('1005')?.dnd, false);
  assert.deepEqual(r.shown().slice(0, 2), ['not_set', null]);
});

test('presence - a note is exported and erased with its person, and with a number in it', async (t) => {
  const r = await rig(t);
  await r.say({ personal: 'away', note: 'Call 030 901820' });
  await r.say({ personal: 'not_set', note: 'At 1005' }, '1006');
  const { data } = r.service;
  const { signal } = new AbortController();
  const number = numberSubject('+49 30 901820', 'DE')!;
  const about = async (subject: typeof number) => {
    const all = [];
    for await (const known of data.collect!(subject, [], signal)) all.push(known);
    return all;
  };
  assert.equal((await about(number)).length, 1);
  assert.deepEqual(await data.count(number, signal), { presence_notes: 1 });
  assert.deepEqual(await data.erase(number, 'erased-7', signal), { presence_notes: 1 });
  assert.deepEqual([r.shown()[1], await data.count(number, signal)], ['Call erased-7', {}]);
  const person = extensionSubject('1005');
  assert.deepEqual(
    (await about(person)).map((known) => known.value),
    [{ extension: '1005', personal: 'away', note: 'Call erased-7', expires_at: null }],
  );
  assert.deepEqual(await data.erase(person, 'erased-8', signal), { presence_notes: 1 });
  assert.deepEqual(r.shown().slice(0, 2), ['away', null]);
  assert.deepEqual(r.shown('1006')[1], 'At 1005', 'notes of other persons stay');
  assert.equal((await r.saved())['1005']?.note, null);
});
