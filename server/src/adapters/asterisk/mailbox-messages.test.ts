import assert from 'node:assert/strict';
import { unlinkSync } from 'node:fs';
import { link, mkdir, mkdtemp, readFile, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { silent } from '../../core/log.ts';
import { itemsOf } from '../../ports/voicemail.ts';
import type { VoicemailItem, VoicemailMessage } from '../../ports/voicemail.ts';
import type { Instance } from './conf/instance.ts';
import { endLeftLocks, moveMailboxes } from './mailbox-folders.ts';
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
  /** Called while something waits. */
  const hooks = { waiting: async (): Promise<void> => {} };
  const voicemail = new MailboxMessages(
    { folder, ami_port: 1, ami_actions: { user: 'a', secret: 'b' } } as Instance,
    {
      clock: {
        now: () => Date.now(),
        sleep: async (ms) => {
          waits.push(ms);
          await hooks.waiting();
        },
      },
      log: { ...silent, warn: (_fields, text) => void warnings.push(text) },
    },
  );
  return {
    instance: { folder },
    of,
    voicemail,
    hooks,
    waits,
    warnings,
    write: async (name: string, text: string): Promise<void> => {
      await mkdir(path.dirname(of(name)), { recursive: true });
      await writeFile(of(name), text);
    },
    items: async (): Promise<VoicemailItem[]> =>
      (await Readable.from(itemsOf(voicemail, signal)).toArray()).toSorted(
        (a: VoicemailItem, b: VoicemailItem) => (a.stem < b.stem ? -1 : 1),
      ),
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

for (const [caller, number] of [
  ['"A; B" <1008>', '1008'],
  ['A; B', null],
] as const)
  test(`mailbox messages - reads what the engine wrote again after a forward with a comment (${caller})`, async () => {
    await using mail = await spool();
    const text = about(caller, 'rdnis=1002');
    const again = text.replaceAll(/^([a-z_]+)=/gm, '$1 = ').replaceAll('A; B', 'A\\; B');
    await mail.write(`${INBOX}/msg0000.txt`, text);
    await mail.write(`${INBOX}/msg0001.txt`, again);
    const found = (await mail.items()).map(({ message }) => message!);
    assert.deepEqual(
      found.map((one) => [one.caller_name, one.caller_number, one.redirected_by]),
      [
        ['A; B', number, '1002'],
        ['A; B', number, '1002'],
      ],
    );
    assert.deepEqual(found[0], found[1]);
  });

test('mailbox messages - a text that is kept beside a message is no audio, and is deleted with it', async () => {
  await using mail = await spool();
  for (const name of ['msg0000.txt', 'msg0000-bak.txt']) await mail.write(`${INBOX}/${name}`, about('1008'));
  for (const name of ['msg0000.wav', 'msg0000-bak.wav']) await mail.write(`${INBOX}/${name}`, 'audio');
  const items = await mail.items();
  const audio = await mail.voicemail.audio(items[0]!, signal);
  assert.deepEqual(audio?.map(({ name }) => name).toSorted(), ['msg0000-bak.wav', 'msg0000.wav']);
  assert.equal(await mail.voicemail.remove(items, signal), 1);
  assert.deepEqual(await mail.names(), []);
});

test('mailbox messages - a greeting that its owner replaces while it is read has no audio', async () => {
  await using mail = await spool();
  const name = 'voicemail/default/1003/unavail.wav';
  await mail.write(name, 'audio');
  const [greeting] = await mail.items();
  let reads = 0;
  const item = {
    ...greeting!,
    // It is read once before the folder is, and once after it.
    get message() {
      reads += 1;
      if (reads === 2) unlinkSync(mail.of(name));
      return null;
    },
  };
  assert.equal(await mail.voicemail.audio(item, signal), null);
  assert.equal(reads, 2);
});

test('mailbox messages - a page ends with a mailbox, and the next one continues after it', async () => {
  await using mail = await spool();
  const name = (n: number): string => `msg${String(n).padStart(4, '0')}`;
  for (let n = 0; n < 1_001; n += 1) await mail.write(`${INBOX}/${name(n)}.txt`, about('1008'));
  await mail.write('voicemail/default/1004/INBOX/msg0000.txt', about('1008'));
  await mail.write('voicemail-aside/1003-7/INBOX/msg0000.txt', about('1008'));
  const first = await mail.voicemail.page(null, signal);
  assert.deepEqual(
    [first.items.length, new Set(first.items.map(({ mailbox }) => mailbox))],
    [1_001, new Set(['1003'])],
  );
  const second = await mail.voicemail.page(first.next, signal);
  assert.deepEqual(
    [second.items.map(({ mailbox, former_owner }) => [mailbox, former_owner]), second.next],
    [
      [
        ['1004', null],
        ['1003', 7],
      ],
      null,
    ],
  );
});

test('mailbox messages - a file that cannot be read is counted, and costs no other message', async () => {
  await using mail = await spool();
  for (const name of ['msg0000', 'msg0001']) await mail.write(`${INBOX}/${name}.txt`, about(name));
  await mail.write(`${INBOX}/msg0000.wav`, 'audio');
  const [first, second] = await mail.items();
  // A folder in place of the file, because the file system refuses root nothing else.
  await rm(mail.of(INBOX, 'msg0000.txt'));
  await mkdir(mail.of(INBOX, 'msg0000.txt'));
  const { items, unread } = await mail.voicemail.page(null, signal);
  assert.deepEqual([items, unread], [[second], 1]);
  await assert.rejects(mail.voicemail.audio(first!, signal), { code: 'EISDIR' });
  assert.equal(await mail.voicemail.remove([first!, second!], signal), 1);
  assert.deepEqual(await mail.names(), [`${INBOX}/msg0000.wav`]);
  assert.deepEqual(mail.warnings, [
    'voicemail could not be read',
    'a voicemail message could not be deleted',
    'lamps may still show messages that were deleted',
  ]);
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

test('mailbox messages - a lock of the engine that a crash left costs the time of one wait, not one for each message', async () => {
  await using mail = await spool();
  for (const name of ['msg0000', 'msg0001', 'msg0002'])
    await mail.write(`${INBOX}/${name}.txt`, about('1008'));
  await mail.write('voicemail/default/1003/Old/msg0000.txt', about('1008'));
  await mail.write(`${INBOX}/.lock`, '');
  const items = await mail.items();
  assert.equal(await mail.voicemail.remove(items, signal), 1);
  const once = mail.waits.length;
  assert.ok(once < 110, `${once} waits`);
  for (const item of items) assert.equal(await mail.voicemail.audio(item, signal), null);
  assert.equal(mail.waits.length, once);
  await mail.items();
  assert.equal(await mail.voicemail.audio(items[0]!, signal), null);
  assert.ok(mail.waits.length > once + 90, `${mail.waits.length} waits`);
});

test('mailbox messages - a start ends the locks of this service that a crash left, in mailboxes and aside', async () => {
  await using mail = await spool();
  const foreign = 'voicemail/default/1003/Old/.lock';
  for (const folder of [INBOX, 'voicemail-aside/1003-7/INBOX']) {
    await mail.write(`${folder}/.lock-offhook`, '');
    await link(mail.of(folder, '.lock-offhook'), mail.of(folder, '.lock'));
  }
  await mail.write(foreign, '');
  await endLeftLocks(mail.instance);
  assert.deepEqual(await mail.names(), [foreign]);
});

test('mailbox messages - a mailbox that is moved while it is locked keeps no lock', async () => {
  await using mail = await spool();
  await mail.write(`${INBOX}/.lock-offhook`, '');
  await link(mail.of(INBOX, '.lock-offhook'), mail.of(INBOX, '.lock'));
  await mail.write(`${INBOX}/msg0000.txt`, about('1008'));
  await mail.write('voicemail-owners.json', '{"1003":7}');
  const { instance } = mail;
  const options = { clock: { now: () => Date.now(), sleep: () => Promise.resolve() }, log: silent };
  await moveMailboxes(instance as Instance, { '1003': 8 }, options);
  assert.deepEqual(await mail.names(), ['voicemail-aside/1003-7/INBOX/msg0000.txt', 'voicemail-owners.json']);
});

test('mailbox messages - an interruption shows the lamps of the messages that were deleted before it', async () => {
  await using mail = await spool();
  await mail.write(`${INBOX}/msg0000.txt`, about('1008'));
  await mail.write('voicemail/default/1003/Old/msg0000.txt', about('1008'));
  await mail.write('voicemail/default/1003/Old/.lock', '');
  const items = await mail.items();
  mail.hooks.waiting = () => Promise.reject(new Error('stopped'));
  await assert.rejects(mail.voicemail.remove(items, signal), /stopped/);
  assert.deepEqual(mail.warnings, ['lamps may still show messages that were deleted']);
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
