import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import type { Store } from '../../ports/store.ts';
import { allObjects, difference, storedObject, withObjects } from './model.ts';
import type { Model, ObjectChange } from './model.ts';
import { newIdentity, openObjects, writeVersion } from './objects.ts';
import type { ObjectStore } from './objects.ts';
import { seed } from './seed.ts';
import { migrations } from './tables.ts';
import type { ObjectTables } from './tables.ts';

const by = { author: 'defne', comment: null, at: 1 };
const plain = (model: Model): string[] => [...allObjects(model)].map((o) => `${o.id} ${o.key} ${o.etag}`);
async function empty(): Promise<AsyncDisposable & { store: Store }> {
  const temp = await temporaryStore();
  await temp.store.migrate('pbx-config', migrations);
  return temp;
}
const holidays = (name: string, title: string) => ({ name, title, days: [] });
async function put(objects: ObjectStore, name: string, title: string | null): Promise<Model> {
  const kind = 'holidays';
  const old = objects.draft().of(kind).get(name);
  const object =
    title === null
      ? null
      : old === undefined
        ? (await objects.identify([storedObject(0, kind, holidays(name, title))]))[0]!
        : storedObject(old.id, kind, holidays(name, title));
  return withObjects(objects.draft(), [{ kind, key: name, object }]);
}

test('objects - the draft survives a restart and the applied version stays unchanged', async () => {
  await using temp = await empty();
  const objects = await openObjects(temp.store);
  await objects.setDraft(await put(objects, 'a', 'One'), by);
  await objects.setDraft(await put(objects, 'b', 'Two'), by);
  assert.equal(objects.applied().of('holidays').size, 0);
  const again = await openObjects(temp.store);
  assert.deepEqual(plain(again.draft()), plain(objects.draft()));
  assert.equal(await again.commit(again.draft(), by), 1);
  await again.setDraft(await put(again, 'a', null), by);
  const third = await openObjects(temp.store);
  assert.deepEqual(
    [[...third.applied().of('holidays').keys()], [...third.draft().of('holidays').keys()]],
    [['a', 'b'], ['b']],
  );
});

test('objects - listeners hear each stored change of the draft, with the number of its differences', async () => {
  await using temp = await empty();
  const objects = await openObjects(temp.store);
  const heard: unknown[] = [];
  const stop = objects.onDraft((author, total) => heard.push([author, total]));
  await objects.setDraft(await put(objects, 'a', 'One'), by);
  await objects.setDraft(await put(objects, 'b', 'Two'), by);
  await objects.commit(objects.draft(), by);
  await objects.setDraft(await put(objects, 'a', null), by);
  const refused = objects.setDraft(objects.applied(), by, () => Promise.reject(new Error('no')));
  await assert.rejects(refused);
  await objects.setDraft(objects.applied(), { ...by, author: 'ana' });
  stop();
  await objects.setDraft(await put(objects, 'c', 'Three'), by);
  assert.deepEqual(heard, [
    ['defne', 1],
    ['defne', 2],
    ['defne', 1],
    ['ana', 0],
  ]);
});

test('objects - changes of the draft during a commit stay in the draft', async () => {
  await using temp = await empty();
  const objects = await openObjects(temp.store);
  await objects.setDraft(await put(objects, 'a', 'One'), by);
  const seen = objects.draft();
  await objects.setDraft(await put(objects, 'a', 'Later'), by);
  await objects.setDraft(await put(objects, 'b', 'New'), by);
  await objects.commit(seen, by);
  const reopened = await openObjects(temp.store);
  for (const store of [objects, reopened]) {
    assert.equal(store.applied().of('holidays').get('a')?.body.title, 'One');
    assert.deepEqual(
      [...store.draft().of('holidays').values()].map((o) => o.body.title),
      ['Later', 'New'],
    );
  }
});

test('objects - a person is known since the first version, an extension held since the last change of person', async () => {
  await using temp = await empty();
  const kind = 'extension';
  const body = (key: string, name: string) => ({ extension: key, name }) as ConfigBody<typeof kind>;
  const objects = await openObjects(temp.store);
  const step = async (
    at: number,
    ...people: readonly (readonly [id: number, key: string, name: string])[]
  ) => {
    const changes = new Map<string, ObjectChange>();
    for (const key of objects.applied().of(kind).keys()) changes.set(key, { kind, key, object: null });
    for (const [id, key, name] of people)
      changes.set(key, { kind, key, object: storedObject(id, kind, body(key, name)) });
    const model = withObjects(objects.applied(), [...changes.values()]);
    await objects.commit(model, { ...by, at });
  };
  await step(100, [1, '1001', 'Ada']);
  await step(200, [1, '1001', 'Ada L.'], [2, '1002', 'Bo']);
  await step(300, [2, '1001', 'Bo']);
  for (const store of [objects, await openObjects(temp.store)]) {
    assert.deepEqual([store.knownSince(1), store.knownSince(2), store.knownSince(3)], [100, 200, 0]);
    assert.deepEqual([store.heldSince('1001'), store.heldSince('1002')], [300, 0]);
    assert.deepEqual([await store.holdersOf('1001'), await store.holdersOf('1009')], [[2, 1], []]);
  }
});

test('objects - the next person of an extension of the first start is no first holder, also on an upgraded site', async () => {
  const holders = '0230-pbx-config-holders';
  for (const upgraded of [false, true]) {
    await using temp = await temporaryStore();
    const before = migrations.filter(({ id }) => !upgraded || id < holders);
    await temp.store.migrate('pbx-config', before);
    await seed(temp.store, { empty: true, at: 100 });
    if (upgraded) {
      await temp.store.db<ObjectTables>().deleteFrom('config_holders').execute();
      await temp.store.migrate('pbx-config', migrations);
    }
    const objects = await openObjects(temp.store);
    assert.equal(objects.heldSince('1001'), 0);
    const kind = 'extension';
    const key = '1001';
    const first = objects.applied().of(kind).get(key)!;
    const [next] = await objects.identify([{ ...first, id: 0 }]);
    for (const [at, object] of [
      [200, null],
      [300, next!],
    ] as const) {
      const model = withObjects(objects.applied(), [{ kind, key, object }]);
      await objects.commit(model, { ...by, at });
    }
    assert.deepEqual([objects.heldSince(key), objects.knownSince(next!.id)], [300, 300], String(upgraded));
  }
});

test('objects - an upgrade takes the start of an extension from a second person that counted as the first', async () => {
  await using temp = await temporaryStore();
  const before = migrations.filter(({ id }) => id < '0230-pbx-config-holders');
  await temp.store.migrate('pbx-config', before);
  await seed(temp.store, { empty: true, at: 100 });
  await temp.store.db<ObjectTables>().deleteFrom('config_holders').execute();
  const kind = 'extension';
  const key = '1001';
  const row = await temp.store
    .db<ObjectTables>()
    .selectFrom('config_objects')
    .selectAll()
    .where('key', '=', key)
    .executeTakeFirstOrThrow();
  const next = await temp.store.transaction<ObjectTables, number>(async (trx) => {
    await writeVersion(trx, [{ kind, key, object: null }], { ...by, at: 200 });
    const id = await newIdentity(trx, kind, key);
    const body = JSON.parse(row.body) as ConfigBody<'extension'>;
    await writeVersion(trx, [{ kind, key, object: storedObject(id, kind, body) }], { ...by, at: 300 });
    return id;
  });
  // As on a site that deleted its oldest versions.
  await temp.store.db<ObjectTables>().deleteFrom('config_versions').where('at', '=', 100).execute();
  await temp.store.migrate('pbx-config', migrations);
  const holders = await temp.store.db<ObjectTables>().selectFrom('config_holders').selectAll().execute();
  assert.deepEqual(
    holders
      .filter(({ extension }) => extension === key)
      .map(({ person, since_ms }) => [Number(person), Number(since_ms)])
      .toSorted((a, b) => a[1]! - b[1]!),
    [
      [Number(row.id), 0],
      [next, 300],
    ],
  );
});

test('objects - after any changes, every version is readable with its ids', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.array(
          fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(fc.constantFrom('X', 'Y'), { nil: null })),
          {
            minLength: 1,
            maxLength: 4,
          },
        ),
        { minLength: 1, maxLength: 6 },
      ),
      async (versions) => {
        await using temp = await empty();
        const objects = await openObjects(temp.store);
        const snapshots: string[][] = [];
        for (const changes of versions) {
          for (const [name, title] of changes) await objects.setDraft(await put(objects, name, title), by);
          await objects.commit(objects.draft(), by);
          snapshots.push(plain(objects.applied()));
        }
        const reopened = await openObjects(temp.store);
        for (const [i, was] of snapshots.entries()) assert.deepEqual(plain((await reopened.at(i + 1))!), was);
        assert.equal(await reopened.at(snapshots.length + 1), null);
        assert.deepEqual(plain(reopened.draft()), snapshots.at(-1));
      },
    ),
    { numRuns: 25 },
  );
});

test('objects - a failure inside a commit changes neither memory nor store', async () => {
  await using temp = await empty();
  const objects = await openObjects(temp.store);
  await objects.setDraft(await put(objects, 'a', 'One'), by);
  const before = [objects.version, plain(objects.applied()), plain(objects.draft())];
  await assert.rejects(
    objects.commit(objects.draft(), by, () => Promise.reject(new Error('no room'))),
    /no room/,
  );
  const reopened = await openObjects(temp.store);
  for (const store of [objects, reopened])
    assert.deepEqual([store.version, plain(store.applied()), plain(store.draft())], before);
});

test('objects - a stored version is the applied one, even if the store fails right after its transaction', async () => {
  await using temp = await empty();
  let isAway = false;
  const objects = await openObjects({
    ...temp.store,
    db: <T>() =>
      temp.store.db<T>().withPlugin({
        transformQuery({ node }) {
          if (isAway) throw new Error('the store is away');
          return node;
        },
        transformResult: ({ result }) => Promise.resolve(result),
      }),
    async transaction(work) {
      const result = await temp.store.transaction(work);
      isAway = true;
      return result;
    },
  });
  const draft = await put(await openObjects(temp.store), 'a', 'One');
  assert.equal(await objects.commit(draft, by), 1);
  for (const store of [objects, await openObjects(temp.store)])
    assert.deepEqual([store.version, plain(store.applied())], [1, plain(draft)]);
});

test('objects - the difference of two models leads from one to the other', async () => {
  await using temp = await empty();
  const objects = await openObjects(temp.store);
  await objects.setDraft(await put(objects, 'a', 'One'), by);
  const one = objects.draft();
  await objects.setDraft(await put(objects, 'a', null), by);
  await objects.setDraft(await put(objects, 'b', 'Two'), by);
  const two = objects.draft();
  const changes: readonly ObjectChange[] = difference(one, two);
  assert.deepEqual(
    changes.map((c) => [c.key, c.object === null]),
    [
      ['b', false],
      ['a', true],
    ],
  );
  assert.deepEqual(plain(withObjects(one, changes)), plain(two));
});
