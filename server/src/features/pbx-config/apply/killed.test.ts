import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { temporaryStore } from '../../../../test/conformance/store-temp.ts';
import { ADMIN, startProcess, startSite } from '../../../../test/support/applies-rig.ts';
import type { AppliesRig } from '../../../../test/support/applies-rig.ts';
import type { FakeWorld } from '../../../../test/support/fake-engine-config.ts';
import { EMPTY_MODEL, difference } from '../model.ts';

type World = FakeWorld;
const sorted = (files: ReadonlyMap<string, string>) => [...files].sort(([a], [b]) => (a < b ? -1 : 1));
const renderedBy = (rig: AppliesRig) => sorted(rig.world.config().render(rig.site(rig.objects.applied())));

/** Two files change; a third needs no change. */
const extra: World['extra'] = (site) => new Map([['plan.conf', site.extensions.map((e) => e.name).join()]]);

/** Runs an apply until its end or the death of the process; true for a death. */
async function runUntilDead(rig: AppliesRig): Promise<boolean> {
  try {
    const { id } = await rig.applies.apply(ADMIN, { comment: null, overwrite_drift: false, restart: 'no' });
    for (;;) {
      if (rig.world.dead) return true;
      const { state } = await rig.applies.one(id);
      if (state === 'applied' || state === 'rolled_back') return rig.world.dead;
      await turn();
    }
  } catch (error) {
    if (rig.world.dead) return true;
    throw error;
  }
}
/** Engine and files are wholly old or wholly new, and the operation reports which. */
async function holds(rig: AppliesRig, name: string, about: string): Promise<void> {
  const newest = (await rig.applies.page({ limit: 1 })).applies.find((a) => a.id > 1);
  const isNew = rig.objects.applied().of('extension').get('1003')?.body.name === name;
  if (newest !== undefined) {
    const over = ['applied', 'rolled_back', 'rejected'];
    assert.ok(over.includes(newest.state), `${about}: the operation says ${newest.state}: ${newest.detail}`);
    assert.equal(newest.state === 'applied', isNew, `${about}: what it says is what holds`);
  } else assert.equal(isNew, false, about);
  assert.deepEqual(sorted(rig.world.disk), renderedBy(rig), `${about}: the files`);
  assert.deepEqual(sorted(rig.world.live!), renderedBy(rig), `${about}: the engine`);
  assert.deepEqual((await rig.applies.drift()).files, [], about);
  assert.equal(rig.holds(), 0, about);
  const draft = rig.objects.draft().of('extension').get('1003')?.body.name;
  assert.equal(draft, name, `${about}: the draft is not lost`);
  assert.ok(difference(EMPTY_MODEL, rig.objects.applied()).length > 10);
}
async function site(fault: boolean) {
  const temp = await temporaryStore();
  const rig = await startSite(temp.store);
  rig.world.extra = extra;
  await rig.applied();
  rig.world.boot();
  await rig.rename('1003', 'Zoe Miller');
  rig.world.points = [];
  if (fault) rig.world.faults.set('reload', ['half']);
  return { temp, rig };
}

for (const [what, fault, engineDied] of [
  ['an apply', false, false],
  ['an apply, the engine with it', false, true],
  ['an apply that is rolled back', true, false],
  ['an apply that is rolled back, the engine with it', true, true],
] as const) {
  test(`applies - killed at every point of ${what}: the next start has wholly the old or the new`, async () => {
    let points = Infinity;
    const died: string[] = [];
    for (let at = 1; at <= points; at += 1) {
      const { temp, rig } = await site(fault);
      await using _ = temp;
      rig.world.killAt = at;
      const dead = await runUntilDead(rig);
      const point = rig.world.points.at(-1)!;
      if (!dead) {
        points = at - 1;
        await rig.applies.close();
        break;
      }
      died.push(point);
      rig.world.revive({ engineDied });
      const next = await startProcess(rig.world, temp.store);
      await next.applies.start(!engineDied);
      if (engineDied) rig.world.boot();
      await holds(next, 'Zoe Miller', `killed at ${at}, ${point}`);
      await next.applies.close();
    }
    assert.ok(points > 25, `${points} points`);
    for (const step of [
      'before a write of the store',
      'prove',
      'kept endpoints.conf',
      'written',
      'reloading',
      'verified',
    ])
      assert.ok(died.includes(step), `it never died at ${step}`);
  });
}

test('applies - killed again at every point of the recovering start', async () => {
  const tried = [];
  for (const at of ['kept plan.conf', 'reloading', 'verified']) {
    let points = Infinity;
    for (let again = 1; again <= points; again += 1) {
      const { temp, rig } = await site(false);
      await using _ = temp;
      const original = rig.world.point.bind(rig.world);
      rig.world.point = (name) => {
        if (name === at && rig.world.killAt === Infinity) rig.world.killAt = rig.world.points.length + 1;
        return original(name);
      };
      assert.equal(await runUntilDead(rig), true);
      rig.world.point = original;
      rig.world.revive();
      rig.world.killAt = again;
      const second = await startProcess(rig.world, temp.store).catch((error: unknown) => {
        if (rig.world.dead) return null;
        throw error;
      });
      await second?.applies.start(true).catch((error: unknown) => {
        if (!rig.world.dead) throw error;
      });
      if (!rig.world.dead) points = again - 1;
      rig.world.revive();
      const third = await startProcess(rig.world, temp.store);
      await third.applies.start(true);
      await holds(third, 'Zoe Miller', `killed at ${at}, then at ${again} of the start`);
      tried.push(again);
      await third.applies.close();
    }
  }
  assert.ok(tried.length > 30, `${tried.length} kills`);
});

test('applies - killed at every point of a start with other files: the next start brings them to the running engine', async () => {
  let points = Infinity;
  for (let at = 1; at <= points; at += 1) {
    await using temp = await temporaryStore();
    const rig = await startSite(temp.store);
    await rig.applies.close();
    rig.world.extra = extra;
    const ifAlive = (error: unknown): null => {
      if (!rig.world.dead) throw error;
      return null;
    };
    rig.world.revive();
    rig.world.killAt = at;
    const second = await startProcess(rig.world, temp.store).catch(ifAlive);
    await second?.applies.start(true).catch(ifAlive);
    if (!rig.world.dead) points = at - 1;
    rig.world.revive();
    const third = await startProcess(rig.world, temp.store);
    await third.applies.start(true);
    assert.deepEqual(sorted(rig.world.disk), renderedBy(third), `killed at ${at}: the files`);
    assert.deepEqual(sorted(rig.world.live!), renderedBy(third), `killed at ${at}: the engine`);
    await third.applies.close();
  }
  assert.ok(points > 10, `${points} points`);
});
