/** Applies of a site with two engines, over fake disks and engines. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startProcess } from '../../test/support/applies-rig.ts';
import { FakeWorld } from '../../test/support/fake-engine-config.ts';
import { temporaryStore } from '../../test/conformance/store-temp.ts';
import { JoinedConfig, awayError, siteOf } from '../adapters/asterisk/apply/joined-config.ts';
import type { FarConfig } from '../adapters/asterisk/apply/joined-config.ts';
import type { Instance } from '../adapters/asterisk/conf/instance.ts';
import { moveMailboxes } from '../adapters/asterisk/mailbox-folders.ts';
import { systemClock } from '../core/clock.ts';
import { silent } from '../core/log.ts';
import { FEATURE_CODES } from '../features/feature-codes/feature-codes.ts';
import { HomeFiles } from '../features/pbx-config/apply/home.ts';
import { toPbxConfig } from '../features/pbx-config/config.ts';
import type { Model } from '../features/pbx-config/model.ts';
import { toSite } from '../features/pbx-config/site.ts';
import type { Site } from '../ports/site.ts';

const leading = { node: 'a', host: '10.0.0.1', port: 5060 };
const site = (model: Model): Site => ({
  ...toSite(toPbxConfig(model), FEATURE_CODES),
  engines: [{ node: 'b', host: '10.0.0.2', port: 5060 }],
});
const signal = new AbortController().signal;
const nameOf = (files: ReadonlyMap<string, string> | null): string | undefined =>
  (JSON.parse(files?.get('endpoints.conf') ?? '[]') as [string, string][]).find(([e]) => e === '1003')?.[1];

async function open(t: TestContext) {
  const temp = await temporaryStore();
  const { store } = temp;
  t.after(() => temp[Symbol.asyncDispose]());
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-home-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(path.join(folder, 'spool', 'voicemail', 'default', '1003', 'INBOX'), { recursive: true });
  const message = path.join(folder, 'spool', 'voicemail', 'default', '1003', 'INBOX', 'msg0000.txt');
  await writeFile(message, 'a message at the other engine');
  const [here, there] = [new FakeWorld(), new FakeWorld()];
  let up = true;
  let [reads, unsettled] = [0, 0];
  const step =
    <A extends unknown[], T>(work: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      if (!up) throw awayError('b', 'nobody answers');
      return await work(...given);
    };
  const far: FarConfig = {
    disk: step(async () => files.disk()),
    read: step(async (backup) => files.text(backup)),
    prove: step((text) => files.prove(text, signal)),
    put: step((text) => files.put(text, signal)),
    reload: step(() => files.reload(signal)),
    verify: step((depth) => files.verify(depth, signal)),
    unsettle: () => (unsettled += 1),
  };
  const local = here.config();
  const rig = await startProcess(here, store, {
    engine: new JoinedConfig({ local, leading, far: () => far }),
    here: local,
    site,
  });
  const homeFiles = (): HomeFiles =>
    new HomeFiles({
      engine: there.config(),
      clock: systemClock,
      log: silent,
      async read() {
        reads += 1;
        return {
          version: rig.objects.version,
          site: siteOf(site(rig.objects.applied()), 'b', leading),
        };
      },
      newest: async () => String(rig.objects.version),
      restart: async () => {},
      running: () => there.live !== null,
      mailboxes: (owners) =>
        moveMailboxes({ folder } as Instance, owners, { clock: systemClock, log: silent }),
    });
  const files = homeFiles();
  await rig.applies.start(false);
  here.boot();
  await files.write(false);
  there.boot();
  /** The other engine takes the next files in, and the connection to its node ends before the answer. */
  const cutsWhileTaken = (): void => {
    const verify = files.verify.bind(files);
    files.verify = async (...given) => {
      files.verify = verify;
      await verify(...given);
      up = false;
      throw awayError('b', 'the connection ended');
    };
  };
  const names = () => [nameOf(here.live), nameOf(there.live)];
  const before = nameOf(here.live)!;
  return {
    rig,
    files,
    here,
    there,
    names,
    before,
    homeFiles,
    cutsWhileTaken,
    owners: path.join(folder, 'spool', 'voicemail-owners.json'),
    hears: () => existsSync(message),
    reads: () => reads,
    unsettled: () => unsettled,
    cut: (now: boolean) => (up = !now),
  };
}

test('home applies - both engines hold what was applied, and the version is that of both', async (t) => {
  const { rig, files, names, there } = await open(t);
  await rig.rename('1003', 'New');
  const done = await rig.applied();
  assert.deepEqual([done.state, names()], ['applied', ['New', 'New']], done.detail ?? '');
  assert.ok(done.files.includes('engines/b.json'));
  there.touched = [];
  await files.follow(signal);
  assert.deepEqual([files.version, files.problem, there.touched], [done.version, null, []]);
});

for (const fault of ['lie', 'refuses'] as const)
  test(`home applies - the other engine fails (${fault}): both have what they had`, async (t) => {
    const { rig, files, names, before, there } = await open(t);
    await rig.rename('1003', 'New');
    there.faults.set('reload', [fault]);
    const done = await rig.applied();
    assert.deepEqual([done.state, names()], ['rolled_back', [before, before]], done.detail ?? '');
    assert.match(JSON.stringify(done.problems), fault === 'refuses' ? /the engine says no/ : /engine b/);
    await files.follow(signal);
    assert.deepEqual(names(), [before, before]);
  });

test('home applies - the engine of the leading node fails: the other one has what it had', async (t) => {
  const { rig, names, before, here } = await open(t);
  await rig.rename('1003', 'New');
  here.faults.set('reload', ['lie']);
  assert.equal((await rig.applied()).state, 'rolled_back');
  assert.deepEqual(names(), [before, before]);
});

test('home applies - one that is away is named by a refusal, and nothing was begun', async (t) => {
  const { rig, names, before, cut } = await open(t);
  await rig.rename('1003', 'New');
  cut(true);
  await assert.rejects(rig.applied(), { code: 'engine_unavailable', message: /^the engine b is away/ });
  assert.deepEqual(names(), [before, before]);
  cut(false);
  assert.equal((await rig.applied()).state, 'applied');
  assert.deepEqual(names(), ['New', 'New']);
});

test('home applies - one that is cut off while it takes it in goes back by itself', async (t) => {
  const { rig, files, names, before, cutsWhileTaken, there, unsettled } = await open(t);
  await rig.rename('1003', 'New');
  cutsWhileTaken();
  const done = await rig.applied();
  assert.deepEqual([done.state, names()], ['rolled_back', [before, 'New']], done.detail ?? '');
  assert.ok(unsettled() > 0);
  files.unsettle();
  await files.follow(signal);
  assert.deepEqual([names(), nameOf(there.disk)], [[before, before], before]);
});

test('home applies - one that was cut off and cannot go back tries it again after a silence', async (t) => {
  const { rig, files, names, before, cutsWhileTaken, there } = await open(t);
  await rig.rename('1003', 'New');
  cutsWhileTaken();
  assert.equal((await rig.applied()).state, 'rolled_back');
  there.faults.set('reload', ['refuses']);
  files.unsettle();
  await files.follow(signal);
  assert.deepEqual(names(), [before, 'New']);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 600_001 });
  await files.follow(signal);
  assert.deepEqual([names(), files.problem], [[before, before], null]);
});

test('home applies - messages at the other engine are not for the next holder of the number, and a rollback returns them', async (t) => {
  const { rig, files, hears, there } = await open(t);
  await rig.replace('1003');
  await rig.rename('1003', 'New');
  there.faults.set('reload', ['lie']);
  assert.equal((await rig.applied()).state, 'rolled_back');
  assert.ok(hears(), 'the owner has them again');
  assert.equal((await rig.applied()).state, 'applied');
  assert.ok(!hears(), 'the next holder does not have them');
  await files.follow(signal);
  assert.deepEqual([files.problem, hears()], [null, false]);
});

test('home applies - messages move although no file of the engine changes, and at a start that missed the apply', async (t) => {
  const { rig, hears, homeFiles, there, files } = await open(t);
  const before = rig.objects.applied();
  await rig.replace('1003');
  there.touched = [];
  assert.equal((await rig.applied()).state, 'applied');
  assert.deepEqual([hears(), there.touched], [false, []]);
  await files.put(JSON.stringify(siteOf(site(before), 'b', leading)), signal);
  assert.ok(hears());
  await homeFiles().write(true);
  assert.ok(!hears());
});

test('home applies - one that is cut off moves messages back by itself', async (t) => {
  const { rig, files, cutsWhileTaken, hears } = await open(t);
  await rig.replace('1003');
  await rig.rename('1003', 'New');
  cutsWhileTaken();
  assert.equal((await rig.applied()).state, 'rolled_back');
  assert.ok(!hears());
  files.unsettle();
  await files.follow(signal);
  assert.deepEqual([files.problem, hears()], [null, true]);
});

test('home applies - mailboxes that cannot be moved there end the apply with the reason, and both have what they had', async (t) => {
  const { rig, files, hears, names, before, owners } = await open(t);
  await rig.replace('1003');
  await rig.rename('1003', 'New');
  await writeFile(owners, 'damaged');
  const done = await rig.applied();
  assert.deepEqual(
    [done.state, names(), hears()],
    ['rolled_back', [before, before], true],
    done.detail ?? '',
  );
  assert.match(JSON.stringify(done.problems), /voicemail-owners\.json is damaged/);
  files.unsettle();
  await files.follow(signal);
  assert.match(files.problem ?? '', /is damaged/);
});

test('home applies - what the node cannot accept is tried again once after each silence', async (t) => {
  const { rig, files, owners, reads } = await open(t);
  await rig.replace('1003');
  await rig.rename('1003', 'New');
  await writeFile(owners, 'damaged');
  assert.equal((await rig.applied()).state, 'rolled_back');
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  for (let silence = 0; silence < 2; silence += 1) {
    t.mock.timers.tick(600_001);
    const before = reads();
    for (let look = 0; look < 3; look += 1) await files.follow(signal);
    assert.equal(reads() - before, 1);
    assert.match(files.problem ?? '', /is damaged/);
  }
});

test('home applies - a leading node of an older version sends no owners: nothing is moved', async (t) => {
  const { rig, files, hears } = await open(t);
  await rig.replace('1003');
  const { mailbox_owners, ...older } = siteOf(site(rig.objects.draft()), 'b', leading);
  assert.ok(mailbox_owners !== undefined);
  await files.put(JSON.stringify(older), signal);
  assert.ok(hears());
});

test('home applies - a step that waits behind another one is left out once the connection of its leader has ended', async (t) => {
  const { rig, files, before, there } = await open(t);
  const wanted = (): string => JSON.stringify(siteOf(site(rig.objects.draft()), 'b', leading));
  const applied = wanted();
  await rig.rename('1003', 'New');
  // A new term ends the connections of the former leader.
  const former = new AbortController();
  const proof = files.prove(wanted(), former.signal).catch(() => undefined);
  const put = files.put(wanted(), former.signal);
  former.abort(new Error('the connection ended'));
  await assert.rejects(put, /the connection ended/);
  await proof;
  assert.deepEqual([files.text(false), nameOf(there.disk)], [applied, before]);
});
