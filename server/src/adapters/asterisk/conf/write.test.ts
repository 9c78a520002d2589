import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, utimes } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { writeFiles } from './write.ts';

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

test('conf/write - what is in the custom folder stays', async () => {
  await using f = await folder();
  await mkdir(path.join(f.etc, 'custom', 'mine.conf'), { recursive: true });
  await writeFiles(f.etc, files({ 'a.conf': 'one\n' }));
  assert.deepEqual(await readdir(path.join(f.etc, 'custom')), ['mine.conf']);
});

test('conf/write - a file that cannot be replaced is an error, leaves no rubbish and the others whole', async () => {
  await using f = await folder();
  await writeFiles(f.etc, files({ 'a.conf': 'one\n' }));
  await mkdir(path.join(f.etc, 'b.conf', 'in the way'), { recursive: true });
  await assert.rejects(writeFiles(f.etc, files({ 'a.conf': 'two\n', 'b.conf': 'two\n', 'c.conf': 'two\n' })));
  assert.equal(await f.text('a.conf'), 'two\n');
  assert.deepEqual((await readdir(f.etc)).sort(), ['a.conf', 'a.conf.bak', 'b.conf', 'custom']);
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
