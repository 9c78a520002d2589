import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporary } from '../../test/support/engine-instance.ts';
import { SHARED, shareFiles } from './shared-files.ts';

test('shared files - each node has the same folders, again at each start; files are never left behind', (t) => {
  const folder = temporary(t);
  const [shared, a, b] = ['shared', 'a', 'b'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const made of [a, b]) fs.mkdirSync(made);
  assert.throws(() => shareFiles(a, shared), /shared is no folder; mount or make it/);
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
