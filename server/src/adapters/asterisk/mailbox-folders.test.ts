import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silent } from '../../core/log.ts';
import type { Site } from '../../ports/site.ts';
import type { Instance } from './conf/instance.ts';
import { KEPT_DAYS, endChosenPins, moveMailboxes, restoreChosenPins } from './mailbox-folders.ts';

async function spool() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-mail-'));
  const of = (...names: string[]): string => path.join(folder, 'spool', ...names);
  await mkdir(of());
  const warnings: object[] = [];
  return {
    of,
    warnings,
    record: of('voicemail-owners.json'),
    to: (owners: Site['mailbox_owners'], ms = Date.now()): Promise<void> =>
      moveMailboxes({ folder } as Instance, owners, {
        clock: { now: () => ms, sleep: () => Promise.resolve() },
        log: { ...silent, warn: (fields) => void warnings.push(fields) },
      }),
    message: async (number: string, n: number): Promise<void> => {
      const inbox = of('voicemail', 'default', number, 'INBOX');
      await mkdir(inbox, { recursive: true });
      await writeFile(path.join(inbox, `msg000${n}.txt`), 'a message');
    },
    hears: (number: string, n: number): boolean =>
      existsSync(of('voicemail', 'default', number, 'INBOX', `msg000${n}.txt`)),
    keeps: (name: string, n: number): boolean =>
      existsSync(of('voicemail-aside', name, 'INBOX', `msg000${n}.txt`)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

test('mailboxes - messages stay aside while somebody else has the number, and come back with their owner', async () => {
  await using mail = await spool();
  await mail.to({ 1013: 7 });
  await mail.message('1013', 0);
  await mail.to({});
  assert.ok(!mail.hears('1013', 0));
  await mail.to({ 1013: 9 });
  assert.ok(!mail.hears('1013', 0), 'the next owner has the messages');
  await mail.message('1013', 1);
  await mail.to({ 1013: 7 });
  assert.deepEqual([mail.hears('1013', 0), mail.hears('1013', 1)], [true, false]);
  assert.ok(mail.keeps('1013-9', 1));
});

test('mailboxes - an engine that missed changes gives nothing to the next owner', async () => {
  await using mail = await spool();
  await mail.to({ 1013: 7, 1014: 8 });
  await mail.message('1013', 0);
  await mail.message('1014', 0);
  await mail.to({ 1013: 9 });
  assert.deepEqual([mail.hears('1013', 0), mail.hears('1014', 0)], [false, false]);
  assert.deepEqual([mail.keeps('1013-7', 0), mail.keeps('1014-8', 0)], [true, true]);
});

test('mailboxes - a rollback of a change that moved nothing yet takes nothing from the owner', async () => {
  await using mail = await spool();
  await mail.to({ 1013: 7 });
  await mail.message('1013', 0);
  await mail.to({ 1013: 7 });
  assert.ok(mail.hears('1013', 0));
});

// Each step of a change from 7 to 9, whose older messages are aside, as a crash leaves it.
for (const [step, crash] of [
  ['a folder was moved aside', async () => {}],
  [
    'the record was written',
    async ({ record }: { record: string }) => await writeFile(record, '{"1013":9,"1014":8}'),
  ],
] as const)
  for (const [owner, own] of [
    [7, 0],
    [9, 1],
  ] as const)
    test(`mailboxes - a crash after ${step}, then ${owner} has the number: only its messages are there`, async () => {
      await using mail = await spool();
      await mail.to({ 1013: 9, 1014: 8 });
      await mail.message('1013', 1);
      await mail.message('1014', 0);
      await mail.to({ 1013: 7, 1014: 8 });
      await mail.message('1013', 0);
      await rename(mail.of('voicemail', 'default', '1013'), mail.of('voicemail-aside', '1013-7'));
      await crash(mail);
      for (let i = 0; i < 2; i += 1) {
        await mail.to({ 1013: owner, 1014: 8 });
        assert.deepEqual([mail.hears('1013', own), mail.hears('1013', 1 - own)], [true, false]);
        assert.ok(mail.keeps(owner === 7 ? '1013-9' : '1013-7', 1 - own));
        assert.ok(mail.hears('1014', 0));
      }
    });

test('mailboxes - a message that is left while its owner loses the number is not for the next one', async () => {
  await using mail = await spool();
  await mail.to({ 1013: 7 });
  await mail.message('1013', 0);
  await mail.to({});
  await mail.message('1013', 1);
  await mail.to({ 1013: 9 });
  assert.ok(!mail.hears('1013', 1));
  assert.deepEqual([mail.keeps('1013-7', 0), mail.keeps('1013-7-2', 1)], [true, true]);
  await mail.to({ 1013: 7 }, Date.now() + 2 * KEPT_DAYS * 86_400_000);
  assert.deepEqual([mail.hears('1013', 0), mail.keeps('1013-7-2', 1)], [true, true]);
  assert.deepEqual(mail.warnings, [{ folder: mail.of('voicemail-aside', '1013-7-2') }]);
});

test('mailboxes - where a message came meanwhile the older ones stay aside, and the owner can change again', async () => {
  await using mail = await spool();
  await mail.to({ 1013: 7 });
  await mail.message('1013', 0);
  await mail.to({});
  await mail.message('1013', 5);
  await writeFile(mail.record, '{}');
  await mail.to({ 1013: 7 });
  assert.deepEqual([mail.hears('1013', 5), mail.keeps('1013-7', 0)], [true, true]);
  for (let i = 0; i < 2; i += 1) await mail.to({ 1013: 9 });
  assert.deepEqual([mail.keeps('1013-7', 0), mail.keeps('1013-7-2', 5)], [true, true]);
});

test('mailboxes - without a record folders belong to the wanted owners, and those of no number stay', async () => {
  await using mail = await spool();
  await mail.message('1013', 0);
  await mail.message('5000', 0);
  await mail.to({ 1013: 7 });
  assert.deepEqual([mail.hears('1013', 0), mail.hears('5000', 0)], [true, true]);
  await mail.to({ 1013: 9 });
  assert.deepEqual([mail.hears('1013', 0), mail.hears('5000', 0)], [false, true]);
  await mail.to(undefined);
  assert.ok(mail.keeps('1013-7', 0));
});

for (const text of ['', '{"1013":', '{"1013":"../x"}', '{"../x":7}', '[]'])
  test(`mailboxes - a damaged record (${text}) is reported, and nothing is moved or written`, async () => {
    await using mail = await spool();
    await mail.message('1013', 0);
    await writeFile(mail.record, text);
    await assert.rejects(mail.to({ 1013: 9 }), /voicemail-owners\.json is damaged.*restore it/);
    assert.ok(mail.hears('1013', 0));
    assert.equal(await readFile(mail.record, 'utf8'), text);
  });

test('mailboxes - what nobody asked for again is gone after its days, and not before', async () => {
  await using mail = await spool();
  await mail.to({ 1013: 7 });
  await mail.message('1013', 0);
  await mail.to({});
  const day = 86_400_000;
  await mail.to({}, Date.now() + (KEPT_DAYS - 1) * day);
  assert.ok(mail.keeps('1013-7', 0));
  await mail.to({}, Date.now() + (KEPT_DAYS + 1) * day);
  assert.ok(!existsSync(mail.of('voicemail-aside', '1013-7')));
});

test('mailboxes - a PIN chosen by phone ends with a new PIN, and is restored with the former one until the next change', async () => {
  await using mail = await spool();
  const instance = { folder: path.dirname(mail.of()) };
  const file = (first: string, second: string): string =>
    `[default]\n1001 => ${first},Ada\n1013 => ${second},Bea\n`;
  const choose = async (number: string, pin: string): Promise<void> => {
    await mkdir(mail.of('voicemail', 'default', number), { recursive: true });
    await writeFile(mail.of('voicemail', 'default', number, 'secret.conf'), pin);
  };
  const chosen = async (): Promise<(string | null)[]> =>
    Promise.all(
      ['1001', '1013'].map((number) =>
        readFile(mail.of('voicemail', 'default', number, 'secret.conf'), 'utf8').catch(() => null),
      ),
    );
  await choose('1001', 'one');
  await choose('1013', 'two');
  await endChosenPins(instance, file('1111', '3333'), file('2222', '3333'));
  assert.deepEqual(await chosen(), [null, 'two']);
  await restoreChosenPins(instance, async () => file('2222', '3333'));
  assert.deepEqual(await chosen(), [null, 'two']);
  await choose('1001', 'chosen meanwhile');
  await restoreChosenPins(instance, async () => file('1111', '3333'));
  assert.deepEqual(await chosen(), ['one', 'two']);

  await endChosenPins(instance, file('1111', '3333'), file('2222', '3333'));
  await endChosenPins(instance, file('2222', '3333'), file('1111', '3333'));
  await restoreChosenPins(instance, async () => file('1111', '3333'));
  assert.deepEqual(await chosen(), [null, 'two'], 'the former PIN was given again');
});
