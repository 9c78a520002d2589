import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';
import { ADMIN, startProcess, startSite } from '../../../../test/support/applies-rig.ts';
import { FakeWorld } from '../../../../test/support/fake-engine-config.ts';
import { temporaryStore } from '../../../../test/conformance/store-temp.ts';
import { ServiceError } from '../../../core/errors.ts';
import { Draft } from '../draft.ts';
import { storedObject, withObjects } from '../model.ts';
import type { ObjectTables } from '../tables.ts';

const RESTORE = { comment: null, overwrite_drift: false, restart: 'no', discard_draft: true } as const;
async function restoreSite() {
  const temp = await temporaryStore();
  const rig = await startSite(temp.store);
  const put = async <K extends ConfigKind>(kind: K, key: string, change: Partial<ConfigBody<K>>) => {
    const before = rig.objects.draft().of(kind).get(key);
    const [made] =
      before === undefined
        ? await rig.objects.identify([storedObject(0, kind, { ...change } as ConfigBody<K>)])
        : [before];
    const object = storedObject(made!.id, kind, { ...before?.body, ...change } as ConfigBody<K>);
    await rig.objects.setDraft(withObjects(rig.objects.draft(), [{ kind, key, object }]), {
      author: '1001',
      at: 1,
    });
    assert.equal((await rig.applied()).state, 'applied');
  };
  const person = (extension: string) => rig.objects.applied().of('extension').get(extension)?.body;
  const restore = async (version: number) => {
    const { id } = await rig.applies.restore(ADMIN, version, RESTORE);
    await rig.applies.idle();
    const done = await rig.applies.one(id);
    assert.equal(done.state, 'applied', JSON.stringify(done));
  };
  const rows = () =>
    temp.store
      .db<ObjectTables>()
      .selectFrom('config_objects')
      .selectAll()
      .where('until_version', 'is not', null)
      .execute();
  return {
    ...rig,
    temp,
    put,
    person,
    restore,
    rows,
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

test('restore - the version restores its fields, except secrets, levels and the active flag', async () => {
  await using site = await restoreSite();
  const { put, person, restore, objects } = site;
  await put('extension', '1004', { name: 'Then', sip_password: 'leaked-long-ago', level: 'admin' });
  const then = objects.version;
  await put('extension', '1004', { name: 'Now', sip_password: 'held-today', level: 'agent', active: false });
  await restore(then);
  const { name, sip_password, level, active } = person('1004')!;
  assert.deepEqual(
    { name, sip_password, level, active },
    {
      name: 'Then',
      sip_password: 'held-today',
      level: 'agent',
      active: false,
    },
  );
});

test('restore - a deleted person is restored with new secrets and as a user', async () => {
  await using site = await restoreSite();
  const { put, person, restore, objects } = site;
  await put('extension', '1012', { sip_password: 'leaked-long-ago', voicemail_pin: '4711', level: 'admin' });
  const then = objects.version;
  await site.remove('1012');
  assert.equal((await site.applied()).state, 'applied');
  await restore(then);
  const back = person('1012')!;
  assert.equal(back.level, 'user');
  assert.match(back.sip_password ?? '', /^[\w-]{32}$/);
  assert.match(back.voicemail_pin ?? '', /^\d{6}$/);
});

test('restore - a trunk with another address is restored disabled and without the present password', async () => {
  await using site = await restoreSite();
  const { put, restore, objects } = site;
  const trunk = {
    name: 'carrier',
    title: 'Carrier',
    enabled: true,
    port: 5060,
    transport: 'udp',
    username: 'me',
    register: false,
    codecs: ['alaw'],
    outbound_number: null,
    show_extensions: false,
    max_calls: null,
  } as const;
  await put('trunk', 'carrier', { ...trunk, codecs: ['alaw'], host: 'old.example.com', password: 'once' });
  const then = objects.version;
  await put('trunk', 'carrier', { host: 'new.example.com', password: 'today' });
  const between = objects.version;
  await put('trunk', 'carrier', { title: 'Renamed' });
  const of = () => objects.applied().of('trunk').get('carrier')!.body;
  await restore(between);
  assert.deepEqual(
    [of().title, of().host, of().password, of().enabled],
    ['Carrier', 'new.example.com', 'today', true],
  );
  await restore(then);
  assert.deepEqual(
    [of().host, of().username, of().password, of().enabled],
    ['old.example.com', null, undefined, false],
  );
});

test('restore - former versions contain no secret, and their differences still show changed ones', async () => {
  await using site = await restoreSite();
  const { put, objects, applies, rows } = site;
  await put('extension', '1004', { sip_password: 'secret-number-one' });
  await put('extension', '1004', { sip_password: 'secret-number-two' });
  const renewed = objects.version;
  await put('extension', '1004', { name: 'Renamed' });
  assert.doesNotMatch(JSON.stringify(await rows()), /secret-number|sip_password":"[^(]/);
  const fields = async (version: number) =>
    (await applies.version(version)).objects.list.flatMap((o) => o.fields.map((f) => f.field));
  assert.deepEqual(await fields(renewed), ['sip_password']);
  assert.deepEqual(await fields(renewed + 1), ['name']);
});

test('restore - an engine that is away, or a change of the draft meanwhile, keeps the draft and begins no apply', async () => {
  await using temp = await temporaryStore();
  const world = new FakeWorld();
  let reach = (): Promise<void> => Promise.reject(new ServiceError('engine_unavailable', 'b is away'));
  const rig = await startProcess(world, temp.store, { engine: { ...world.config(), reach: () => reach() } });
  await using applies = rig.applies;
  await applies.start(false);
  world.boot();
  const named = () => rig.objects.draft().of('extension').get('1003')!.body.name;
  const restore = (discard_draft: boolean) =>
    applies.restore(ADMIN, rig.objects.version, { ...RESTORE, discard_draft });
  const original = named();
  await rig.rename('1003', 'Draft');
  await assert.rejects(restore(true), { code: 'engine_unavailable' });
  assert.equal(named(), 'Draft');

  await rig.rename('1003', original);
  reach = () => rig.rename('1003', 'Meanwhile');
  await assert.rejects(restore(false), { code: 'draft_not_empty' });
  assert.equal(named(), 'Meanwhile');
  assert.deepEqual((await applies.page({})).applies, []);
  assert.deepEqual(
    rig.audited.map(({ action, outcome, detail }) => [action, outcome, detail!['said']]),
    [
      ['config.restore', 'failed', 'b is away'],
      [
        'config.restore',
        'failed',
        'the draft has changes that are not applied; send discard_draft to discard them',
      ],
    ],
  );

  await restore(true);
  await applies.idle();
  assert.equal(named(), original);
  assert.equal((await applies.page({})).applies[0]?.state, 'applied');
});

test('restore - waits for a change of the draft under way, which does not bring the discarded draft back', async () => {
  await using temp = await temporaryStore();
  const [waits, changing, change] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const rig = await startSite(temp.store, {
    alone: (work) => {
      waits!.resolve();
      return draft.alone(work);
    },
  });
  const { applies, audited, objects } = rig;
  const draft = new Draft({
    objects: {
      ...objects,
      identify: async (added) => {
        changing!.resolve();
        await change!.promise;
        return await objects.identify(added);
      },
    },
    audit: { record: async () => {}, recordIn: async () => {} },
    clock: { now: () => 1, sleep: () => Promise.resolve() },
    house: { codes: new Map() },
  });
  const original = objects.applied().of('extension').get('1003')!.body.name;
  await rig.rename('1003', 'Discarded');
  const changed = draft.change(ADMIN, [
    { op: 'create', kind: 'holidays', object: { name: 'added', title: 'Added', days: [] } },
  ]);
  await changing!.promise;
  const restored = applies.restore(ADMIN, objects.version, RESTORE);
  await waits!.promise;
  change!.resolve();
  await changed;
  await restored;
  await applies.idle();
  assert.equal(objects.draft().of('extension').get('1003')!.body.name, original);
  assert.equal(objects.draft().of('holidays').size, 0);
  assert.deepEqual(
    audited.map(({ action, outcome }) => [action, outcome]),
    [
      ['config.restore', 'ok'],
      ['config.applied', 'ok'],
    ],
  );
  await applies.close();
});
