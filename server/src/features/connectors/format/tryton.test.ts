import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { openForTest } from '../../../../test/support/connector-rig.ts';
import { REPOSITORY } from '../../../../test/support/sources.ts';
import { startTryton } from '../../../../test/support/tryton.ts';
import { endsAlike } from './number-formats.ts';
import type { ConnectorResult } from './requests.ts';
import { SAMPLE_CALL } from './verbs.ts';

function valueOf<T>(result: ConnectorResult<T>): T {
  assert.ok(result.kind === 'done', JSON.stringify(result));
  return result.value;
}

test('connector Tryton, real - a stranger becomes a party, and each conversation has exactly one note', async (t) => {
  const tryton = await startTryton(t);
  const text = await fs.readFile(path.join(REPOSITORY, 'connectors/tryton.yaml'), 'utf8');
  const { session, signal, traced } = openForTest(t, text, tryton.settings);
  valueOf(await session.check(signal));
  assert.deepEqual(valueOf(await session.lookup!('+4930901820', signal)), []);
  const made = valueOf(await session.createCustomer!({ name: 'Anna Müller', e164: '+4930901820' }, signal));
  const [anna] = valueOf(await session.lookup!('+4930901820', signal));
  assert.deepEqual([anna?.id, anna?.name], [made.id, 'Anna Müller']);
  assert.ok(
    anna!.numbers.some((number) => endsAlike(number, '+4930901820', 10)),
    anna!.numbers.join(),
  );
  assert.equal(anna?.language, undefined, 'a party without a language');
  const [french] = (await tryton.ask('model.ir.lang.search', [['code', '=', 'fr']])) as number[];
  await tryton.ask('model.party.party.write', [Number(made.id)], { lang: french });
  const languages = async () => {
    const page = valueOf(await session.sync!({ cursor: null, page: null }, signal));
    const found = await Promise.all([
      session.lookup!('+4930901820', signal),
      session.lookupText!('müller', signal),
    ]);
    return [...page.customers, ...found.flatMap(valueOf)].map(({ language }) => language);
  };
  assert.deepEqual(await languages(), ['fr', 'fr', 'fr'], JSON.stringify(traced));
  assert.equal(valueOf(await session.lookupText!("müll'er%", signal)).length, 0);
  assert.equal(valueOf(await session.lookupText!('müller', signal))[0]?.id, made.id);
  assert.deepEqual(
    valueOf(await session.users!(signal)).map(({ email }) => email),
    ['admin@example.com'],
  );

  const entry = session.entry!;
  const subject = { call: { ...SAMPLE_CALL, id: 'site-1' }, customer: anna };
  const first = valueOf(await entry.create(subject, signal));
  assert.equal(
    valueOf(
      await entry.update(
        first.id,
        { ...subject, call: { ...subject.call, text: 'Recorded', revision: 2n } },
        signal,
      ),
    ).id,
    first.id,
  );
  // The answer to a create is lost: the search finds what was made.
  const lost = { call: { ...SAMPLE_CALL, id: 'site-2' }, customer: anna };
  assert.equal(valueOf(await entry.find(lost, signal)), null);
  const second = valueOf(await entry.create(lost, signal));
  assert.equal(valueOf(await entry.find(lost, signal))?.id, second.id);
  assert.equal(valueOf(await entry.find(subject, signal))?.id, first.id);
  assert.equal((await entry.create({ call: SAMPLE_CALL }, signal)).kind, 'refused', 'no customer, no note');

  // A size that is no multiple of three, in several pieces.
  const audio = Buffer.from(Array.from({ length: 200_000 }, (_, n) => (n * 7) % 251));
  const stream = {
    bytes: audio.length,
    async *read() {
      for (let at = 0; at < audio.length; at += 65_536) yield audio.subarray(at, at + 65_536);
    },
  };
  const attachments = session.attachments!;
  const file = { id: 'r1', name: 'r1.wav', started_at: '', seconds: 1, bytes: audio.length };
  const copy = { ...subject, entry: first.id, recording: file };
  assert.equal(attachments.wanted(copy), false, 'recordings stay here unless the setting says yes');
  assert.equal(valueOf(await attachments.find(copy, signal)), null);
  const attached = valueOf(await attachments.create(copy, stream, signal));
  assert.equal(valueOf(await attachments.find(copy, signal))?.id, attached.id);
  const [kept] = (await tryton.ask(
    'model.ir.attachment.read',
    [Number(attached.id)],
    ['resource', 'data'],
  )) as { resource: string; data: { base64: string } }[];
  assert.equal(kept!.resource, `party.party,${anna!.id}`);
  assert.ok(Buffer.from(kept!.data.base64, 'base64').equals(audio));
  valueOf(await attachments.remove(attached.id, copy, signal));
  assert.equal(valueOf(await attachments.find(copy, signal)), null);

  await tryton.stop();
  assert.equal((await entry.find(subject, signal)).kind, 'unsent');
  await tryton.serve();
  assert.equal(valueOf(await entry.find(subject, signal))?.id, first.id);
  valueOf(await entry.remove(first.id, subject, signal));
  assert.equal(valueOf(await entry.find(subject, signal)), null);
  const gone = await entry.update('999', subject, signal);
  assert.ok(gone.kind === 'refused' && /UserError/.test(gone.words), JSON.stringify(gone));

  const page = valueOf(await session.sync!({ cursor: null, page: null }, signal));
  assert.deepEqual(
    page.customers.map(({ name }) => name),
    ['Anna Müller'],
  );
  assert.equal(typeof page.page, 'number', 'the id of the last number');
  const after = valueOf(await session.sync!({ cursor: null, page: page.page }, signal));
  assert.deepEqual([after.customers, after.page], [[], null]);
  const before = valueOf(await session.sync!({ cursor: null, page: (page.page as number) - 1 }, signal));
  assert.equal(before.customers.length, 1);
  const wrong = openForTest(t, text, { ...tryton.settings, password: 'not the password' });
  assert.equal((await wrong.session.check(signal)).kind, 'disconnected');
  assert.ok(!JSON.stringify([traced, wrong.traced]).includes(tryton.settings.password));
});
