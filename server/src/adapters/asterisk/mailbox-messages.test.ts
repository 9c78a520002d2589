import assert from 'node:assert/strict';
import { link, mkdir, mkdtemp, readFile, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silent } from '../../core/log.ts';
import type { VoicemailItem, VoicemailMessage } from '../../ports/voicemail.ts';
import type { Instance } from './conf/instance.ts';
import { MailboxMessages } from './mailbox-messages.ts';

const signal = new AbortController().signal;
/** What the engine writes about a message. */
const about = (callerid: string, more = 'rdnis=unknown'): string =>
  `;
; Message Information file
;
[message]
origmailbox=1003
context=call
exten=1003
${more}
priority=8
callerchan=x-00000001
callerid=${callerid}
origdate=Sat Nov 28 10:00:00 PM UTC 2026
origtime=1795903200
category=
msg_id=1795903200-00000001
flag=
duration=7
`;

async function spool() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-messages-'));
  const of = (...names: string[]): string => path.join(folder, 'spool', ...names);
  const waits: number[] = [];
  const warnings: string[] = [];
  const voicemail = new MailboxMessages(
    { folder, ami_port: 1, ami_actions: { user: 'a', secret: 'b' } } as Instance,
    {
      clock: { now: () => Date.now(), sleep: async (ms) => void waits.push(ms) },
      log: { ...silent, warn: (_fields, text) => void warnings.push(text) },
    },
  );
  return {
    of,
    voicemail,
    waits,
    warnings,
    write: async (name: string, text: string): Promise<void> => {
      await mkdir(path.dirname(of(name)), { recursive: true });
      await writeFile(of(name), text);
    },
    items: async (): Promise<VoicemailItem[]> => {
      const found: VoicemailItem[] = [];
      for await (const item of voicemail.list(signal)) found.push(item);
      return found.toSorted((a, b) => (a.stem < b.stem ? -1 : 1));
    },
    names: async (): Promise<string[]> =>
      (await readdir(folder, { recursive: true, withFileTypes: true }))
        .filter((entry) => !entry.isDirectory())
        .map((entry) => path.relative(of(), path.join(entry.parentPath, entry.name)))
        .toSorted(),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
const INBOX = 'voicemail/default/1003/INBOX';

test('mailbox messages - lists messages and greetings of mailboxes, and those of former holders', async () => {
  await using mail = await spool();
  assert.deepEqual(await mail.items(), []);
  await mail.write(`${INBOX}/msg0000.txt`, about('"Anna \\"A\\" Arndt" <+4930901820>'));
  await mail.write(`${INBOX}/msg0000.wav`, 'hello');
  await mail.write('voicemail/default/1003/unavail.wav', 'greeting');
  await mail.write('voicemail/default/1003/secret.conf', '4711');
  await mail.write('voicemail-aside/1013-7-2/Old/msg0001.txt', about('1008', 'rdnis=1002'));
  await mail.write('voicemail-aside/strange/Old/msg0001.txt', about('1008'));
  const items = await mail.items();
  assert.deepEqual(
    items.map((item) => ({ ...item, mark: '' })),
    [
      {
        stem: 'voicemail-aside/1013-7-2/Old/msg0001',
        mark: '',
        mailbox: '1013',
        former_owner: 7,
        message: {
          folder: 'Old',
          left_for: '1003',
          caller_number: '1008',
          caller_name: null,
          redirected_by: '1002',
          received_ms: 1_795_903_200_000,
          seconds: 7,
        },
      },
      {
        stem: `${INBOX}/msg0000`,
        mark: '',
        mailbox: '1003',
        former_owner: null,
        message: {
          folder: 'INBOX',
          left_for: '1003',
          caller_number: '+4930901820',
          caller_name: 'Anna "A" Arndt',
          redirected_by: null,
          received_ms: 1_795_903_200_000,
          seconds: 7,
        },
      },
      {
        stem: 'voicemail/default/1003/unavail',
        mark: '',
        mailbox: '1003',
        former_owner: null,
        message: null,
      },
    ],
  );
  const [, message, greeting] = items as [VoicemailItem, VoicemailItem, VoicemailItem];
  const audioOf = async (item: VoicemailItem) =>
    (await mail.voicemail.audio(item, signal))?.map(({ name, bytes }) => [
      name,
      Buffer.from(bytes).toString(),
    ]);
  assert.deepEqual(await audioOf(message), [['msg0000.wav', 'hello']]);
  assert.deepEqual(await audioOf(greeting), [['unavail.wav', 'greeting']]);
});

test('mailbox messages - reads every form of a caller', async () => {
  await using mail = await spool();
  const callers = ['Unknown', '', '030901820', 'Anna', '"Anna" <>', '<1008>', '"A < B" <1008>'];
  for (const [n, caller] of callers.entries()) await mail.write(`${INBOX}/msg000${n}.txt`, about(caller));
  const message = (item: VoicemailItem): VoicemailMessage => item.message!;
  assert.deepEqual(
    (await mail.items()).map(message).map(({ caller_number, caller_name }) => [caller_number, caller_name]),
    [
      [null, null],
      [null, null],
      ['030901820', null],
      [null, 'Anna'],
      [null, 'Anna'],
      ['1008', null],
      ['1008', 'A < B'],
    ],
  );
});

test('mailbox messages - deletes all files of an item and no others', async () => {
  await using mail = await spool();
  for (const name of ['msg0001', 'msg0010', 'msg0011']) await mail.write(`${INBOX}/${name}.txt`, about(name));
  await mail.write(`${INBOX}/msg0010.wav`, 'audio');
  await mail.write(`${INBOX}/msg0010intro.wav`, 'audio');
  await mail.write(`${INBOX}/msg00100.wav`, 'audio');
  await mail.write('voicemail/default/1003/unavail.wav', 'audio');
  await mail.write('voicemail/default/1003/secret.conf', '4711');
  const before = await mail.names();
  const wanted = (await mail.items()).filter(({ stem }) => /msg0010$|unavail$/.test(stem));
  assert.equal(await mail.voicemail.remove(wanted, signal), 2);
  const gone = [`${INBOX}/msg0010.txt`, `${INBOX}/msg0010.wav`, `${INBOX}/msg0010intro.wav`];
  assert.deepEqual(
    await mail.names(),
    before.filter((name) => ![...gone, 'voicemail/default/1003/unavail.wav'].includes(name)),
  );
  assert.deepEqual(mail.warnings, ['lamps may still show messages that were deleted']);
  assert.equal(await mail.voicemail.remove(wanted, signal), 0);
});

test('mailbox messages - a message that took the file names of another one is neither read nor deleted for it', async () => {
  await using mail = await spool();
  await mail.write(`${INBOX}/msg0000.txt`, about('1008'));
  await mail.write(`${INBOX}/msg0001.txt`, about('1009'));
  const [item] = (await mail.items()) as [VoicemailItem];
  await rename(mail.of(INBOX, 'msg0001.txt'), mail.of(INBOX, 'msg0000.txt'));
  assert.equal(await mail.voicemail.audio(item, signal), null);
  assert.equal(await mail.voicemail.remove([item], signal), 0);
  assert.match(await readFile(mail.of(INBOX, 'msg0000.txt'), 'utf8'), /callerid=1009/);
});

test('mailbox messages - waits for the engine, and leaves its lock', async () => {
  await using mail = await spool();
  await mail.write(`${INBOX}/msg0000.txt`, about('1008'));
  await mail.write(`${INBOX}/.lock`, '');
  const items = await mail.items();
  assert.equal(await mail.voicemail.remove(items, signal), 0);
  assert.ok(mail.waits.length > 10);
  assert.deepEqual(await mail.names(), [`${INBOX}/.lock`, `${INBOX}/msg0000.txt`]);
  await rm(mail.of(INBOX, '.lock'));
  assert.equal(await mail.voicemail.remove(items, signal), 1);
  assert.deepEqual(await mail.names(), []);
});

test('mailbox messages - ends a lock of its own that a crash left, and no other one', async () => {
  await using mail = await spool();
  const [own, lock] = [`${INBOX}/.lock-offhook`, `${INBOX}/.lock`];
  await mail.write(own, '');
  await link(mail.of(own), mail.of(lock));
  assert.deepEqual(await mail.items(), []);
  assert.deepEqual(await mail.names(), []);
  await mail.write(own, '');
  await mail.write(lock, '');
  await mail.items();
  assert.deepEqual(await mail.names(), [lock]);
});

test('mailbox messages - a message that is being left is no item before the engine has abandoned it', async () => {
  await using mail = await spool();
  const unfinished = 'voicemail/default/1003/tmp/Ab3dE9';
  await mail.write(unfinished, '');
  await mail.write(`${unfinished}.wav`, 'audio');
  assert.deepEqual(await mail.items(), []);
  const hours = new Date(Date.now() - 2 * 3_600_000);
  await utimes(mail.of(unfinished), hours, hours);
  assert.deepEqual(await mail.items(), []);
  await utimes(mail.of(`${unfinished}.wav`), hours, hours);
  const items = await mail.items();
  assert.deepEqual(
    items.map(({ mailbox, message }) => [mailbox, message?.folder, message?.caller_number]),
    [['1003', 'tmp', null]],
  );
  assert.equal(await mail.voicemail.remove(items, signal), 1);
  assert.deepEqual(await mail.names(), []);
});

for (const stem of ['../x', 'voicemail/default/../../etc/x', 'voicemail/default/1003', '/etc/passwd'])
  test(`mailbox messages - a path outside the mailboxes (${stem}) is refused`, async () => {
    await using mail = await spool();
    const item = { stem, mark: '', mailbox: '1003', former_owner: null, message: null };
    await assert.rejects(mail.voicemail.remove([item], signal), /not the path of a message/);
    await assert.rejects(mail.voicemail.audio(item, signal), /not the path of a message/);
  });
