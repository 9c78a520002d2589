import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { ok, startSink, status } from '../../../test/support/webhook-sink.ts';
import { admin, presence, queueEvent, webhooksRig } from '../../../test/support/webhooks-rig.ts';
import { until } from '../../../test/support/until.ts';
import { memoryPlace, openMemoryJournal } from '../../adapters/memory/journal-store.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { openJournal } from '../../journal/journal.ts';
import type { LocalJournal } from '../../journal/journal.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JournalRow } from '../../ports/journal-store.ts';

/**
 * The journal with the most reads in one turn of the event loop. The hundredth read in a turn fails, so that the test of
 * a lane that reads without a pause ends.
 */
function watched(journal: LocalJournal) {
  let [atOnce, most] = [0, 0];
  const read = (after: number, limit: number): readonly JournalRow[] => {
    if (atOnce === 0) setImmediate(() => (atOnce = 0));
    most = Math.max(most, (atOnce += 1));
    if (atOnce >= 100) throw new Error('reads without a pause');
    return journal.read(after, limit);
  };
  return { journal: Object.create(journal, { read: { value: read } }) as LocalJournal, most: () => most };
}

test('webhooks - a retry during the first attempt of a delivery repeats it at once if that attempt fails', async (t) => {
  const rig = await webhooksRig(t);
  const held: ServerResponse[] = [];
  await using sink = await startSink((_received, response) => void held.push(response));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(2);
  await until('the first attempt', () => held.length === 1);
  await rig.webhooks.service.retry(admin, id);
  held[0]!.writeHead(503, { 'retry-after': '3600' }).end();
  await until('the second attempt, without any time', () => held.length === 2);
  assert.deepEqual(sink.seqs, [1, 1]);
  // The schedule began anew: only the attempt after the retry counts.
  held[1]!.writeHead(503).end();
  await until('the failure', () => rig.webhooks.figures().under_way === 0);
  const waits = await until('the wait', () => rig.one(id).retrying);
  assert.equal(waits.attempts, 1);
  assert.equal(Date.parse(waits.next_attempt_at) - rig.clock.now(), 5_000);
  assert.equal(held.length, 2, 'a retry is spent once');
});

test('webhooks - a retry during an attempt that succeeds, or before anything failed, sends nothing twice', async (t) => {
  const rig = await webhooksRig(t);
  const held: ServerResponse[] = [];
  await using sink = await startSink((_received, response) => void held.push(response));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  await rig.webhooks.service.retry(admin, id);
  rig.happen(1);
  await until('the attempt', () => held.length === 1);
  await rig.webhooks.service.retry(admin, id);
  held[0]!.end('ok');
  await until('its end', () => rig.one(id).cursor === 1);
  sink.answer = status(503);
  rig.happen(1);
  await until('a failure of the next', () => rig.one(id).retrying?.attempts === 1);
  assert.deepEqual(sink.seqs, [1, 2], 'the retry was for the one before it');
});

test('webhooks - a confirmed retry holds if the service is killed before the attempt ends', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(503, { 'retry-after': '3600' }));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(1);
  await until('a failure', () => rig.one(id).retrying?.attempts === 1);
  await rig.webhooks.save();
  sink.answer = () => undefined;
  await rig.webhooks.service.retry(admin, id);
  await until('the attempt', () => sink.received.length === 2);
  sink.answer = ok;
  await rig.restart({ crash: true });
  await until('the attempt of the next life', () => rig.one(id).cursor === 1);
  assert.deepEqual(sink.seqs, [1, 1, 1]);
});

test('webhooks - a replay of the gap of a restored journal ends, although a new epoch left out its seqs', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const place = memoryPlace();
  const open = () => openJournal({ store: openMemoryJournal(place), node: nodeId('ast1') });
  const before = open();
  await rig.restart({ journal: before });
  const { id } = (await rig.create({ url: sink.url })).webhook;
  before.append([presence('1003'), presence('1003')]);
  await until('both', () => rig.one(id).cursor === 2);
  place.seal = { ...place.seal!, exact: false };
  const after = open();
  await rig.restart({ journal: watched(after).journal });
  await until('the gap', () => rig.one(id).cursor === after.head);
  const gap = (await rig.deliveries(id)).find(({ state }) => state === 'gap')!;
  for (const n of [0, 1]) {
    await rig.webhooks.service.replay(admin, id, { from: gap.seq, to: gap.to_seq });
    await until('the end of the replay', () => rig.one(id).replay === null);
    after.append([presence('1003')]);
    await until('the next event', () => rig.one(id).cursor === after.head);
    assert.deepEqual(sink.seqs.slice(2 + n), [after.head]);
  }
});

test('webhooks - other work runs while a webhook skips many events', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const { id } = (await rig.create({ url: sink.url, enabled: false })).webhook;
  rig.journal.append(Array.from({ length: 20_000 }, () => queueEvent('support')));
  rig.happen(1);
  const { journal, most } = watched(rig.journal);
  await rig.restart({ journal });
  await rig.webhooks.service.change(admin, id, { enabled: true });
  await until('the event after them', () => sink.received.length === 1);
  assert.ok(most() <= 4, `${most()} reads in one turn of the event loop`);
});

test('webhooks - a clock that is set back by a month delays a retry by no more than its wait', async (t) => {
  const steady = createVirtualClock();
  let ahead = 30 * 86_400_000;
  const clock: Clock = {
    now: () => steady.now() + ahead,
    sleep: (ms, signal) => steady.sleep(ms, signal),
  };
  const rig = await webhooksRig(t, { clock });
  await using sink = await startSink(status(503));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(1);
  await until('a failure', () => rig.one(id).retrying?.attempts === 1);
  ahead = 0;
  sink.answer = ok;
  await rig.restart();
  await until('the wait', () => steady.sleepers === 1);
  await steady.advance(5_000);
  await until('the delivery', () => rig.one(id).cursor === 1);
  assert.deepEqual(sink.seqs, [1, 1]);
});
