import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { installedZone } from './zone-data.ts';

test('conf/zone-data - a former name of a zone is the present one where the machine has only that', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-zones-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(path.join(folder, 'Europe'));
  await writeFile(path.join(folder, 'Europe', 'Kyiv'), '');
  assert.equal(installedZone('Europe/Kiev', folder), null);
  await writeFile(
    path.join(folder, 'tzdata.zi'),
    '# version 2026a\nZ Europe/Kyiv 2:2:4 - LMT 1880\nL Europe/Kyiv Europe/Kiev\nL Asia/Kolkata Asia/Calcutta\n',
  );
  assert.equal(installedZone('Europe/Kyiv', folder), 'Europe/Kyiv');
  assert.equal(installedZone('Europe/Kiev', folder), 'Europe/Kyiv');
  // The link is known, its data is not there.
  assert.equal(installedZone('Asia/Calcutta', folder), null);
  assert.equal(installedZone('Mars/Olympus', folder), null);
});
