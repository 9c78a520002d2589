import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { connectorsRig, memoryAudio, recordingFixture } from '../../../test/support/connectors-rig.ts';
import { mortalStore } from '../../../test/support/mortal-store.ts';
import { crmFile } from '../../../test/support/crm.ts';
import type { Mood } from '../../../test/support/crm.ts';
import { until } from '../../../test/support/until.ts';
import type { Entry } from './ledger.ts';
import { createConnectorStore } from './store.ts';

type Once = 'find' | 'ledger' | 'own_id';
const AUDIO = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 7) % 251));
const recording = (
  id: string,
  state: Conversation['recordings'][number]['state'] = 'stored',
  duration = 60,
): Conversation['recordings'][number] => recordingFixture(id, { state, duration, bytes: AUDIO.length });
async function attachRig(t: TestContext, once: Once = 'find') {
  const rig = await connectorsRig(t);
  for (const id of ['r1', 'r2']) rig.audio.set(id, AUDIO);
  await rig.create('find', { source: crmFile('find', once) });
  const stateOf = async (id: string) =>
    (await rig.entries('?limit=200')).find(({ recording_id }) => recording_id === id)?.state;
  return {
    ...rig,
    stateOf,
    async reaches(id: string, state: string): Promise<void> {
      rig.connectors.service.wake();
      await until(`recording ${id} ${state}`, async () => {
        await rig.clock.advance(10_000);
        return (await stateOf(id)) === state;
      });
    },
    copies: () => [...rig.crm.files.values()].map(({ entry, name }) => [entry, name]),
  };
}

test('connectors - stored recordings are attached to the entry once, and removed there when they are deleted here', async (t) => {
  const rig = await attachRig(t);
  rig.feed.put('a:1', { recordings: [recording('r1'), recording('r2', 'running')] });
  await rig.reaches('r1', 'sent');
  assert.deepEqual(rig.copies(), [['e1', 'r1.wav']]);
  assert.ok([...rig.crm.files.values()][0]!.bytes.equals(AUDIO));
  rig.feed.put('a:1', { recordings: [recording('r1'), recording('r2'), recording('r3', 'stored', 1)] });
  await rig.reaches('r2', 'sent');
  assert.equal(await rig.stateOf('r3'), undefined, 'the file wants none of two seconds');
  await rig.clock.advance(48 * 3_600_000);
  assert.deepEqual(rig.copies(), [
    ['e1', 'r1.wav'],
    ['e1', 'r2.wav'],
  ]);
  rig.feed.put('a:1', { recordings: [recording('r1', 'erased'), recording('r2')] });
  await rig.reaches('r1', 'removed');
  assert.deepEqual(rig.copies(), [['e1', 'r2.wav']]);
  rig.feed.merge('a:1', 'b:1');
  await rig.reaches('r2', 'removed');
  assert.deepEqual([rig.copies(), rig.crm.entries.size], [[], 0]);
  const { json } = await rig.call('GET', 'connectors/1', undefined, 'token-admin');
  assert.equal((json as { connector: { entries: { removed: number } } }).connector.entries.removed, 3);
});

test('connectors - the audit trail names each recording that leaves the site', async (t) => {
  const rig = await attachRig(t);
  rig.feed.put('a:1', { recordings: [recording('r1')] });
  await rig.reaches('r1', 'sent');
  const { entries } = await rig.audit.page({ limit: 10 });
  assert.deepEqual(
    entries
      .filter(({ action }) => action === 'connector.recording_sent')
      .map(({ object, detail }) => [object, detail]),
    [['connector:1', { recording: 'r1', conversation: 'a:1' }]],
  );
});

test('connectors - an upload with a lost answer: found, sent again where it replaces the first, or named uncertain', async (t) => {
  for (const once of ['find', 'own_id', 'ledger'] as const)
    for (const mood of ['lost', 'silent', 500] as const) {
      const rig = await attachRig(t, once);
      let uploads = 0;
      rig.crm.mood = (request) =>
        /^(POST|PUT) \/files/.test(request) && (uploads += 1) === 1 ? mood : 'works';
      rig.feed.put('a:1', { recordings: [recording('r1')] });
      const about = `${once}, ${mood}`;
      if (once !== 'ledger') {
        await rig.reaches('r1', 'sent');
        assert.deepEqual(rig.copies(), [['e1', 'r1.wav']], about);
        assert.equal(uploads, once === 'find' && mood !== 500 ? 1 : 2, about);
        continue;
      }
      await rig.reaches('r1', 'uncertain');
      await rig.clock.advance(48 * 3_600_000);
      assert.deepEqual([uploads, await rig.stateOf('r1')], [1, 'uncertain'], about);
      const [{ id = '' } = {}] = rig.crm.files.values();
      const entry = (await rig.entries('?state=uncertain'))[0]!;
      assert.match(entry.words!, /look there before/);
      await rig.call('POST', `connectors/1/entries/${entry.id}/retry`, id === '' ? {} : { entry_id: id });
      await rig.reaches('r1', 'sent');
      assert.deepEqual([rig.copies().length, uploads], [1, mood === 500 ? 2 : 1], about);
    }
});

test('connectors - a refused, late or deleted recording is not sent in vain', async (t) => {
  const rig = await attachRig(t);
  rig.audio.set('big', Buffer.alloc(1_048_577));
  rig.crm.mood = (request) => (request === 'POST /files' ? 413 : 'works');
  rig.feed.put('a:1', { recordings: [recording('r1')] });
  await rig.reaches('r1', 'parked');
  rig.feed.put('a:2', { recordings: [recording('big'), recording('gone')] });
  await rig.reaches('big', 'not_wanted');
  await rig.reaches('gone', 'not_wanted');
  const words = new Map((await rig.entries()).map((one) => [one.recording_id, one.words]));
  assert.match(words.get('big')!, /1048577 bytes, more than 1048576/);
  assert.match(words.get('gone')!, /no audio file/);
  rig.crm.mood = (request) => (request === 'POST /files' ? 429 : 'works');
  rig.crm.retryAfter = '600';
  rig.feed.put('a:3', { recordings: [recording('r2')] });
  rig.connectors.service.wake();
  await until('the connector waits', async () => {
    await rig.clock.advance(100);
    return (await rig.list())[0]!.state === 'away';
  });
  rig.feed.put('a:3', { recordings: [recording('r2', 'erased')] });
  rig.crm.mood = () => 'works';
  rig.crm.retryAfter = null;
  await rig.reaches('r2', 'not_wanted');
  assert.deepEqual(rig.copies(), []);
});

test('connectors - a file that cannot be read waits and is named, and holds up no other', async (t) => {
  const rig = await attachRig(t);
  const audio = {
    open: (id: string) =>
      id === 'r1' ? Promise.reject(new Error('EIO: i/o error')) : memoryAudio(rig.audio).open(id),
  };
  await rig.restart({ audio });
  rig.feed.put('a:1', { recordings: [recording('r1'), recording('r2')] });
  await until('the second one', async () => {
    await rig.clock.advance(1_000);
    return (await rig.stateOf('r2')) === 'sent';
  });
  await until('the first one is given up', async () => {
    await rig.clock.advance(3_600_000);
    return (await rig.stateOf('r1')) === 'parked';
  });
  const [parked] = await rig.entries('?state=parked');
  assert.match(parked!.words!, /cannot be read: EIO/);
  assert.deepEqual(rig.copies(), [['e1', 'r2.wav']]);
});

/** Runs one recorded conversation through a life that dies at a commit and a second one. */
async function killed(t: TestContext, once: Once, at: number, side: 'before' | 'after', mood: Mood) {
  const rig = await attachRig(t, once);
  await rig.connectors.close();
  rig.feed.put('a:1', { recordings: [recording('r1')] });
  const life = mortalStore(rig.temp.store, at, side);
  rig.crm.mood = (request) => (/ \/files/.test(request) && !life.dead ? mood : 'works');
  const first = await rig.open({ store: life.store });
  const reader = await createConnectorStore(rig.temp.store);
  const rows = async (): Promise<readonly Entry[]> =>
    await reader.entries(1, { limit: 9, before: null, state: null, conversation: 'a:1' });
  const stateOf = async (): Promise<string | undefined> =>
    (await rows()).find((row) => row.recording === 'r1')?.state;
  let quiet = 0;
  await until('the end of the first life', async () => {
    await rig.clock.advance(500);
    const state = await stateOf();
    quiet = state === 'unknown' ? quiet + 1 : 0;
    return life.dead || state === 'sent' || state === 'uncertain' || quiet > 3;
  });
  const died = life.dead;
  if (!died) await first.close();
  rig.crm.mood = () => 'works';
  rig.replace(await rig.open());
  await until('an end', async () => {
    await rig.clock.advance(5_000);
    return ['sent', 'uncertain'].includes((await stateOf()) ?? '');
  });
  await rig.clock.advance(60_000);
  return { entries: rig.crm.entries.size, copies: rig.copies().length, state: await stateOf(), died };
}

for (const once of ['find', 'ledger', 'own_id'] as const)
  test(`connectors - attach once: ${once}: a service that dies at any commit leaves one copy or a named doubt`, async (t) => {
    let deaths = 0;
    for (const side of ['before', 'after'] as const)
      for (const mood of ['works', 'lost'] as const)
        for (let at = 1; at <= 6; at += 1) {
          const { entries, copies, state, died } = await killed(t, once, at, side, mood);
          deaths += Number(died);
          const where = `${side} commit ${at}, the request ${mood}: ${copies} copies, ${state}`;
          assert.equal(entries, 1, where);
          if (once === 'ledger' && state !== 'sent') assert.ok(copies <= 1, where);
          else assert.deepEqual([copies, state], [1, 'sent'], where);
        }
    assert.ok(deaths >= 16, `only ${deaths} lives ended`);
  });
