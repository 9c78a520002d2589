/** Entries that the system rejects with 401 although its check succeeds, and the state that the connector shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { connectorsRig, recordingFixture } from '../../../test/support/connectors-rig.ts';
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
  await rig.create('find', { source: crmFile('find', 'own_id') });
  const rejects = { when: (_request: string): Mood => 'works' };
  rig.crm.mood = (request) => rejects.when(request);
  // The search for a customer precedes each create.
  const searched = { id: '' };
  const one = rig.feed.one.bind(rig.feed);
  rig.feed.one = (id) => {
    searched.id = id;
    return one(id);
  };
  return {
    ...rig,
    rejects,
    /** Conversation of the newest request. */
    searched,
    /** Rejects creates for these conversations. */
    rejectCreates(isBad: (id: string) => boolean): void {
      rejects.when = (request) => (request === 'POST /entries' && isBad(searched.id) ? 401 : 'works');
    },
    /** Lets the time pass in parts of ten seconds, then of an hour. */
    async pass(hours: number): Promise<void> {
      for (let n = 0; n < 60; n += 1) await rig.clock.advance(10_000);
      for (let n = 0; n < hours; n += 1) await rig.clock.advance(HOUR);
    },
    async entry(id: string, recording: string | null = null) {
      return (await rig.entries('?limit=200')).find(
        ({ conversation_id, recording_id }) => conversation_id === id && recording_id === recording,
      )!;
    },
    /** As `stands`, for conversations with recordings. */
    async sent(...calls: string[]): Promise<void> {
      this.connectors.service.wake();
      await until(`${calls.join(', ')} sent`, async () => {
        await rig.clock.advance(1_000);
        return (await Promise.all(calls.map((id) => this.entry(id)))).every((one) => one?.state === 'sent');
      });
    },
    /** Lets the time pass until the connector waits for longer than this. */
    async waits(ms: number): Promise<void> {
      await until(`a wait of ${ms} ms`, async () => {
        await rig.clock.advance(5_000);
        const next = (await rig.list())[0]!.next_attempt_at;
        return next !== null && Date.parse(next) - rig.clock.now() > ms;
      });
    },
  };
}

test('connectors - a create or update that is always rejected is parked after growing pauses, and holds up no other', async (t) => {
  const rig = await rejectingRig(t);
  rig.feed.put('old');
  await rig.stands('sent', 'old');
  const [of] = rig.crm.of('old');
  let creates = 0;
  rig.rejects.when = (request) => {
    const isBad =
      (request === 'POST /entries' && rig.searched.id === 'bad') || request === `PATCH /entries/${of!.id}`;
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

test('connectors - a new entry is sent at once after others waited for an hour, and shows that those fail on their own', async (t) => {
  const rig = await rejectingRig(t);
  rig.rejectCreates((id) => id.startsWith('bad'));
  const bad = ['bad:1', 'bad:2'];
  for (const id of bad) rig.feed.put(id);
  rig.connectors.service.wake();
  await rig.pass(1);
  await rig.waits(300_000);
  const began = rig.clock.now();
  rig.feed.put('good');
  rig.connectors.service.wake();
  await until('the new entry', async () => {
    await rig.clock.advance(100);
    return (await rig.entry('good'))?.state === 'sent';
  });
  assert.ok(rig.clock.now() - began <= 10_000, `${rig.clock.now() - began} ms`);
  await until('the attempts count', async () => {
    await rig.clock.advance(100);
    return (await Promise.all(bad.map((id) => rig.entry(id)))).every(({ attempts }) => attempts === 1);
  });
});

test('connectors - more rejected entries than are kept at once hold up no other', async (t) => {
  const rig = await rejectingRig(t);
  const tried = new Set<string>();
  rig.rejectCreates((id) => {
    tried.add(id);
    return id.startsWith('bad');
  });
  for (let n = 0; n < 110; n += 1) rig.feed.put(`bad:${n}`);
  rig.feed.put('good');
  rig.connectors.service.wake();
  await rig.waits(20_000);
  assert.equal(tried.size, 100);
  assert.equal((await rig.entry('good')).state, 'waiting');
  await until('the other entry', async () => {
    await rig.clock.advance(5_000);
    return (await rig.entry('good')).state === 'sent';
  });
});

test('connectors - a system that is down is away, also if an entry failed before while it worked', async (t) => {
  const rig = await rejectingRig(t);
  rig.rejectCreates((id) => id === 'bad');
  rig.feed.put('bad');
  rig.feed.put('good');
  await rig.stands('sent', 'good');
  await until('the failure counts', async () => {
    await rig.clock.advance(1_000);
    return (await rig.entry('bad')).attempts > 1;
  });
  rig.rejects.when = () => 'away';
  await until('the connector waits', async () => {
    await rig.clock.advance(1_000);
    return (await rig.list())[0]!.next_attempt_at !== null;
  });
  assert.equal((await rig.list())[0]!.state, 'away');
});

test('connectors - the waits after rejections begin again after the system was away', async (t) => {
  const rig = await rejectingRig(t);
  rig.rejectCreates(() => true);
  rig.feed.put('bad');
  rig.connectors.service.wake();
  await rig.pass(1);
  await rig.waits(300_000);
  const rejects = rig.rejects.when;
  rig.rejects.when = () => 'away';
  const state = async () => (await rig.list())[0]!.state;
  await until('the system is away', async () => {
    await rig.clock.advance(60_000);
    return (await state()) === 'away';
  });
  rig.rejects.when = rejects;
  await until('the system is back', async () => {
    await rig.clock.advance(5_000);
    const { state: is, next_attempt_at } = (await rig.list())[0]!;
    return is === 'ready' && next_attempt_at !== null;
  });
  const ms = Date.parse((await rig.list())[0]!.next_attempt_at!) - rig.clock.now();
  assert.ok(ms <= 30_000, `${ms} ms`);
});

test('connectors - a recording that is always rejected is parked, holds up no entry, and its system looks ready', async (t) => {
  const rig = await rejectingRig(t);
  rig.rejects.when = (request) => (request === 'PUT /files/r1' ? 401 : 'works');
  rig.feed.put('a:1', { recordings: [recordingFixture('r1')] });
  rig.feed.put('a:2', { recordings: [recordingFixture('r2')] });
  await rig.sent('a:1', 'a:2');
  const states = new Set<string>();
  await until('failures count', async () => {
    await rig.clock.advance(1_000);
    states.add((await rig.list())[0]!.state);
    return (await rig.entry('a:1', 'r1'))?.attempts > 2;
  });
  assert.deepEqual([...states], ['ready']);
  assert.equal((await rig.entry('a:2', 'r2')).state, 'sent');
  await until('the recording is parked', async () => {
    await rig.clock.advance(HOUR);
    return (await rig.entry('a:1', 'r1')).state === 'parked';
  });
  assert.deepEqual(rig.connectors.troubles(), []);
});

test('connectors - while every upload is rejected, recordings wait with few requests, entries are sent, and an administrator sees why', async (t) => {
  const rig = await rejectingRig(t);
  rig.rejects.when = (request) => (request.startsWith('PUT /files/') ? 401 : 'works');
  rig.feed.put('a:1', { recordings: [recordingFixture('r1')] });
  rig.feed.put('a:2', { recordings: [recordingFixture('r2')] });
  rig.connectors.service.wake();
  await rig.pass(40);
  rig.feed.put('a:3');
  await rig.sent('a:1', 'a:2', 'a:3');
  const why = `recordings fail although the check succeeds: ${REJECTED}`;
  for (const [call, id] of [
    ['a:1', 'r1'],
    ['a:2', 'r2'],
  ] as const) {
    const { state, attempts, words } = await rig.entry(call, id);
    assert.deepEqual([state, attempts, words], ['waiting', 0, REJECTED], id);
  }
  const uploads = rig.crm.requests.filter((request) => request.startsWith('PUT /files/'));
  assert.ok(uploads.length < 300, `${uploads.length} uploads`);
  const [shown] = await rig.list();
  assert.deepEqual([shown!.state, shown!.words], ['ready', why]);
  assert.deepEqual(rig.connectors.troubles(), [`Small CRM: ${why}`]);
  rig.rejects.when = () => 'works';
  await until('the recordings', async () => {
    await rig.clock.advance(60_000);
    return rig.crm.files.size === 2;
  });
  assert.deepEqual(rig.connectors.troubles(), []);
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
