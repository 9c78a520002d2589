import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Instance } from './conf/instance.ts';
import { KEPT_DAYS, moveMailboxes } from './mailbox-folders.ts';

async function spool(): Promise<
  AsyncDisposable & { instance: Instance; of: (...names: string[]) => string }
> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-mail-'));
  return {
    instance: { folder } as Instance,
    of: (...names) => path.join(folder, 'spool', ...names),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
const clockAt = (ms: number) => ({ now: () => ms, sleep: () => Promise.resolve() });
const now = clockAt(Date.now());
async function message(file: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, 'a message');
}

test('mailboxes - messages stay aside while somebody else has the number, and come back with their owner', async () => {
  await using mail = await spool();
  await message(mail.of('voicemail', 'default', '1013', 'INBOX', 'msg0000.txt'));
  await moveMailboxes(mail.instance, [{ number: '1013', from: 7, to: null }], now);
  assert.ok(!existsSync(mail.of('voicemail', 'default', '1013')));
  await moveMailboxes(mail.instance, [{ number: '1013', from: null, to: 9 }], now);
  assert.ok(!existsSync(mail.of('voicemail', 'default', '1013')), 'the next owner has the messages');
  await message(mail.of('voicemail', 'default', '1013', 'INBOX', 'msg0001.txt'));
  await moveMailboxes(mail.instance, [{ number: '1013', from: 9, to: 7 }], now);
  assert.ok(existsSync(mail.of('voicemail', 'default', '1013', 'INBOX', 'msg0000.txt')));
  assert.ok(!existsSync(mail.of('voicemail', 'default', '1013', 'INBOX', 'msg0001.txt')));
  assert.ok(existsSync(mail.of('voicemail-aside', '1013-9', 'INBOX', 'msg0001.txt')));
});

test('mailboxes - nothing is there, a number that is none, and a move that is repeated do no harm', async () => {
  await using mail = await spool();
  await message(mail.of('keep', 'x'));
  await moveMailboxes(mail.instance, [{ number: '../keep', from: 1, to: null }], now);
  for (let i = 0; i < 2; i += 1)
    await moveMailboxes(mail.instance, [{ number: '1013', from: 7, to: 9 }], now);
  assert.ok(existsSync(mail.of('keep', 'x')));
});

test('mailboxes - where a message came meanwhile the older ones stay aside', async () => {
  await using mail = await spool();
  await message(mail.of('voicemail', 'default', '1013', 'INBOX', 'msg0000.txt'));
  await moveMailboxes(mail.instance, [{ number: '1013', from: 7, to: null }], now);
  await message(mail.of('voicemail', 'default', '1013', 'INBOX', 'msg0005.txt'));
  await moveMailboxes(mail.instance, [{ number: '1013', from: null, to: 7 }], now);
  assert.ok(existsSync(mail.of('voicemail', 'default', '1013', 'INBOX', 'msg0005.txt')));
  assert.ok(existsSync(mail.of('voicemail-aside', '1013-7', 'INBOX', 'msg0000.txt')));
});

test('mailboxes - what nobody asked for again is gone after its days, and not before', async () => {
  await using mail = await spool();
  await message(mail.of('voicemail', 'default', '1013', 'INBOX', 'msg0000.txt'));
  await moveMailboxes(mail.instance, [{ number: '1013', from: 7, to: null }], now);
  const day = 86_400_000;
  await moveMailboxes(mail.instance, [], clockAt(Date.now() + (KEPT_DAYS - 1) * day));
  assert.ok(existsSync(mail.of('voicemail-aside', '1013-7')));
  await moveMailboxes(mail.instance, [], clockAt(Date.now() + (KEPT_DAYS + 1) * day));
  assert.ok(!existsSync(mail.of('voicemail-aside', '1013-7')));
});
