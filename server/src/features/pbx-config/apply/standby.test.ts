import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeWorld } from '../../../../test/support/fake-engine-config.ts';
import { silent } from '../../../core/log.ts';
import type { Site } from '../../../ports/site.ts';
import { StandbyFiles } from './standby.ts';
import type { StandbyFilesDeps } from './standby.ts';

/** A standby that was just started, with the applied configuration of the site. */
const standby = (
  world: FakeWorld,
  applied: () => { readonly version: number; readonly site: Site },
  mailboxes: StandbyFilesDeps['mailboxes'] = async () => {},
): StandbyFiles =>
  new StandbyFiles({
    engine: world.config(),
    log: silent,
    read: async () => applied(),
    newest: async () => applied().version,
    restart: async () => {},
    running: () => true,
    mailboxes,
  });

for (const fault of ['refuses', 'lie'] as const)
  test(`standby files - the version after one that failed (${fault}) also loads the files of the failed one`, async () => {
    const world = new FakeWorld();
    let version = 1;
    const site = { extensions: [], queues: [], mailbox_owners: { 1013: 7 } } as unknown as Site;
    const moved: Site['mailbox_owners'][] = [];
    world.extra = () =>
      new Map([
        ['features.conf', version === 1 ? 'old' : 'new'],
        ['musiconhold.conf', String(version)],
      ]);
    const files = standby(
      world,
      () => ({ version, site }),
      async (owners) => void moved.push(owners),
    );
    await files.write(false);
    assert.deepEqual(moved, [{ 1013: 7 }]);
    world.boot();
    const signal = new AbortController().signal;
    version = 2;
    world.faults.set('reload', [fault]);
    await files.follow(signal);
    assert.match(files.problem ?? '', /^version 2: /);
    assert.equal(world.live?.get('features.conf'), 'old');
    version = 3;
    await files.follow(signal);
    assert.deepEqual(
      [files.version, files.problem, world.live?.get('features.conf'), world.live?.get('musiconhold.conf')],
      [3, null, 'new', '3'],
    );
    assert.equal(moved.length, 3);
  });

test('standby files - the next start loads the files that the running engine did not load', async () => {
  const world = new FakeWorld();
  let version = 1;
  const site = { extensions: [], queues: [] } as unknown as Site;
  world.extra = () => new Map([['features.conf', String(version)]]);
  const applied = () => ({ version, site });
  const files = standby(world, applied);
  await files.write(false);
  world.boot();
  version = 2;
  world.faults.set('reload', ['lie']);
  await files.follow(new AbortController().signal);
  assert.deepEqual([world.disk.get('features.conf'), world.live?.get('features.conf')], ['2', '1']);
  const next = standby(world, applied);
  await next.write(true);
  assert.deepEqual([next.version, world.live?.get('features.conf')], [2, '2']);
});
