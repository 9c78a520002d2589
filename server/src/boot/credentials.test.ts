import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silent } from '../core/log.ts';
import type { Person } from '../ports/directory.ts';
import { readyText } from './banner.ts';
import { readConfig } from './config.ts';
import { credentialsFile, keepCredentials, readCredentials } from './credentials.ts';

const entry = (extension: string, password?: string) => ({
  extension,
  username: `u${extension}`,
  full_name: `Name ${extension}`,
  level: 'agent',
  ...(password === undefined ? {} : { password }),
  sip_password: `sip-${extension}`,
});
/** A folder whose file has 1001 to 1003, and a directory and sessions that are changed by hand. */
async function scene() {
  const data = await fs.mkdtemp(path.join(os.tmpdir(), 'offhook-credentials-'));
  await fs.writeFile(
    credentialsFile(data),
    JSON.stringify([entry('1001', 'first-1'), entry('1002', 'first-2'), entry('1003', 'first-3')]),
  );
  const people = new Map<string, Person>();
  for (const [id, extension] of ['1001', '1002', '1003'].entries()) {
    const { username, full_name: name } = entry(extension);
    people.set(extension, { id, extension, username, name, level: 'agent' } as Person);
  }
  const secrets = new Map<string, string>();
  const changed: (() => void)[] = [];
  const passwords: ((id: number) => void)[] = [];
  const stop = await keepCredentials(data, {
    directory: {
      byExtension: (extension) => people.get(extension),
      sipPassword: (extension) => secrets.get(extension) ?? `sip-${extension}`,
      onChange: (listener) => (changed.push(listener), () => void changed.pop()),
    },
    sessions: { onPasswordChanged: (listener) => (passwords.push(listener), () => void passwords.pop()) },
    log: silent,
  });
  return {
    data,
    people,
    secrets,
    stop,
    tell: () => changed[0]?.(),
    change: (id: number) => passwords[0]?.(id),
  };
}

test('credentials - a first password leaves file and banner once it was changed, the rest of the entry stays', async () => {
  const { data, stop, change } = await scene();
  change(1);
  await stop();
  assert.deepEqual(await readCredentials(data), [
    entry('1001', 'first-1'),
    entry('1002'),
    entry('1003', 'first-3'),
  ]);
  const { mode } = await fs.stat(credentialsFile(data));
  assert.equal(mode & 0o777, 0o600);
  const config = readConfig({ OFFHOOK_DATA: data });
  const shown = { deskPhones: true, seconds: 1, terminal: true };
  const text = await readyText(config, 'http://127.0.0.1:1', shown);
  assert.match(text, /1001 .*first-1/);
  assert.doesNotMatch(text, /first-2|1002/);
});

test('credentials - an entry follows the SIP password of its extension and goes with it', async () => {
  const { data, people, secrets, stop, tell } = await scene();
  secrets.set('1001', 'renewed');
  people.delete('1002');
  tell();
  await stop();
  assert.deepEqual(await readCredentials(data), [
    { ...entry('1001', 'first-1'), sip_password: 'renewed' },
    entry('1003', 'first-3'),
  ]);
});

test('credentials - a file that was deleted is not made again by a change', async () => {
  const { data, stop, change } = await scene();
  await fs.rm(credentialsFile(data));
  change(1);
  await stop();
  await assert.rejects(fs.access(credentialsFile(data)));
});
