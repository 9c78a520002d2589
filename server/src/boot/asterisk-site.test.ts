import assert from 'node:assert/strict';
import { link, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../core/clock.ts';
import { silent } from '../core/log.ts';
import { openAsteriskSite } from './asterisk-site.ts';
import { readConfig } from './config.ts';

test('engine site - opening it ends a lock of a mailbox that a crash left, so that the engine stores messages', async (t) => {
  const data = await mkdtemp(path.join(os.tmpdir(), 'offhook-site-'));
  t.after(() => rm(data, { recursive: true, force: true }));
  const folder = path.join(data, 'engine', 'spool', 'voicemail', 'default', '1003', 'INBOX');
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, '.lock-offhook'), '');
  await link(path.join(folder, '.lock-offhook'), path.join(folder, '.lock'));
  const config = readConfig({ OFFHOOK_DATA: data }, []);
  await openAsteriskSite({ config, log: silent, clock: systemClock, say: () => {} });
  assert.deepEqual(await readdir(folder), []);
});
