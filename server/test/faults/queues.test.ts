import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { QueuesReply } from '@offhook/contract/queues.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { readJournal, wholeJournal } from '../support/journal.ts';
import type { JournalEvent } from '../support/journal.ts';
import type { IncomingCall, Phone } from '../support/phone.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

/** Outcomes of all visits, by caller and queue in order of joining; several or none are shown as such. */
function visits(events: readonly JournalEvent[]): string[] {
  const all: { key: string; leg: string; queue: string; ends: string[] }[] = [];
  for (const { type, data } of events) {
    if (!type.startsWith('queue.caller_')) continue;
    const {
      leg_id: leg,
      queue,
      caller,
      reason,
    } = data as unknown as {
      leg_id: string;
      queue: string;
      caller: { number: string };
      reason?: string;
    };
    if (type === 'queue.caller_joined') {
      all.push({ key: `${caller.number} ${queue}`, leg, queue, ends: [] });
    } else if (type === 'queue.caller_left' || type === 'queue.caller_abandoned') {
      const visit = all.findLast((v) => v.leg === leg && v.queue === queue);
      assert.ok(visit, `${type} of ${leg}, who never joined ${queue}`);
      visit.ends.push(reason ?? 'abandoned');
    }
  }
  return all.map((v) => `${v.key} ${v.ends.join('+')}`);
}

describe('queue faults', () => {
  const site = useSite();
  const queues = async () => {
    const { token } = await site().person('1002');
    const response = await fetch(`${site().base}/api/v1/queues`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return QueuesReply.parse(await response.json());
  };
  const waiting = async (): Promise<string> =>
    (await queues()).queues.flatMap((q) => q.callers.map((c) => `${c.caller.number} ${q.name}`)).join(', ');
  const offers = async (): Promise<string> =>
    (await queues()).queues.flatMap((q) => q.offers.map((o) => `${o.extension} ${q.name}`)).join(', ');
  /** The first of these phones that rings. */
  const rung = async (...phones: readonly Phone[]): Promise<IncomingCall> => {
    const phone = await until('an agent to ring', () => phones.find(({ waiting: calls }) => calls > 0));
    return phone.incoming();
  };
  const join = async (phone: Phone, number: string): Promise<void> => {
    const call = await phone.invite(number);
    await call.answered();
  };
  const comes = (what: string, read: () => Promise<string>, wanted: string) =>
    until(`${what}: ${wanted || 'none'}`, async () => (await read()) === wanted);

  test('queue faults - the engine dies during queue calls: each visit has one outcome, and the next is counted anew', async () => {
    await using zoe = await site().phone('1003');
    await using jose = await site().phone('1004');
    await using olha = await site().phone('1008');
    await using nour = await site().phone('1009');
    await using lea = await site().phone('1010');
    // Zoë talks to the first, José rings for the second, the third waits without an agent.
    await join(olha, '500');
    const first = await rung(zoe, jose);
    first.ring();
    await first.answer();
    await join(nour, '500');
    (await rung(zoe, jose)).ring();
    await join(lea, '500');
    await comes('who waits', waiting, '1009 support, 1010 support');

    const pid = site().enginePid();
    process.kill(pid!, 'SIGKILL');
    await until('the next life of the engine', async () => {
      const { stale } = await queues();
      return !stale && site().enginePid() !== pid;
    });
    await comes('who waits', waiting, '');
    await comes('who rings', offers, '');
    const published = await wholeJournal(site());
    assert.deepEqual(visits(published), [
      '1008 support answered',
      '1009 support engine_lost',
      '1010 support engine_lost',
    ]);
    const ends = (id: string) =>
      published.filter(
        (e) => /^offer\.(accepted|timeout|rejected|canceled)$/.test(e.type) && e.data['offer_id'] === id,
      );
    for (const offer of published.filter((e) => e.type === 'offer.created')) {
      assert.equal(ends(String(offer.data['offer_id'])).length, 1, 'an offer has one end');
    }

    await Promise.all([zoe, jose, olha].map((phone) => phone.register()));
    await join(olha, '500');
    const again = await rung(zoe, jose);
    again.ring();
    await again.answer();
    await until(
      'the new visit was answered',
      () => visits(readJournal(site())).at(-1) === '1008 support answered',
    );
    await again.hangup();
  });

  test('queue faults - service and engine die with a waiting caller: it was lost once, and a timeout is no abandon', async () => {
    await using olha = await site().phone('1008');
    await join(olha, '510');
    await comes('who waits', waiting, '1008 sales');
    const before = visits(readJournal(site())).length;
    await site().kill('SIGKILL');
    process.kill(site().enginePid()!, 'SIGKILL');
    await until('the end of the engine', () => site().enginePid() === null);
    const store = await site().place.open();
    await putObjects(store, { queue: [{ name: 'sales', max_wait_seconds: 2 }] });
    await store.close();
    await site().start();
    await comes('who waits', waiting, '');
    const lost = await wholeJournal(site());
    assert.deepEqual(visits(lost).slice(before - 1), ['1008 sales engine_lost']);

    await olha.register();
    await join(olha, '510');
    await until(
      'the wait is over',
      () => visits(readJournal(site())).slice(before).join() === '1008 sales timeout',
      { seen: () => ({ visits: visits(readJournal(site())).slice(before) }) },
    );
  });
});
