import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { makeFolder } from './folders.ts';

test('folders - made with their parents, for their owner only, and a second time nothing happens', (t) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-folders-'));
  t.after(() => fs.rmSync(root, { recursive: true }));
  const deep = path.join(root, 'a', 'b', 'c');
  makeFolder(deep);
  makeFolder(deep);
  for (const folder of [deep, path.dirname(deep)]) assert.equal(fs.statSync(folder).mode & 0o777, 0o700);
});

test('folders - where none can be made it says so instead of trying for ever', () => {
  assert.throws(() => makeFolder('/proc/offhook/data'), { code: 'ENOENT' });
});

test('folders - a file in its place is named as one', (t) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-folders-'));
  t.after(() => fs.rmSync(root, { recursive: true }));
  fs.writeFileSync(path.join(root, 'file'), '');
  assert.throws(() => makeFolder(path.join(root, 'file')), /it is a file/);
  assert.throws(() => makeFolder(path.join(root, 'file', 'data')), { code: 'ENOTDIR' });
});

test('folders - a level that another process makes at the same moment is used', (t) => {
  const parent = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-folders-'));
  t.after(() => fs.rmSync(parent, { recursive: true }));
  const make = fs.mkdirSync;
  const made = t.mock.method(fs, 'mkdirSync', (level: string) => (make(level), make(level)));
  makeFolder(path.join(parent, 'a', 'b'));
  assert.equal(made.mock.callCount(), 2);
  made.mock.restore();
  assert.ok(fs.statSync(path.join(parent, 'a', 'b')).isDirectory());
});
