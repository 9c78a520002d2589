import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';
import type { TestContext } from 'node:test';
import {
  confirmTree,
  generationsOf,
  obtainPackages,
  refuseTree,
  treeOfCommand,
  updatePackages,
} from './packages.ts';
import type { ObtainPackagesOptions } from './packages.ts';
import { refusal, testMachine, testMirror, treePackage } from '../../../../test/support/debian-mirror.ts';
import type { TestMirror, TestRelease } from '../../../../test/support/debian-mirror.ts';
import { testKey } from '../../../../test/support/openpgp.ts';
import type { TestKey } from '../../../../test/support/openpgp.ts';

const HOUR = 3_600_000;
let key: TestKey;
before(() => {
  key = testKey('archive');
});
interface Site {
  readonly mirror: TestMirror;
  readonly cache: string;
  readonly options: ObtainPackagesOptions;
  readonly lines: string[];
  readonly publish: (version: string, more?: Partial<TestRelease>, suite?: string) => Promise<void>;
}
async function site(
  t: TestContext,
  first: Partial<TestRelease> = {},
  aptLines: readonly string[] = [],
): Promise<Site> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const release = (version: string, more: Partial<TestRelease>): TestRelease => ({
    key,
    packages: [treePackage('tool', 1000, version)],
    ...more,
  });
  const mirror = await testMirror(folder, {
    forky: release('1.0', { date: Date.now() - 9 * HOUR, ...first }),
  });
  t.after(() => mirror[Symbol.asyncDispose]());
  const ring = path.join(folder, 'ring.gpg');
  fs.writeFileSync(ring, key.ring);
  const cache = path.join(folder, 'cache');
  const lines: string[] = [];
  return {
    mirror,
    cache,
    lines,
    options: {
      cache,
      packages: ['tool'],
      machine: testMachine([ring], aptLines),
      mirrors: [mirror.url],
      progress: (line) => lines.push(line),
    },
    publish: (version, more = {}, suite = 'forky') => mirror.publish(suite, release(version, more)),
  };
}
const treesOf = (cache: string): string[] =>
  fs.readdirSync(path.join(cache, 'packages')).filter((name) => !name.includes('.'));

test('updates - an index whose time is over is refused, unless the machine’s own apt does not look', async (t) => {
  const old = { date: Date.now() - 48 * HOUR, valid_until: Date.now() - 24 * HOUR };
  const { options } = await site(t, old);
  const error = await refusal(obtainPackages(options));
  assert.equal(error.reason, 'outdated');
  assert.match(error.message, /sent an index whose time is over/);
  const own = await site(t, old, ['Acquire::Check-Valid-Until "false";']);
  assert.ok((await obtainPackages(own.options)).root);
});

test('updates - an index older than the newest one seen is refused, signed or not, from any mirror', async (t) => {
  const { options, publish, cache } = await site(t);
  await publish('1.1', { date: Date.now() - HOUR });
  await obtainPackages(options);
  await publish('1.0', { date: Date.now() - 5 * HOUR });
  const error = await refusal(updatePackages(options));
  assert.equal(error.reason, 'outdated');
  assert.match(error.message, /was seen before: a mirror that lags behind, or a replay/);
  // The same holds when the tree is gone and everything is fetched again.
  for (const name of treesOf(cache)) fs.rmSync(path.join(cache, 'packages', name), { recursive: true });
  assert.equal((await refusal(obtainPackages(options))).reason, 'outdated');
  await publish('1.2', { date: Date.now() - 60_000 });
  assert.equal((await obtainPackages(options)).versions['tool'], '1.2');
});

test('updates - the suites beside the release are asked: what is newer there is taken', async (t) => {
  const { options, publish, mirror } = await site(t);
  await publish('1.0+u1', {}, 'forky-updates');
  await publish('1.0+u2', {}, 'forky-security');
  const tree = await obtainPackages({ ...options, security: [mirror.url] });
  assert.equal(tree.versions['tool'], '1.0+u2');
});

test('updates - no security suite: said and gone without at first, an error for an update; a false one never passes', async (t) => {
  const { options, lines, publish, mirror } = await site(t);
  const dead = 'http://127.0.0.1:1/debian-security';
  const tree = await obtainPackages({ ...options, security: [dead] });
  assert.equal(tree.versions['tool'], '1.0');
  assert.ok(
    lines.some((l) => l.startsWith('without forky-security: ')),
    lines.join('\n'),
  );
  const error = await refusal(updatePackages({ ...options, security: [dead] }));
  assert.equal(error.reason, 'unreachable');
  assert.match(error.message, /forky-security/);
  // A mirror without a security suite is no error, because a new release may have none yet.
  await updatePackages({ ...options, security: [mirror.url] });
  await publish('1.0+u1', { key: testKey('somebody') }, 'forky-security');
  assert.equal((await refusal(updatePackages({ ...options, security: [mirror.url] }))).reason, 'untrusted');
});

test('updates - nothing newer: nothing is fetched, and the packages count as of the index that said so', async (t) => {
  const { options, publish, mirror } = await site(t);
  const tree = await obtainPackages(options);
  const debs = () => mirror.requests.filter((r) => r.includes('.deb')).length;
  const [fetched, date] = [debs(), Date.now() - HOUR];
  await publish('1.0', { date });
  const { tree: same, changes } = await updatePackages(options);
  assert.deepEqual([same.root, changes, debs()], [tree.root, [], fetched]);
  const { confirmed } = await generationsOf(tree);
  assert.equal(Date.parse(confirmed ?? ''), Math.floor(date / 1000) * 1000);
});

test('updates - what is newer waits beside the old, which goes only two generations later', async (t) => {
  const { options, publish, cache } = await site(t);
  const first = await obtainPackages(options);
  const trees = [first.root];
  for (const version of ['1.1', '1.2']) {
    await publish(version, { date: Date.now() - (version === '1.1' ? 2 : 1) * HOUR });
    const { tree, changes } = await updatePackages(options);
    assert.match(changes.join(), new RegExp(`^tool \\S+ -> ${version}$`));
    assert.equal((await obtainPackages(options)).root, tree.root);
    trees.push(tree.root);
    await confirmTree(cache, tree);
    assert.equal((await generationsOf(tree)).current, path.basename(tree.root));
  }
  assert.deepEqual(
    treesOf(cache).toSorted(),
    trees
      .slice(1)
      .map((r) => path.basename(r))
      .toSorted(),
  );
});

test('updates - one that does not start is given up, the old one is taken, and why is kept; asked for again it is tried again', async (t) => {
  const { options, publish, cache } = await site(t);
  const first = await obtainPackages(options);
  await publish('1.1', { date: Date.now() - HOUR });
  const { tree } = await updatePackages(options);
  assert.equal((await treeOfCommand(cache, tree.command('usr/sbin/tool')))?.root, tree.root);
  assert.equal(await treeOfCommand(cache, ['/usr/sbin/asterisk']), null);
  await refuseTree(cache, tree, 'the engine did not boot (exit code 1)');
  assert.equal((await obtainPackages(options)).root, first.root);
  const { refused } = await generationsOf(first);
  assert.equal(refused?.tree, path.basename(tree.root));
  assert.match(refused?.why ?? '', /exit code 1/);
  assert.equal((await updatePackages(options)).tree.versions['tool'], '1.1');
  assert.equal((await obtainPackages(options)).versions['tool'], '1.1');
});

test('updates - a record of generations that is damaged or names foreign folders gives the tree there is', async (t) => {
  const { options } = await site(t);
  const first = await obtainPackages(options);
  for (const text of ['{', '{"current":"../../etc","next":"other-000000000000"}', '[]', 'null']) {
    fs.writeFileSync(`${first.root}.generations.json`, text);
    assert.equal((await obtainPackages({ ...options, mirrors: [] })).root, first.root);
  }
});
