import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RETRY_SECONDS } from '@offhook/contract/webhooks.ts';
import { until } from '../../../test/support/until.ts';
import { ok, startSink } from '../../../test/support/webhook-sink.ts';
import { admin, presence, webhooksRig } from '../../../test/support/webhooks-rig.ts';
import { extensionSubject, numberSubject } from '../../numbers/subject.ts';

const { signal } = new AbortController();
const NUMBER = numberSubject('+4930901820', 'DE')!;

test('webhooks - personal data: an erasure deletes parked events and answers about a number or extension, and no replay sends them', async (t) => {
  const rig = await webhooksRig(t);
  // A success in between prevents the disabling.
  const answers = ['no customer', 'ok', 'no customer', 'knows 030 901820', 'no customer', 'ok'];
  await using sink = await startSink(({ seq }, response) => {
    response.writeHead(seq! % 2 === 1 ? 400 : 200).end(answers[seq! - 1]);
  });
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.journal.append([
    presence('1003', 'calls 0049 30 90 18 20'),
    presence('1003'),
    presence('1004', 'at lunch'),
    presence('1003'),
    presence('1003'),
    presence('1003'),
  ]);
  for (const seq of [1, 3, 5]) {
    for (let n = 1; n <= RETRY_SECONDS.length; n += 1) {
      await until(`attempt ${n} of ${seq}`, () => {
        const { retrying } = rig.one(id);
        return retrying?.seq === seq && retrying.attempts === n;
      });
      await rig.clock.advance(Date.parse(rig.one(id).retrying!.next_attempt_at) - rig.clock.now());
    }
    await until(`${seq} is parked`, () => rig.one(id).cursor >= seq);
  }
  await until('the last', () => rig.one(id).cursor === 6);
  const { data } = rig.webhooks;
  assert.deepEqual(await data.count(NUMBER, signal), { webhook_deliveries: 2 });
  assert.deepEqual(await data.count(extensionSubject('1004'), signal), { webhook_deliveries: 1 });
  assert.deepEqual(await data.count(extensionSubject('04'), signal), {});
  assert.deepEqual(await data.erase(NUMBER, 'erased-1', signal), { webhook_deliveries: 2 });
  assert.deepEqual(await data.count(NUMBER, signal), {});
  assert.deepEqual(await data.erase(extensionSubject('1004'), 'erased-2', signal), { webhook_deliveries: 1 });
  const log = await rig.deliveries(id);
  assert.deepEqual(
    log.map(({ seq, state, excerpt }) => [seq, state, excerpt]),
    [
      [6, 'delivered', 'ok'],
      [5, 'parked', 'no customer'],
      [4, 'delivered', ''],
      [3, 'parked', ''],
      [2, 'delivered', 'ok'],
      [1, 'parked', ''],
    ],
  );

  rig.journalStore.trim(6);
  await rig.restart({ journal: rig.reopenJournal() });
  sink.answer = ok;
  const before = sink.received.length;
  await rig.webhooks.service.replay(admin, id, { from: 1, to: 5 });
  await until('the replay', () => rig.one(id).replay === null);
  assert.deepEqual(
    sink.received.slice(before).map(({ seq }) => seq),
    [5],
    'the event that no erasure was about',
  );
});
