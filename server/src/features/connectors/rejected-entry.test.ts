/** Entries that the system rejects with 401 although its check succeeds, and the state that the connector shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { crmFile } from '../../../test/support/crm.ts';
import type { Mood } from '../../../test/support/crm.ts';
import { until } from '../../../test/support/until.ts';
import { ENTRY_RETRY_SECONDS } from './ledger.ts';

const HOUR = 3_600_000;
const ATTEMPTS = ENTRY_RETRY_SECONDS.length + 1;
const REJECTED = 'the system does not accept the sign-in';

/** A rig whose system answers `rejects` to a kind of requests for a conversation. */
async function rejectingRig(t: TestContext) {
  const rig = await connectorsRig(t);
  for (const id of ['r1', 'r2']) rig.audio.set(id, Buffer.alloc(1_000));
  await rig.create('find', { source: crmFile('find', 'find') });
  const rejects = { when: (_request: string): Mood => 'works' };
  rig.crm.mood = (request) => rejects.when(request);
  const states = new Set<string>();
  return {
    ...rig,
    rejects,
    states,
    /** Lets the time pass in parts of ten seconds, then of an hour, and keeps the states of the connector. */
    async pass(hours: number): Promise<void> {
      for (let n = 0; n < 60; n += 1) {
        await rig.clock.advance(10_000);
        states.add((await rig.list())[0]!.state);
      }
      for (let n = 0; n < hours; n += 1) await rig.clock.advance(HOUR);
    },
    async entry(id: string) {
      return (await rig.entries('?limit=200')).find(({ conversation_id }) => conversation_id === id)!;
    },
  };
}

test('connectors - a create or update that is always rejected is parked after growing pauses, and holds up no other', async (t) => {
  const rig = await rejectingRig(t);
  rig.feed.put('old');
  await rig.stands('sent', 'old');
  const [of] = rig.crm.of('old');
  let creates = 0;
  // The search for a customer precedes each create.
  let searched = '';
  const one = rig.feed.one.bind(rig.feed);
  rig.feed.one = (id) => {
    searched = id;
    return one(id);
  };
  rig.rejects.when = (request) => {
    const isBad =
      (request === 'POST /entries' && searched === 'bad') || request === `PATCH /entries/${of!.id}`;
    if (isBad) creates += 1;
    return isBad ? 401 : 'works';
  };
  rig.feed.put('bad');
  rig.feed.put('old', { duration: 99 });
  rig.feed.put('good:1');
  rig.connectors.service.wake();
  await rig.pass(0);
  rig.feed.put('good:2');
  await rig.stands('sent', 'good:1', 'good:2');
  await rig.pass(40);
  await rig.stands('parked', 'bad', 'old');
  for (const id of ['bad', 'old']) {
    const { attempts, status, words } = await rig.entry(id);
    assert.deepEqual([attempts, status, words], [ATTEMPTS, 401, REJECTED], id);
  }
  // Each attempt is confirmed by a second request after a check.
  assert.ok(creates <= 2 * 2 * (ATTEMPTS + 2), `${creates} requests`);
  assert.deepEqual(rig.connectors.troubles(), []);
});

test('connectors - while every create is rejected, entries wait in order with few requests, and an administrator sees why', async (t) => {
  const rig = await rejectingRig(t);
  const calls = ['a:1', 'a:2', 'a:3'];
  rig.rejects.when = (request) => (request === 'POST /entries' ? 401 : 'works');
  for (const id of calls) rig.feed.put(id);
  rig.connectors.service.wake();
  await rig.pass(24);
  const waiting = await rig.entries('?state=waiting');
  assert.deepEqual(new Set(waiting.map(({ attempts }) => attempts)), new Set([0]));
  assert.equal(waiting.length, 3);
  assert.ok(rig.crm.requests.length < 1_800, `${rig.crm.requests.length} requests in a day`);
  assert.deepEqual(rig.connectors.troubles(), [
    `Small CRM: entries fail although the check succeeds: ${REJECTED}`,
  ]);
  rig.rejects.when = () => 'works';
  await rig.stands('sent', ...calls);
  assert.deepEqual(
    [...rig.crm.entries.values()].map(({ call }) => call),
    calls,
  );
  assert.deepEqual(rig.connectors.troubles(), []);
});

test('connectors - a recording that is always rejected is parked, and holds up no entry', async (t) => {
  const rig = await rejectingRig(t);
  rig.rejects.when = (request) => (request === 'POST /files' ? 401 : 'works');
  const recordings = [
    {
      id: 'r1',
      leg_id: null,
      started_at: '2026-11-21T09:05:05.000Z',
      ended_at: '2026-11-21T09:06:05.000Z',
      duration: 60,
      paused: [],
      by: 'queue' as const,
      state: 'stored' as const,
      bytes: 1_000,
    },
  ];
  rig.feed.put('a:1', { recordings });
  rig.connectors.service.wake();
  await rig.pass(0);
  rig.feed.put('a:2');
  await rig.stands('sent', 'a:2');
  await rig.pass(40);
  await until('the recording is parked', async () => {
    await rig.clock.advance(60_000);
    return (await rig.entries('?state=parked')).some(({ recording_id }) => recording_id === 'r1');
  });
});

test('connectors - a lone entry that fails does not make its system look away', async (t) => {
  const rig = await rejectingRig(t);
  rig.rejects.when = (request) => (request === 'GET /customers' ? 500 : 'works');
  rig.feed.put('bad');
  rig.connectors.service.wake();
  await until('the entry fails', async () => {
    await rig.clock.advance(1_000);
    return /although the check succeeds/.test(rig.connectors.troubles().join());
  });
  for (let n = 0; n < 100; n += 1) {
    await rig.clock.advance(10_000);
    const [shown] = await rig.list();
    assert.deepEqual([shown!.state, shown!.since], ['ready', null]);
  }
  const [shown] = await rig.list();
  assert.equal(shown!.words, 'entries fail although the check succeeds: not now');
  assert.notEqual(shown!.next_attempt_at, null);
  // As soon as the check fails, too, the system is away.
  rig.rejects.when = () => 500;
  await until('the connector is away', async () => {
    await rig.clock.advance(60_000);
    return (await rig.list())[0]!.state === 'away';
  });
  assert.deepEqual(rig.connectors.troubles(), ['Small CRM: not now']);
});
