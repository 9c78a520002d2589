/** Entries that fail although the system works, and a system that is away as a whole. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import {
  connectorsRig,
  conversationFixture,
  recordingFixture,
} from '../../../test/support/connectors-rig.ts';
import { crmFile } from '../../../test/support/crm.ts';
import { until } from '../../../test/support/until.ts';
import { ENTRY_RETRY_SECONDS } from './ledger.ts';

const HOUR = 3_600_000;
const BAD = '+49309999';
const ids = (of: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${of}:${i}`);
/** A rig with customers whose searches work, and conversations with a number for which the search answers 500. */
async function failingRig(t: TestContext) {
  const rig = await connectorsRig(t);
  await rig.create();
  const { customer, ...call } = conversationFixture('bad');
  /** Times of the searches for the bad number. */
  const searches: number[] = [];
  let isMended = false;
  rig.crm.mood = (request, query) => {
    if (request !== 'GET /customers' || query.get('phone') !== BAD) return 'works';
    searches.push(rig.clock.now());
    return isMended ? 'works' : 500;
  };
  return {
    ...rig,
    searches,
    putBad: (id: string): void =>
      rig.feed.put(id, { ...call, id, customer: { ...customer!, number: BAD, number_e164: BAD } }),
    mend(): void {
      isMended = true;
      rig.crm.customers.set(BAD, 'c9');
    },
  };
}

test('connectors - entries whose customer cannot be searched hold up no other, and are parked after growing pauses', async (t) => {
  const rig = await failingRig(t);
  const bad = ids('bad', 31);
  const good = ids('good', 4);
  for (const id of bad) rig.putBad(id);
  for (const id of good) rig.feed.put(id);
  const began = rig.clock.now();
  await until('the other entries', async () => {
    await rig.clock.advance(10_000);
    return rig.crm.entries.size === good.length;
  });
  await rig.stands('sent', ...good);
  assert.ok(rig.clock.now() - began < 0.2 * HOUR, 'the others wait for one check per failure');
  const shown = (await rig.entries('?limit=200')).find(
    ({ attempts, state }) => state === 'waiting' && attempts > 0,
  )!;
  assert.deepEqual(
    [shown.status, shown.words],
    [500, 'not now'],
    'the reason is shown before the last attempt',
  );
  await rig.restart();
  rig.feed.put('good:later');
  await rig.stands('sent', 'good:later');
  for (let hours = 0; hours < 40; hours += 1) await rig.clock.advance(HOUR);
  await rig.stands('parked', ...bad);
  const [parked] = await rig.entries('?state=parked');
  assert.deepEqual(
    [parked!.status, parked!.words, parked!.task, parked!.attempts],
    [500, 'not now', 'create', ENTRY_RETRY_SECONDS.length + 1],
  );
  assert.deepEqual(
    [...good, 'good:later'].map((id) => rig.crm.of(id).length),
    [1, 1, 1, 1, 1],
  );
  assert.deepEqual(rig.connectors.troubles(), []);
  rig.mend();
  assert.equal((await rig.call('POST', `connectors/1/entries/${parked!.id}/retry`, {})).status, 202);
  await rig.stands('sent', parked!.conversation_id);
});

test('connectors - an entry that fails alone after others were sent is tried at growing intervals', async (t) => {
  const rig = await failingRig(t);
  rig.putBad('bad');
  rig.feed.put('good');
  await rig.stands('sent', 'good');
  for (let hours = 0; hours < 40; hours += 1) await rig.clock.advance(HOUR);
  await rig.stands('parked', 'bad');
  // A failure is confirmed by a second search after a check of the system.
  const tries = rig.searches.filter((at, n) => n === 0 || at - rig.searches[n - 1]! > 6_000);
  assert.ok(rig.searches.length <= 2 * (ENTRY_RETRY_SECONDS.length + 2), `${rig.searches.length} searches`);
  const pauses = tries.slice(1).map((at, n) => at - tries[n]!);
  assert.ok(
    pauses.every((ms, n) => n === 0 || ms > pauses[n - 1]!),
    pauses.join(),
  );
});

test('connectors - a search for an entry in doubt that always fails ends uncertain, and holds up no other', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  let posts = 0;
  rig.crm.mood = (request, query) => {
    if (request === 'POST /entries') return (posts += 1) === 1 ? 'lost' : 'works';
    return request === 'GET /entries' && query.get('call') === 'bad' ? 'away' : 'works';
  };
  rig.feed.put('bad');
  await rig.stands('unknown', 'bad');
  const good = ids('good', 3);
  for (const id of good) rig.feed.put(id);
  await rig.stands('sent', ...good);
  for (let hours = 0; hours < 40; hours += 1) await rig.clock.advance(HOUR);
  await rig.stands('uncertain', 'bad');
  const [entry] = await rig.entries('?state=uncertain');
  assert.match(entry!.words!, /look there before you send it again/);
  assert.deepEqual([posts, rig.crm.of('bad').length], [4, 1]);
});

test('connectors - a search for a recording in doubt that always fails ends uncertain, and holds up no other', async (t) => {
  const rig = await connectorsRig(t);
  for (const id of ['r1', 'r2']) rig.audio.set(id, Buffer.alloc(1_000));
  await rig.create('find', { source: crmFile('find', 'find') });
  rig.crm.mood = (request, query) => {
    if (request === 'POST /files' && rig.crm.files.size === 0) return 'lost';
    return request === 'GET /files' && query.get('name') === 'r1.wav' ? 500 : 'works';
  };
  const reaches = (id: string, state: string): Promise<unknown> => {
    rig.connectors.service.wake();
    return until(`recording ${id} ${state}`, async () => {
      await rig.clock.advance(60_000);
      return (await rig.entries('?limit=200')).some((e) => e.recording_id === id && e.state === state);
    });
  };
  rig.feed.put('a:1', { recordings: [recordingFixture('r1')] });
  await reaches('r1', 'unknown');
  rig.feed.put('a:2', { recordings: [recordingFixture('r2')] });
  await reaches('r2', 'sent');
  for (let hours = 0; hours < 40; hours += 1) await rig.clock.advance(HOUR);
  await reaches('r1', 'uncertain');
});

test('connectors - while no search succeeds for days, entries wait in order with few requests, and none is called failed', async (t) => {
  for (const [away, why] of [
    [/^/, 'not now'],
    [/customers/, 'entries fail although the check succeeds: not now'],
  ] as const) {
    const rig = await connectorsRig(t);
    await rig.create();
    const calls = ids('a', 5);
    rig.crm.mood = (request) => (away.test(request) ? 503 : 'works');
    for (const id of calls) rig.feed.put(id);
    rig.connectors.service.wake();
    for (let hours = 0; hours < 72; hours += 1) {
      await rig.clock.advance(HOUR);
      if (hours === 24) await rig.restart();
    }
    const waiting = await rig.entries('?state=waiting');
    assert.deepEqual(new Set(waiting.map(({ attempts }) => attempts)), new Set([0]));
    assert.equal(waiting.length, 5);
    assert.ok(rig.crm.requests.length < 1_500, `${rig.crm.requests.length} requests in three days`);
    assert.deepEqual(rig.connectors.troubles(), [`Small CRM: ${why}`]);
    rig.crm.mood = () => 'works';
    await rig.stands('sent', ...calls);
    assert.deepEqual(
      [...rig.crm.entries.values()].map(({ call }) => call),
      calls,
    );
    assert.deepEqual(rig.connectors.troubles(), []);
  }
});
