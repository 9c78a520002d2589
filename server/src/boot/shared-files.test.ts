import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporary } from '../../test/support/engine-instance.ts';
import { SHARED, shareFiles, sharedFilesCheck } from './shared-files.ts';

test('shared files - each node has the same folders, again at each start; files are never left behind', (t) => {
  const folder = temporary(t);
  const [shared, a, b] = ['shared', 'a', 'b'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const made of [a, b]) fs.mkdirSync(made);
  assert.throws(() => shareFiles(a, shared), /shared is not a folder; mount or create it/);
  assert.deepEqual(fs.readdirSync(a), []);
  fs.mkdirSync(shared);
  fs.mkdirSync(path.join(a, 'recordings'));
  for (const data of [a, b, a]) shareFiles(data, shared);
  for (const name of SHARED) {
    fs.writeFileSync(path.join(a, name, 'one'), name);
    assert.equal(fs.readFileSync(path.join(b, name, 'one'), 'utf8'), name);
  }
  const c = path.join(folder, 'c');
  fs.mkdirSync(path.join(c, 'exports'), { recursive: true });
  fs.writeFileSync(path.join(c, 'exports', '1.csv'), '');
  assert.throws(() => shareFiles(c, shared), /exports has files; move them to /);
  assert.deepEqual(fs.readdirSync(path.join(c, 'exports')), ['1.csv']);
  const moved = path.join(folder, 'moved');
  fs.renameSync(shared, moved);
  shareFiles(b, moved);
  assert.equal(fs.readFileSync(path.join(b, 'sounds', 'one'), 'utf8'), 'sounds');
});
test('shared files - the check of a node finds a folder that cannot be written, is not mounted or is gone, and one that is back', async (t) => {
  const folder = temporary(t);
  const [shared, data, away] = ['shared', 'a', 'away'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const made of [shared, data]) fs.mkdirSync(made);
  shareFiles(data, shared);
  let now = 0;
  const check = sharedFilesCheck({ node: 'a', sharedFiles: shared }, () => now);
  const finding = (): Promise<{ ok: boolean; detail: string }> => {
    now += 5_000;
    return check.run();
  };
  assert.deepEqual(await finding(), { ok: true, detail: `${shared} answers` });
  assert.deepEqual(
    await sharedFilesCheck({ node: 'b', sharedFiles: shared }).run(),
    { ok: true, detail: `${shared} answers` },
    'beside another node',
  );
  // A folder in the way of its file, as root may write what cannot be written.
  fs.rmSync(path.join(shared, '.alive-a'));
  fs.mkdirSync(path.join(shared, '.alive-a'));
  assert.deepEqual(
    [(await finding()).ok, (await finding()).detail.startsWith(`${shared}: EISDIR`)],
    [false, true],
  );
  fs.rmdirSync(path.join(shared, '.alive-a'));
  assert.equal((await finding()).ok, true);
  fs.renameSync(shared, away);
  assert.match((await finding()).detail, /ENOENT/);
  // The empty mount point.
  fs.mkdirSync(shared);
  assert.match((await finding()).detail, /it has no recordings, exports, privacy, sounds: is it mounted\?$/);
  fs.rmdirSync(shared);
  fs.renameSync(away, shared);
  assert.equal((await finding()).ok, true);
  assert.equal((await sharedFilesCheck({ node: 'a', sharedFiles: null }).run()).ok, true);
});
