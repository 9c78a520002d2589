/** Erases an outside party from a real site: from its replies, and from the bytes of its files. */
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ConversationChangesReply } from '@offhook/contract/conversation-list.ts';
import { ConversationEvent } from '@offhook/contract/conversations.ts';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { ErasureProof, ErasureReply, PrivacyExportReply } from '@offhook/contract/privacy.ts';
import type { Erasure } from '@offhook/contract/privacy.ts';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { celFile } from '../../src/adapters/asterisk/conf/instance.ts';
import { loadInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import { ask, recordingsOf } from '../support/call-steps.ts';
import { rebuild } from '../support/conversation-rebuild.ts';
import { connect, talk, useStage } from '../support/conversation-stage.ts';
import { openFarSide } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { farAddress } from '../support/far-address.ts';
import type { Site } from '../support/site.ts';
import { OVER_POSTGRES } from '../support/site-store.ts';
import { openSse } from '../support/sse-client.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

const ANY = z.unknown();
const StreamEvent = z.object({ data: ConversationEvent });
const north = await farAddress('127.0.0.2');
const NUMBER = '+4930901820';
const NAME = 'Wilhelmina Quastenflosser';
const NOTE = 'would like the blue one';
/** All spellings of the number, the name and the note. */
const TEXTS = ['30901820', 'Quastenflosser', NOTE];
/** Remains named by a proof, and their files. */
const REMAINS: Readonly<Record<string, RegExp>> = {
  journal: /^journal\.db/,
  'logs, backups, and systems that were sent events or files': /^engine\/log\/(?!cel-custom)/,
};
/** Records that the engine writes later for these calls, named by a proof, too. */
const REMAINS_LATE = /^engine\/log\/cel-custom\/offhook\.csv/;

/** The bytes of a file; none once it is gone, as a running service and its engine remove files of their own. */
function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
/** Files below a folder that contain any of these; paths in the folder. */
function filesWith(folder: string, needles: readonly (string | Buffer)[]): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(path.join(folder, name), { throwIfNoEntry: false })?.isFile())
    .filter((name) => {
      const bytes = contentOf(path.join(folder, name));
      return needles.some((needle) => bytes.includes(needle));
    });
}
/** Packed data of conversations, in which a text search finds nothing. */
async function packedIn(site: Site): Promise<readonly Buffer[]> {
  const columns = ['history_loose.records', 'history_packs.records', 'conversations.record'];
  const found = await Promise.all(
    columns.map((at) => {
      const [table, column] = at.split('.');
      return site.place.rows(`select ${column} as bytes from ${table}`);
    }),
  );
  return found.flat().map((row) => Buffer.from(row['bytes'] as Uint8Array));
}
const ExportFile = z.object({
  items: z.array(z.object({ kind: z.string(), value: z.looseObject({}) })),
  missing: z.array(z.unknown()),
});
const Message = z.object({
  mailbox: z.string(),
  folder: z.string(),
  caller_number: z.string(),
  seconds: z.number(),
  audio: z.array(z.object({ name: z.string(), base64: z.string() })),
});
const OTHER = new Set(
  'number number_e164 name text parties revision change erased recordings has_recording notes'.split(' '),
);
/** Counts and times of a conversation, without its parties. */
const shapeOf = (c: Conversation): string =>
  JSON.stringify({ ...c, state: '' }, (key, value: unknown) => (OTHER.has(key) ? undefined : value));

describe('privacy', () => {
  let outside: Phone;
  const stage = useStage(
    {
      people: ['2001', '2002'],
      // Without a phone: a caller reaches the mailbox at once.
      mailboxes: ['2002'],
      objects: {
        trunk: [{ name: 'north', title: 'North', ...north }],
        inbound_route: [
          { name: 'in', trunk: 'north', number: '+493012345601', to: { kind: 'extension', key: '2001' } },
          {
            name: 'mailbox',
            trunk: 'north',
            number: '+493012345602',
            to: { kind: 'extension', key: '2002' },
          },
        ],
      },
    },
    {
      env: { OFFHOOK_SITE_COUNTRY: 'DE' },
      async prepare(_dataDir, server) {
        outside = await openFarSide({ server, extension: NUMBER, name: NAME, at: north });
      },
    },
  );
  after(() => outside?.[Symbol.asyncDispose]());
  const api = async <T extends z.ZodType>(to: string, schema: T, body?: object): Promise<z.infer<T>> => {
    const { token } = await stage.site().person('1001');
    const response = await fetch(`${stage.site().base}/api/v1/${to}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const json: unknown = await response.json();
    assert.ok(response.ok, JSON.stringify(json));
    return schema.parse(json);
  };
  const rowsOf = async () => {
    const { calls, ...totals } = await (await stage.site().person('1001')).history('?extension=2001');
    return { totals, rows: calls.map((c) => [c.call_key, c.direction, c.talk_seconds, c.duration]) };
  };

  test('privacy - a number is erased from a real site: its conversations stay without it, and no byte of it is in its files', async () => {
    const site = stage.site();
    const { dataDir } = site;
    await using desk = await stage.phone('2001');
    const own = await site.person('2001');
    const [call, there] = await connect(outside, '+493012345601', desk);
    assert.deepEqual(there.party, { number: NUMBER, name: NAME });
    const id = await stage.open('2001');
    await ask(site, own, `/${id}/record`, { on: true });
    await talk(1, call, there);
    await call.hangup();
    await api(`conversations/${encodeURIComponent(id)}/notes`, ANY, { text: NOTE });
    await until('the recording to be stored', async () => {
      const all = await recordingsOf(site, own, id);
      return all[0]?.state === 'stored' && all;
    });
    const before = await until('it to be final', async () => {
      const c = await stage.detail(id);
      return c.state === 'final' && c;
    });
    assert.ok(before.notes.length === 1 && before.has_recording && !before.erased && before.revision === 1);
    const rows = await rowsOf();
    const { since } = await api('conversations/changes', ConversationChangesReply);
    const packed = await packedIn(site);
    const records = celFile(loadInstance(dataDir)!);
    const lines = readFileSync(records, 'utf8');
    const held = filesWith(dataDir, [...TEXTS, ...packed]);
    for (const name of [...(OVER_POSTGRES ? [] : ['offhook.db-wal']), path.relative(dataDir, records)])
      assert.ok(held.includes(name), `${name} in ${held.join(' ')}`);

    await using stream = new AsyncDisposableStack();
    const sse = await openSse(`${site.base}/api/v1/events?topics=history`, (await site.person('1001')).token);
    stream.defer(() => sse.stop());
    const asked = { number: '030 / 90 18 20', reason: 'Request 17' };
    const { erasure } = await api('privacy/erasures', ErasureReply, asked);
    const proof: Erasure = await until('the erasure to be over', async () => {
      const { erasure: now } = await api(`privacy/erasures/${erasure.id}`, ErasureProof);
      return (now.state === 'done' || now.state === 'failed') && now;
    });
    assert.deepEqual([proof.state, proof.verified, proof.after], ['done', true, {}], JSON.stringify(proof));
    assert.ok(proof.before!['conversations'] === 1 && proof.erased['recordings'] === 1);

    const now = await stage.detail(id);
    assert.deepEqual([now.state, now.erased, now.revision], ['amended', true, 2]);
    assert.equal(shapeOf(now), shapeOf(before));
    assert.deepEqual(await rowsOf(), rows);
    const { conversation } = await until('the stream to tell it', () =>
      sse.messages
        .filter((m) => m.data.includes('"conversation.finalised"'))
        .map((m) => StreamEvent.parse(JSON.parse(m.data)).data)
        .find((event) => event.conversation.revision === 2),
    );
    assert.deepEqual([conversation.id, conversation.erased], [id, true]);
    const { changes } = await api(`conversations/changes?since=${since}`, ConversationChangesReply);
    assert.deepEqual(
      changes.map((c) => [c.id, c.conversation?.erased, c.conversation?.revision]),
      [[id, true, 2]],
    );
    assert.equal((await recordingsOf(site, own, id))[0]?.state, 'erased');
    assert.deepEqual(readdirSync(path.join(dataDir, 'recordings')), []);

    const allowed = proof.remains.flatMap(({ where }) => REMAINS[where] ?? []);
    const kept = await packedIn(site);
    const former = packed.filter((bytes) => !kept.some((other) => other.equals(bytes)));
    assert.ok(former.length > 1, `${former.length} packed records were rewritten`);
    const left = () =>
      filesWith(dataDir, [...TEXTS, ...former]).filter((f) => !allowed.some((a) => a.test(f)));
    let found: readonly string[] = [];
    await until('no file to hold it', () => (found = left()).length === 0, { seen: () => found });

    // The same records once more, and one new one.
    const stored = await packedIn(site);
    const first = lines.split('\n').find((line) => line.includes(NUMBER))!;
    const late = first.replace(/(\.\d{5})(\d)/, (_, at, digit) => `${at}${(Number(digit) + 1) % 10}`);
    appendFileSync(records, `${lines}${late}\n`);
    await until('the late record to be stored', async () => !isDeepStrictEqual(await packedIn(site), stored));
    assert.equal(shapeOf(await stage.detail(id)), shapeOf(before));
    await site.stop();
    const { code, stdout, stderr } = await rebuild(site, 'DE');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /1 of 1 conversations rebuilt/);
    await site.start();
    const again = await stage.detail(id);
    assert.ok(again.erased && shapeOf(again) === shapeOf(before));
    assert.ok((await api('privacy/erasures/1', ErasureProof)).ledger_intact);
    allowed.push(REMAINS_LATE);
    await until('late records to be left only in the engine', () => (found = left()).length === 0, {
      seen: () => found,
    });
  });

  test('privacy - a voicemail message is in the export of its caller, and the erasure deletes it', async () => {
    const site = stage.site();
    const mailbox = path.join(site.dataDir, 'engine', 'spool', 'voicemail', 'default', '2002');
    const namesIn = (folder: string): readonly string[] => {
      const at = path.join(mailbox, folder);
      return existsSync(at) ? readdirSync(at).filter((name) => !name.startsWith('.')) : [];
    };
    const call = await outside.invite('+493012345602');
    await call.answered();
    call.play('tone');
    await until('the engine to record', () => namesIn('tmp').some((name) => name.endsWith('.wav')));
    await wait(3_000);
    await call.hangup();
    await until('the message', () => namesIn('INBOX').includes('msg0000.txt'));
    const audio = readFileSync(path.join(mailbox, 'INBOX', 'msg0000.wav'));

    const asked = { number: '030 / 90 18 20' };
    const { export: begun } = await api('privacy/exports', PrivacyExportReply, asked);
    await until('the export', async () => {
      const { export: now } = await api(`privacy/exports/${begun.id}`, PrivacyExportReply);
      return now.state === 'done' && now;
    });
    const file = await api(`privacy/exports/${begun.id}/file`, ExportFile);
    const found = file.items.filter(({ kind }) => kind === 'voicemail_message');
    assert.deepEqual([found.length, file.missing], [1, []]);
    const message = Message.parse(found[0]!.value);
    assert.deepEqual(
      [message.mailbox, message.folder, message.caller_number, message.audio.map(({ name }) => name)],
      ['2002', 'INBOX', NUMBER, ['msg0000.wav']],
    );
    assert.ok(message.seconds >= 2 && Buffer.from(message.audio[0]!.base64, 'base64').equals(audio));

    const password = (await site.credentials()).find((one) => one.extension === '1001')?.password;
    await api('session/confirm', ANY, { password });
    const { erasure } = await api('privacy/erasures', ErasureReply, { ...asked, reason: 'Request 18' });
    const proof = await until('the erasure to be over', async () => {
      const { erasure: now } = await api(`privacy/erasures/${erasure.id}`, ErasureProof);
      return (now.state === 'done' || now.state === 'failed') && now;
    });
    assert.deepEqual([proof.verified, proof.erased['voicemail'], namesIn('INBOX')], [true, 1, []]);
    assert.deepEqual(filesWith(mailbox, [NUMBER]), []);
    assert.deepEqual(filesWith(site.dataDir, ['lamps may still show']), []);
  });
});
