import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { obtainPackages } from './packages.ts';
import type { ObtainPackagesOptions } from './packages.ts';
import {
  ARCH,
  refusal,
  testMachine,
  testMirror,
  treePackage,
} from '../../../../test/support/debian-mirror.ts';
import type { TestMirror } from '../../../../test/support/debian-mirror.ts';
import { testKey } from '../../../../test/support/openpgp.ts';
import type { TestKey } from '../../../../test/support/openpgp.ts';
import { until } from '../../../../test/support/until.ts';

let key: TestKey;
before(() => {
  key = testKey('archive');
});

function temporary(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}
interface Site {
  readonly folder: string;
  readonly cache: string;
  readonly mirror: TestMirror;
  readonly options: ObtainPackagesOptions;
}
async function site(t: TestContext, bytes = 1000): Promise<Site> {
  const folder = temporary(t);
  const packages = [{ ...treePackage('tool', bytes), depends: 'helper' }, treePackage('helper')];
  const mirror = await testMirror(folder, { forky: { key, packages } });
  t.after(() => mirror[Symbol.asyncDispose]());
  const ring = path.join(folder, 'ring.gpg');
  fs.writeFileSync(ring, key.ring);
  const cache = path.join(folder, 'cache');
  return {
    folder,
    cache,
    mirror,
    options: { cache, packages: ['tool'], machine: testMachine([ring]), mirrors: [mirror.url] },
  };
}
const treesOf = (cache: string): string[] => {
  try {
    return fs.readdirSync(path.join(cache, 'packages'));
  } catch {
    return [];
  }
};
const debs = (mirror: TestMirror): string[] => mirror.requests.filter((r) => r.includes('tool_1.0'));
const flipped = (body: Buffer): Buffer => {
  const copy = Buffer.from(body);
  copy[copy.length >> 1]! ^= 1;
  return copy;
};

test('packages - they are unpacked with what they depend on, and the second time nothing is asked of the mirror', async (t) => {
  const { options, mirror, cache } = await site(t);
  const lines: string[] = [];
  const first = await obtainPackages({ ...options, progress: (line) => lines.push(line) });
  assert.deepEqual(first.versions, { tool: '1.0', helper: '1.0' });
  assert.ok(fs.existsSync(path.join(first.root, 'usr/share/tool/data')));
  assert.ok(fs.existsSync(path.join(first.root, 'usr/share/helper/data')));
  const [loader, , , program] = first.command('usr/bin/tool');
  assert.equal(fs.readFileSync(loader!, 'utf8'), 'loader');
  assert.equal(program, path.join(first.root, 'usr/bin/tool'));
  assert.ok(
    lines.some((l) => /downloading 2 packages/.test(l)),
    lines.join('\n'),
  );
  const asked = mirror.requests.length;
  const second = await obtainPackages({ ...options, mirrors: ['http://127.0.0.1:1/nowhere'] });
  assert.equal(second.root, first.root);
  assert.equal(mirror.requests.length, asked);
  assert.deepEqual(treesOf(cache), [path.basename(first.root)]);
});

test('packages - a download that was interrupted is gone on with, not begun again', async (t) => {
  const { options, mirror, cache } = await site(t, 3_000_000);
  mirror.spoil('tool_1.0_' + ARCH + '.deb', (body, response) => {
    response.writeHead(200, {
      'content-length': body.length,
      'last-modified': 'Tue, 14 Nov 2023 00:00:00 GMT',
    });
    response.write(body.subarray(0, 1_000_000));
    return null;
  });
  const stop = new AbortController();
  const first = obtainPackages({ ...options, signal: stop.signal });
  const partial = path.join(cache, `apt/forky-${ARCH}/cache/archives/partial`);
  await until(
    'a part of the package that is enough to go on from',
    () =>
      fs.existsSync(partial) &&
      fs
        .readdirSync(partial)
        .some((f) => f.startsWith('tool_') && fs.statSync(path.join(partial, f)).size > 10_000),
    { every: 10 },
  );
  stop.abort(new Error('stopped by the test'));
  await assert.rejects(first, /stopped by the test/);
  assert.deepEqual(treesOf(cache), []);
  mirror.mend();
  const tree = await obtainPackages(options);
  assert.match(debs(mirror).at(-1)!, /bytes=\d{4,}-/);
  assert.equal(fs.statSync(path.join(tree.root, 'usr/share/tool/data')).size, 3_000_000);
});

test('packages - one that was changed on its way is refused in one sentence and leaves nothing behind', async (t) => {
  const { options, mirror, cache } = await site(t);
  mirror.spoil('.deb', flipped);
  const error = await refusal(obtainPackages(options));
  assert.equal(error.reason, 'untrusted');
  assert.match(error.message, /not what its signed index says/);
  assert.ok(error.message.includes(mirror.url));
  assert.deepEqual(treesOf(cache), []);
  mirror.mend();
  assert.ok((await obtainPackages(options)).root);
});

test('packages - a file that was damaged on the disk after its download is noticed and fetched again', async (t) => {
  const { options, mirror, cache } = await site(t, 200_000);
  const name = `helper_1.0_${ARCH}.deb`;
  mirror.spoil(name, (_, response) => {
    response.writeHead(404).end();
    return null;
  });
  await refusal(obtainPackages(options));
  mirror.mend();
  const kept = path.join(cache, `apt/forky-${ARCH}/cache/archives/tool_1.0_${ARCH}.deb`);
  fs.writeFileSync(kept, flipped(fs.readFileSync(kept)));
  const before = debs(mirror).length;
  const tree = await obtainPackages(options);
  assert.equal(debs(mirror).length, before + 1);
  assert.deepEqual(
    fs.readFileSync(path.join(tree.root, 'usr/share/tool/data')),
    Buffer.alloc(200_000, 'tool'),
  );
});

test('packages - an index changed on its way, or signed by somebody else, is refused', async (t) => {
  const { options, mirror, folder } = await site(t);
  mirror.spoil('/Packages', flipped);
  assert.equal((await refusal(obtainPackages(options))).reason, 'untrusted');
  mirror.mend();
  const other = path.join(folder, 'other.gpg');
  fs.writeFileSync(other, testKey('somebody').ring);
  const error = await refusal(obtainPackages({ ...options, machine: testMachine([other]) }));
  assert.equal(error.reason, 'untrusted');
  assert.match(error.message, /signature/);
});

test('packages - a package that does not exist is named', async (t) => {
  const { options } = await site(t);
  const error = await refusal(obtainPackages({ ...options, packages: ['no-such-thing'] }));
  assert.equal(error.reason, 'missing');
  assert.match(error.message, /no-such-thing/);
});

test('packages - a dead mirror says so and that another try may help', async (t) => {
  const { options, cache } = await site(t);
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const dead = `http://127.0.0.1:${(server.address() as AddressInfo).port}/debian`;
  server.close();
  await once(server, 'close');
  const error = await refusal(obtainPackages({ ...options, mirrors: [dead] }));
  assert.equal(error.reason, 'unreachable');
  assert.ok(error.message.includes(dead));
  assert.deepEqual(treesOf(cache), []);
});

test('packages - a mirror of the machine that does not carry the release is passed over', async (t) => {
  const { options, mirror, folder } = await site(t);
  await using own = await testMirror(path.join(folder, 'own'), { bookworm: { key, packages: [] } });
  const lines: string[] = [];
  const mirrors = [own.url, mirror.url];
  assert.ok((await obtainPackages({ ...options, mirrors, progress: (l) => lines.push(l) })).root);
  assert.ok(
    lines.some((l) => l.includes(`trying ${mirror.url}`)),
    lines.join('\n'),
  );
});

const CHILD = `
import { obtainPackages } from ${JSON.stringify(path.join(import.meta.dirname, 'packages.ts'))};
const tree = await obtainPackages(JSON.parse(process.argv[1]));
console.log(tree.root);
`;
function inProcess(t: TestContext, options: ObtainPackagesOptions) {
  const child = spawn(
    process.execPath,
    ['--input-type=module-typescript', '-e', CHILD, JSON.stringify(options)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  t.after(() => child.kill('SIGKILL'));
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  return {
    child,
    done: once(child, 'close').then(([code]) => ({ code: code as number | null, out: out.trim() })),
  };
}

test('packages - two processes that ask at once share one download', async (t) => {
  const { options, mirror } = await site(t, 500_000);
  const both = await Promise.all([inProcess(t, options).done, inProcess(t, options).done]);
  assert.deepEqual(
    both.map((r) => r.code),
    [0, 0],
  );
  assert.equal(both[0].out, both[1].out);
  assert.equal(debs(mirror).length, 1);
});

test('packages - what a killed process left (lock, partial file, its apt) does not stand in the way of the next', async (t) => {
  const { options, mirror, cache } = await site(t, 3_000_000);
  mirror.spoil('tool_1.0_' + ARCH + '.deb', (body, response) => {
    response.writeHead(200, {
      'content-length': body.length,
      'last-modified': 'Tue, 14 Nov 2023 00:00:00 GMT',
    });
    response.write(body.subarray(0, 1_000_000));
    setTimeout(() => response.destroy(), 1_000).unref();
    return null;
  });
  const { child, done } = inProcess(t, options);
  await until('the download of the killed process', () => debs(mirror).length > 0, { every: 10 });
  child.kill('SIGKILL');
  await done;
  assert.ok(fs.existsSync(path.join(cache, 'packages.lock')));
  fs.mkdirSync(path.join(cache, 'packages', 'other-0123456789ab.unpacking', 'usr'), { recursive: true });
  mirror.mend();
  const tree = await obtainPackages(options);
  assert.equal(fs.statSync(path.join(tree.root, 'usr/share/tool/data')).size, 3_000_000);
  assert.deepEqual(treesOf(cache), [path.basename(tree.root)]);
});

test('packages - one stopped while it unpacks leaves nothing half unpacked', async (t) => {
  const { options, cache } = await site(t);
  const stop = new AbortController();
  const progress = (line: string): void => {
    if (line.startsWith('unpacking')) stop.abort(new Error('stopped by the test'));
  };
  await assert.rejects(obtainPackages({ ...options, progress, signal: stop.signal }), /stopped by the test/);
  assert.deepEqual(treesOf(cache), []);
  assert.ok((await obtainPackages(options)).root);
});

test('packages - a cache that cannot be written is named', async (t) => {
  const { options, folder } = await site(t);
  const cache = path.join(folder, 'file');
  fs.writeFileSync(cache, '');
  const error = await refusal(obtainPackages({ ...options, cache }));
  assert.equal(error.reason, 'disk');
  assert.ok(error.message.includes(cache));
});

test('packages - keys too old for the release are renewed by the packages Debian signed with them', async (t) => {
  const folder = temporary(t);
  const [oldKey, newKey] = [testKey('old'), testKey('new')];
  const keyring = {
    name: 'debian-archive-keyring',
    files: { 'usr/share/keyrings/debian-archive-keyring.gpg': newKey.ring },
  };
  await using mirror = await testMirror(folder, {
    bookworm: { key: oldKey, packages: [keyring] },
    forky: { key: newKey, packages: [treePackage('tool')] },
  });
  const ring = path.join(folder, 'old.gpg');
  fs.writeFileSync(ring, oldKey.ring);
  const options = { cache: path.join(folder, 'cache'), packages: ['tool'], mirrors: [mirror.url] };
  assert.ok((await obtainPackages({ ...options, machine: testMachine([ring]) })).root);
});

test('packages - a machine without Debian’s keys takes them from its own distribution’s signed packages', async (t) => {
  const folder = temporary(t);
  const [ubuntu, debian] = [testKey('ubuntu'), testKey('debian')];
  const keyring = {
    name: 'debian-archive-keyring',
    files: { 'usr/share/keyrings/debian-archive-keyring.gpg': debian.ring },
  };
  await using own = await testMirror(path.join(folder, 'own'), {
    noble: { key: ubuntu, packages: [keyring] },
  });
  await using mirror = await testMirror(path.join(folder, 'debian'), {
    forky: { key: debian, packages: [treePackage('tool')] },
  });
  const etc = path.join(folder, 'etc');
  fs.mkdirSync(path.join(etc, 'none'), { recursive: true });
  fs.writeFileSync(path.join(etc, 'ubuntu.gpg'), ubuntu.ring);
  fs.writeFileSync(
    path.join(etc, 'sources.list'),
    `deb [signed-by=${etc}/ubuntu.gpg] ${own.url} noble main\n`,
  );
  const lines = [`Dir::Etc::sourcelist "${etc}/sources.list";`, `Dir::Etc::sourceparts "${etc}/none";`];
  const options = { cache: path.join(folder, 'cache'), packages: ['tool'], mirrors: [mirror.url] };
  await assert.rejects(
    obtainPackages({
      ...options,
      machine: testMachine([], [`Dir::Etc::sourcelist "/dev/null";`, lines[1]!]),
    }),
  );
  assert.ok((await obtainPackages({ ...options, machine: testMachine([], lines) })).root);
});
