import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PollReply } from '@offhook/contract/stream.ts';
import { offer, presence, streamRig } from '../../test/support/stream-rig.ts';
import type { StreamRig } from '../../test/support/stream-rig.ts';
import { until } from '../../test/support/until.ts';

const ask = async (rig: StreamRig, query: string, level = 'user') => {
  const response = await fetch(`${rig.base}/api/v1/events/poll?${query}`, {
    headers: { authorization: `Bearer token-${level}` },
  });
  const body: unknown = await response.json();
  if (response.status !== 200) throw new Error(`${response.status} ${(body as { code: string }).code}`);
  const reply = PollReply.parse(body);
  return { ...reply, seqs: reply.events.map((event) => event.seq) };
};

/** Resolves once the only request waits: one that the server has not accepted ends with a stop. */
const waits = (rig: StreamRig): Promise<boolean> =>
  until('the poll to wait', () => rig.figure('offhook_stream_clients') === 1, { every: 1 });

test('poll - the first answer has the start position, the next ones have the events since', async (t) => {
  const rig = await streamRig(t);
  rig.commit(presence('1005'));
  const begin = await ask(rig, 'topics=presence&snapshot=true');
  assert.deepEqual([begin.cursor, begin.seqs, begin.gap, begin.epoch], [1, [], null, rig.journal.epoch]);
  assert.deepEqual(begin.snapshot, [{ topic: 'presence', cursor: 1, data: Object.fromEntries(rig.states) }]);
  rig.commit(presence('1005'), offer('support', '1003'), presence('1006'));
  const missed = await ask(rig, 'topics=presence&cursor=1');
  assert.deepEqual([missed.cursor, missed.seqs], [4, [2, 4]]);
  assert.deepEqual(missed.events[0], JSON.parse(rig.journal.read(1, 1)[0]!.json));
  const waiting = ask(rig, 'topics=presence&cursor=4&wait=60');
  await waits(rig);
  rig.commit(offer('support', '1003'));
  rig.commit(presence('1005'));
  const woken = await waiting;
  assert.deepEqual([woken.cursor, woken.seqs], [6, [6]]);
});

test('poll - a long backlog comes in portions, and nothing is left out between them', async (t) => {
  const rig = await streamRig(t);
  for (let i = 0; i < 1200; i += 1) rig.commit(i % 2 === 0 ? presence('1005') : offer('sales', '1003'));
  const seqs: number[] = [];
  let cursor = 0;
  while (cursor < 1200) {
    const reply = await ask(rig, `topics=presence&cursor=${cursor}&wait=0`);
    seqs.push(...reply.seqs);
    assert.ok(reply.cursor > cursor);
    cursor = reply.cursor;
  }
  assert.deepEqual(
    seqs,
    Array.from({ length: 600 }, (_, i) => 2 * i + 1),
  );
});

test('poll - without an event it answers when its time is up, with a cursor that moved on', async (t) => {
  const rig = await streamRig(t);
  rig.commit(offer('support', '1003'), offer('support', '1003'));
  const reply = await ask(rig, 'topics=presence&cursor=0&wait=1');
  assert.deepEqual([reply.cursor, reply.seqs, reply.gap], [2, [], null]);
  const [atOnce, later] = ['topics=presence&cursor=2&wait=0', 'topics=presence&cursor=2&wait=60'];
  const waiting = ask(rig, later);
  await waits(rig);
  const first = await Promise.race([ask(rig, atOnce).then(() => atOnce), waiting.then(() => later)]);
  assert.equal(first, atOnce);
  rig.commit(presence('1005'));
  assert.deepEqual([(await waiting).cursor, (await ask(rig, atOnce)).seqs], [3, [3]]);
});

test('poll - a cursor that cannot be resumed is a gap, with the state if requested', async (t) => {
  const rig = await streamRig(t);
  rig.commit(presence('1005'), presence('1005'), presence('1005'));
  rig.store.trim(3);
  const gap = await ask(rig, 'topics=presence&cursor=0&snapshot=true');
  assert.deepEqual([gap.cursor, gap.gap], [3, { from: 0, to: 3, reason: 'cursor_outdated' }]);
  assert.equal(gap.snapshot?.length, 1);
  assert.equal((await ask(rig, 'topics=presence&cursor=9')).gap?.reason, 'cursor_ahead');
  assert.equal((await ask(rig, 'topics=presence&cursor=3&epoch=x')).gap?.reason, 'epoch');
});

test('poll - a gap that is found while it waits has the state, too', async (t) => {
  const rig = await streamRig(t);
  for (const query of ['snapshot=true', 'snapshot=false']) {
    const from = rig.journal.head;
    const waiting = ask(rig, `topics=presence&cursor=${from}&wait=30&${query}`);
    await waits(rig);
    rig.commit(presence('1005'), presence('1005'), presence('1005'));
    rig.store.trim(from + 3);
    const reply = await waiting;
    const gap = { from, to: from + 3, reason: 'cursor_outdated' };
    assert.deepEqual([reply.cursor, reply.seqs, reply.gap], [from + 3, [], gap]);
    assert.equal(reply.snapshot?.[0]?.cursor, query === 'snapshot=true' ? from + 3 : undefined);
    await until('its end', () => rig.figure('offhook_stream_clients') === 0);
  }
});

test('poll - `access` differs once the rights differ, also during a poll', async (t) => {
  const rig = await streamRig(t);
  const before = (await ask(rig, 'topics=queues&snapshot=true', 'agent')).access;
  assert.equal((await ask(rig, 'topics=queues&cursor=0&wait=0', 'agent')).access, before);
  const waiting = ask(rig, 'topics=queues&cursor=0&wait=30', 'agent');
  await waits(rig);
  const all = rig.directory.queues();
  rig.directory.setQueues(all.filter(({ name }) => name !== 'sales'));
  rig.commit(offer('sales', '1003'));
  await until('its distribution', () => rig.figure('offhook_stream_lag') === 0);
  rig.directory.setQueues(all);
  rig.commit(offer('support', '1003'));
  const reply = await waiting;
  assert.deepEqual([reply.cursor, reply.seqs], [0, []]);
  assert.notEqual(reply.access, before);
  assert.deepEqual((await ask(rig, 'topics=queues&cursor=0&wait=0', 'agent')).seqs, [1, 2]);
});

test('poll - a stop while the state cannot be built moves no cursor', async (t) => {
  const rows = [presence('1005'), presence('1005'), presence('1005')];
  const query = 'topics=presence&cursor=0&wait=30&snapshot=true';
  const outdated = await streamRig(t);
  outdated.commit(...rows);
  outdated.store.trim(3);
  outdated.held = null;
  const first = assert.rejects(ask(outdated, query), /503 overloaded/);
  await waits(outdated);
  await outdated.stop();
  await first;

  const rig = await streamRig(t);
  const second = assert.rejects(ask(rig, query), /503 overloaded/);
  await waits(rig);
  rig.held = null;
  rig.commit(...rows);
  rig.store.trim(3);
  await until('the gap', () => rig.figure('offhook_stream_feeds') === 0);
  await rig.stop();
  await second;
});

test('poll - rights, bad queries, and the end of the session while it waits', async (t) => {
  const rig = await streamRig(t);
  await assert.rejects(ask(rig, 'topics=queues&cursor=0'), /403 forbidden/);
  await assert.rejects(ask(rig, 'topics=presence&cursor=0', 'nobody'), /401 not_authenticated/);
  for (const query of [
    'cursor=1',
    'topics=presence&wait=61',
    'topics=presence&wait=-1',
    'topics=presence&cursor=x',
  ]) {
    await assert.rejects(ask(rig, query), /400 invalid_request/, query);
  }
  // No wait ends by its time.
  const start = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms?: number) =>
    ms === 60_000 ? undefined : start(work, ms),
  );
  const waiting = assert.rejects(ask(rig, 'topics=presence&cursor=0&wait=60'), /401 not_authenticated/);
  await waits(rig);
  rig.endSession(5);
  await waiting;
  const last = ask(rig, 'topics=presence&cursor=0&wait=60', 'agent');
  await waits(rig);
  const stopping = rig.stop();
  assert.deepEqual((await last).seqs, [], 'a stop answers waiting polls');
  await stopping;
});

test('poll - a request that waited for the journal of its node is checked again', async (t) => {
  let asked = Promise.withResolvers<void>();
  let wait = Promise.withResolvers<void>();
  let requests = 0;
  const rig = await streamRig(t, {
    perPerson: 1,
    reach: async () => {
      requests += 1;
      asked.resolve();
      await wait.promise;
    },
  });
  const ended = assert.rejects(ask(rig, 'topics=presence&cursor=9&wait=0'), /401 not_authenticated/);
  await asked.promise;
  rig.endSession(5);
  wait.resolve();
  await ended;

  [asked, wait, requests] = [Promise.withResolvers(), Promise.withResolvers(), 0];
  const query = 'topics=presence&cursor=9&wait=1';
  const both = [ask(rig, query, 'agent'), ask(rig, query, 'agent')];
  const settled = Promise.allSettled(both);
  while (requests < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  for (let i = 0; i < 9; i += 1) rig.commit(presence('1005'));
  wait.resolve();
  const outcomes = await settled;
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const refused = outcomes.find((one) => one.status === 'rejected');
  assert.match(String(refused?.reason), /429 too_many_requests/);
  assert.equal(rig.figure('offhook_stream_clients'), 0);
});
