import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, { mkdir, mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import { createInstance } from '../process/instance-file.ts';
import { diskOf, handWrittenFiles, prepareFolders, readFileOf, writeFiles } from './write.ts';

async function folder(): Promise<AsyncDisposable & { etc: string; text(name: string): Promise<string> }> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'offhook-write-'));
  const etc = path.join(root, 'etc');
  return {
    etc,
    text: (name) => readFile(path.join(etc, name), 'utf8'),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}
const files = (entries: Record<string, string>): ReadonlyMap<string, string> =>
  new Map(Object.entries(entries));

test('conf/write - writes new files for the owner and its group only, beside an empty custom folder', async () => {
  await using f = await folder();
  assert.deepEqual(await writeFiles(f.etc, files({ 'a.conf': 'one\n', 'b.conf': 'two\n' })), [
    'a.conf',
    'b.conf',
  ]);
  assert.equal(await f.text('a.conf'), 'one\n');
  assert.equal((await stat(path.join(f.etc, 'a.conf'))).mode & 0o777, 0o640);
  assert.deepEqual((await readdir(f.etc)).sort(), ['a.conf', 'b.conf', 'custom']);
  assert.deepEqual(await readdir(path.join(f.etc, 'custom')), []);
});

test('conf/write - a file with the same bytes is not touched, a different one keeps the one before', async () => {
  await using f = await folder();
  await writeFiles(f.etc, files({ 'a.conf': 'one\n', 'b.conf': 'two\n' }));
  const long_ago = new Date('2020-01-01T00:00:00Z');
  for (const name of ['a.conf', 'b.conf']) await utimes(path.join(f.etc, name), long_ago, long_ago);
  assert.deepEqual(await writeFiles(f.etc, files({ 'a.conf': 'one\n', 'b.conf': 'three\n' })), ['b.conf']);
  assert.equal((await stat(path.join(f.etc, 'a.conf'))).mtimeMs, long_ago.getTime());
  assert.ok((await stat(path.join(f.etc, 'b.conf'))).mtimeMs > long_ago.getTime());
  assert.deepEqual([await f.text('b.conf'), await f.text('b.conf.bak')], ['three\n', 'two\n']);
  assert.deepEqual((await readdir(f.etc)).sort(), ['a.conf', 'b.conf', 'b.conf.bak', 'custom']);
});

test('conf/write - what a killed service left half written is gone after the next start, and nothing else', async () => {
  await using f = await folder();
  const instance = await createInstance(path.dirname(f.etc));
  const etc = path.join(instance.folder, 'etc');
  await writeFiles(etc, files({ 'a.conf': 'one\n' }));
  const left = ['a.conf.0123456789ab.tmp', 'a.conf.bak.0123456789ab.tmp', 'custom/b.conf.0123456789ab.tmp'];
  const kept = ['mine.tmp', 'a.conf.bak', 'custom/notes.tmp'];
  for (const name of [...left, ...kept]) await writeFile(path.join(etc, name), 'password = secret\n');
  await prepareFolders(instance);
  assert.deepEqual((await readdir(etc)).sort(), ['a.conf', 'a.conf.bak', 'custom', 'mine.tmp']);
  assert.deepEqual(await readdir(path.join(etc, 'custom')), ['notes.tmp']);
});

test('conf/write - a folder or a pipe where a file should be does not hinder looking at the others', async () => {
  await using f = await folder();
  await writeFiles(f.etc, files({ 'a.conf': 'one\n', 'b.conf': 'two\n' }));
  await mkdir(path.join(f.etc, 'a.conf.bak'));
  await rm(path.join(f.etc, 'b.conf'));
  await mkdir(path.join(f.etc, 'b.conf'));
  await mkdir(path.join(f.etc, 'custom', 'c.conf'));
  execFileSync('mkfifo', [path.join(f.etc, 'custom', 'd.conf')]);
  const [a, b] = await diskOf(f.etc, ['a.conf', 'b.conf']);
  assert.match(a!.hash!, /^[0-9a-f]{64}$/);
  assert.equal(b!.hash, 'unreadable');
  assert.equal(await readFileOf(f.etc, 'a.conf', true), null);
  assert.deepEqual(await handWrittenFiles(f.etc), []);
  await assert.rejects(writeFiles(f.etc, files({ 'b.conf': 'three\n' })), /b\.conf is not a file/);
});

test('conf/write - bytes that are no UTF-8 are read as the engine tells them', async () => {
  await using f = await folder();
  await writeFiles(f.etc, files({ 'a.conf': 'one\n' }));
  await writeFile(path.join(f.etc, 'custom', 'mine.conf'), Buffer.from('café', 'latin1'));
  assert.equal(await readFileOf(f.etc, 'custom/mine.conf', false), 'café');
});

test('conf/write - what is in the custom folder stays', async () => {
  await using f = await folder();
  await mkdir(path.join(f.etc, 'custom', 'mine.conf'), { recursive: true });
  await writeFiles(f.etc, files({ 'a.conf': 'one\n' }));
  assert.deepEqual(await readdir(path.join(f.etc, 'custom')), ['mine.conf']);
});

test('conf/write - a file that cannot be replaced is an error, leaves no rubbish and the others as they were', async () => {
  await using f = await folder();
  await writeFiles(f.etc, files({ 'a.conf': 'one\n' }));
  await mkdir(path.join(f.etc, 'b.conf', 'in the way'), { recursive: true });
  await assert.rejects(writeFiles(f.etc, files({ 'a.conf': 'two\n', 'b.conf': 'two\n', 'c.conf': 'two\n' })));
  assert.equal(await f.text('a.conf'), 'one\n');
  assert.deepEqual((await readdir(f.etc)).sort(), ['a.conf', 'b.conf', 'custom']);
});

test('conf/write - a name that leads out of the folder is refused before anything is written', async () => {
  await using f = await folder();
  for (const name of ['../a.conf', '/etc/a.conf', 'custom/a.conf', 'a', '', 'A.conf', 'a.conf\0']) {
    await assert.rejects(
      writeFiles(f.etc, files({ 'z.conf': 'z', [name]: 'x' })),
      /not a configuration file/,
      name,
    );
  }
  assert.deepEqual(await readdir(f.etc).catch(() => []), []);
});

test('conf/write - an included file of people’s own is made where there is none, never written over', async () => {
  await using f = await folder();
  const text = '[a]\n#tryinclude custom/a.conf\n';
  await writeFiles(f.etc, files({ 'a.conf': text }));
  assert.equal(await f.text('custom/a.conf'), '');
  assert.deepEqual(await handWrittenFiles(f.etc), []);
  await fs.writeFile(path.join(f.etc, 'custom', 'a.conf'), '; mine\n');
  await writeFiles(f.etc, files({ 'a.conf': `${text}; more\n` }));
  assert.equal(await f.text('custom/a.conf'), '; mine\n');
  assert.deepEqual(
    (await handWrittenFiles(f.etc)).map((h) => h.name),
    ['custom/a.conf'],
  );
});

test('conf/write - what is on the disk is told by name, with the version before', async () => {
  await using f = await folder();
  await writeFiles(f.etc, files({ 'a.conf': 'one\n' }));
  await writeFiles(f.etc, files({ 'a.conf': 'two\n' }));
  const [a, b] = await diskOf(f.etc, ['b.conf', 'a.conf']);
  assert.deepEqual(b, { name: 'b.conf', hash: null });
  assert.equal(a?.name, 'a.conf');
  assert.match(a!.hash!, /^[0-9a-f]{64}$/);
  assert.equal(await readFileOf(f.etc, 'a.conf', true), 'one\n');
  assert.equal(await readFileOf(f.etc, 'c.conf', false), null);
  await assert.rejects(readFileOf(f.etc, '../secret.conf', false), /not a configuration file/);
});

/** From the n-th step on that needs room (opening, writing, flushing, renaming) the disk has none; returns the steps taken. */
function fullDisk(t: TestContext, from: number): () => number {
  let steps = 0;
  const full = (): void => {
    if (++steps >= from) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  };
  const { open, rename } = fs;
  const replaced = {
    async open(...args: Parameters<typeof open>) {
      if (args[1] !== 'wx') return open(...args);
      full();
      const handle = await open(...args);
      const writeAll = handle.writeFile.bind(handle);
      const flush = handle.sync.bind(handle);
      return Object.assign(handle, {
        async writeFile(content: Buffer) {
          // The part that fits is written, so the file is cut off.
          await writeAll(content.subarray(0, 3));
          full();
          await writeAll(content.subarray(3));
        },
        async sync() {
          full();
          await flush();
        },
      });
    },
    async rename(...args: Parameters<typeof rename>) {
      full();
      await rename(...args);
    },
  };
  Object.assign(fs, replaced);
  syncBuiltinESMExports();
  const back = (): void => {
    Object.assign(fs, { open, rename });
    syncBuiltinESMExports();
  };
  t.after(back);
  return () => {
    back();
    return steps;
  };
}

test('conf/write - a disk that fills up at any step leaves each file old or new, and no rubbish', async (t) => {
  const old = { 'a.conf': 'old a\n', 'b.conf': 'old b\n', 'c.conf': 'the same\n' };
  const next = { 'a.conf': 'new a\n', 'b.conf': 'new b\n', 'c.conf': 'the same\n', 'd.conf': 'new d\n' };
  let failures = 0;
  let untouched = 0;
  for (let step = 1; ; step++) {
    await using f = await folder();
    await writeFiles(f.etc, files(old));
    const ended = fullDisk(t, step);
    const error: unknown = await writeFiles(f.etc, files(next)).then(
      () => null,
      (e: unknown) => e,
    );
    const steps = ended();
    if (error === null) {
      assert.equal(steps, step - 1);
      break;
    }
    failures++;
    assert.ok(error instanceof ServiceError && error.code === 'storage_full', messageOf(error));
    const now = await Promise.all(['a.conf', 'b.conf', 'd.conf'].map((n) => f.text(n).catch(() => null)));
    assert.ok(now[0] === 'old a\n' || now[0] === 'new a\n', `step ${step}: ${now[0]}`);
    assert.ok(now[1] === 'old b\n' || now[1] === 'new b\n', `step ${step}: ${now[1]}`);
    assert.ok(now[2] === null || now[2] === 'new d\n', `step ${step}: ${now[2]}`);
    if (now.join() === 'old a\n,old b\n,') untouched++;
    assert.deepEqual(
      (await readdir(f.etc)).filter((name) => name.endsWith('.tmp')),
      [],
    );
  }
  // Three steps for each of five files, before the first of five renamings; the first of them is that of a .bak.
  assert.deepEqual([failures, untouched], [20, 17]);
});
